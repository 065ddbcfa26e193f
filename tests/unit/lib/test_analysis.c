// SPDX-License-Identifier: GPL-2.0
/*
 * test_analysis.c - what analyses ask libxvtrace for, beside events: single tasks and threads. The
 * traces are synthetic; a test goes the long way to the same answer, or knows it.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/made_trace.h"

/* -- a trace of a host and a guest ---------------------------------------------------- */

static struct xvt_trace_writer *begin_hosts(struct synth_sink *s)
{
	const struct xvt_file_info info = { .mult = 1u << 30, .shift = 30 };
	struct xvt_trace_writer *w;

	synth_sink_init(s);
	ck_assert_int_eq(xvt_trace_writer_new(&w, &s->sink, &info), 0);
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_vm_info machine = { .vm = i,
						     .kind = i ? XVT_VM_GUEST : XVT_VM_HOST,
						     .name = { i ? 'g' : 'h' },
						     .clock_hz = 1 };
		const struct xvt_ring_info ring = { .ring = i, .vm = i, .cpu = i, .hw_id = 8 * i };

		xvt_trace_put(w, XVT_CHUNK_VM, &machine, sizeof(machine), NULL, 0);
		xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0);
	}
	return w;
}

static void end_hosts(struct xvt_trace_writer *w, struct synth_sink *s)
{
	ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
	synth_sink_save(s, made_path());
	synth_sink_fini(s);
	open_trace(0);
}

static void put_name(struct xvt_trace_writer *w, uint32_t type, uint32_t tid, const char *name)
{
	const struct xvt_meta_info info = { .vm = 0, .type = type, .id = tid };

	xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), name, strlen(name));
}

/* -- tasks and threads ---------------------------------------------------------------- */

START_TEST(a_ring_has_its_hardware_number)
{
	ck_assert_uint_eq(xvtrace_ring(trace, 0)->hw_id, 0);
	ck_assert_uint_eq(xvtrace_ring(trace, 1)->hw_id, 6);
	ck_assert_uint_eq(xvtrace_ring(trace, 1)->cpu, 3);
	ck_assert_uint_eq(xvtrace_ring(trace, 2)->hw_id, 2);
}
END_TEST

/* A name that a switch told, and the first switch of those that told it without another between. */
struct named {
	unsigned int machine;
	int pid;
	char comm[64];
	uint64_t since_ns;
};

static void learn(struct named *all, size_t *count, const struct xvtrace_event *ev,
		  const char *comm_field, const char *pid_field)
{
	struct named n = { .machine = ev->machine->number, .since_ns = ev->ns };
	struct xvtrace_value comm, pid;
	size_t i = 0;

	xvtrace_value(ev, xvtrace_field_named(ev->type, comm_field), &comm);
	xvtrace_value(ev, xvtrace_field_named(ev->type, pid_field), &pid);
	n.pid = (int)pid.u;
	snprintf(n.comm, sizeof(n.comm), "%.*s", (int)comm.count, (const char *)comm.data);
	while (i < *count && (all[i].machine != n.machine || all[i].pid != n.pid))
		i++;
	if (i == *count || strcmp(all[i].comm, n.comm) != 0)
		all[i] = n;
	*count += i == *count;
}

START_TEST(one_task_is_found_with_the_time_of_its_name)
{
	struct xvtrace_reader *r = reader_of(0);
	struct named *all = calloc(2 * EVENTS, sizeof(*all));
	const struct xvtrace_task *t;
	const struct xvtrace_event *ev;
	size_t count = 0, renamed = 0;

	ck_assert_ptr_null(xvtrace_reader_task_of(r, 0, 400)); /* it has not begun */
	while (xvtrace_next(r, &ev) > 0) {
		if (strcmp(ev->type->name, "sched_switch") != 0 ||
		    !xvtrace_field_named(ev->type, "next_pid"))
			continue;
		learn(all, &count, ev, "prev_comm", "prev_pid");
		learn(all, &count, ev, "next_comm", "next_pid");
		for (size_t i = 0; i < count; i++) {
			t = xvtrace_reader_task_of(r, all[i].machine, all[i].pid);
			if (!all[i].pid || all[i].pid == 400)
				continue;
			ck_assert_int_eq(t->pid, all[i].pid);
			ck_assert_str_eq(t->comm, all[i].comm);
			ck_assert_uint_eq(t->since_ns, all[i].since_ns);
			renamed += t->since_ns < ev->ns;
		}
	}
	ck_assert_uint_gt(count, 2);
	ck_assert_uint_gt(renamed, 0);
	t = xvtrace_reader_task_of(r, 0, 400);
	ck_assert_str_eq(t->comm, "from-meta");
	ck_assert_uint_eq(t->since_ns, 0);
	ck_assert_str_eq(xvtrace_reader_task_of(r, 0, 0)->comm, "<idle>");
	ck_assert_ptr_null(xvtrace_reader_task_of(r, 0, 0x7fffff01));
	ck_assert_ptr_null(xvtrace_reader_task_of(r, 99, 400));
	free(all);
	xvtrace_reader_free(r);
}
END_TEST

static void put_role(struct xvt_trace_writer *w, uint32_t tid, uint64_t since_ns, uint32_t role,
		     uint32_t vcpu)
{
	const struct xvt_meta_info info = { .vm = 0, .type = XVT_META_PROCESS, .id = tid };
	const struct xvt_meta_process p = {
		.tgid = 700, .since_ns = since_ns, .role = role, .vm = 1, .vcpu = vcpu
	};

	xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), &p, sizeof(p));
}

/* role: what the thread is at that time; -1: it was not stated. Returns the statement. */
static struct xvtrace_thread ck_role(struct xvtrace_reader *r, int tid, uint64_t ns, int role)
{
	struct xvtrace_thread t = { 0 };

	ck_assert_int_eq(xvtrace_reader_role(r, 0, tid, ns, &t), role >= 0);
	if (role < 0)
		return t;
	ck_assert_int_eq(t.tid, tid);
	ck_assert_int_eq((int)t.role, role);
	ck_assert_uint_le(t.from_ns, ns);
	ck_assert_ptr_eq(t.machine, role ? xvtrace_machine(trace, 1) : NULL);
	return t;
}

static void put_roles(struct xvt_trace_writer *w)
{
	const struct xvt_meta_info old = { .vm = 0, .type = XVT_META_PROCESS, .id = 701 };
	const uint32_t old_process[2] = { 700, 0 };

	put_name(w, XVT_META_THREAD, 701, "g:vcpu0");
	xvt_trace_put(w, XVT_CHUNK_META, &old, sizeof(old), old_process, sizeof(old_process));
	put_role(w, 702, 3000, XVT_ROLE_VCPU, 3);
	put_role(w, 703, 1000, XVT_ROLE_IO, 0);
	/* Stated later, and of an earlier time: the number was another thread's. */
	put_role(w, 702, 1000, XVT_ROLE_ALL_VCPUS, 0);
	put_role(w, 702, 2000, XVT_ROLE_NONE, 0);
	/* Two of one time: the later one knew more. */
	put_role(w, 703, 1000, XVT_ROLE_VHOST, 0);
	put_role(w, 704, 0, 99, 0); /* of a later recorder */
}

START_TEST(a_role_of_a_thread_holds_from_its_time)
{
	struct synth_sink s;
	struct xvt_trace_writer *w = begin_hosts(&s);
	const struct xvtrace_event *ev;
	struct xvtrace_thread t;
	struct xvtrace_reader *r;
	uint64_t before_ns = 0;
	size_t at = 0, n = 0;
	bool kernel;
	int tid = 0;

	put_roles(w);
	end_hosts(w, &s);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_role(r, 701, UINT64_MAX, -1);
	ck_assert_int_eq(xvtrace_reader_process(r, 0, 701, &kernel), 700);
	ck_role(r, 702, 999, -1);
	ck_assert_uint_eq(ck_role(r, 702, 1000, XVTRACE_ROLE_ALL_VCPUS).vcpu, XVTRACE_ALL_VCPUS);
	ck_role(r, 702, 2999, XVTRACE_ROLE_NONE);
	t = ck_role(r, 702, 3000, XVTRACE_ROLE_VCPU);
	ck_assert_uint_eq(t.vcpu, 3);
	ck_assert_int_eq(t.tgid, 700);
	ck_role(r, 703, UINT64_MAX, XVTRACE_ROLE_VHOST);
	ck_role(r, 704, 0, XVTRACE_ROLE_OTHER);
	ck_role(r, 705, UINT64_MAX, -1);
	for (; xvtrace_reader_role_next(r, 0, &at, &t) > 0; n++) {
		ck_assert(t.tid > tid || (t.tid == tid && t.from_ns >= before_ns));
		tid = t.tid;
		before_ns = t.from_ns;
	}
	ck_assert_uint_eq(n, 6);
	ck_assert_str_eq(xvtrace_role_name(XVTRACE_ROLE_VHOST), "vhost");
	ck_assert_ptr_null(xvtrace_role_name(99));
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(one_thread_is_found_with_its_vcpu)
{
	struct synth_sink s;
	struct xvt_trace_writer *w = begin_hosts(&s);
	struct xvtrace_vcpu one, v;
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;
	size_t at = 0, found = 0;

	put_name(w, XVT_META_COMM, 500, "g:vcpu0"); /* a task may call itself that */
	put_name(w, XVT_META_THREAD, 501, "g:vcpu8");
	put_name(w, XVT_META_THREAD, 502, "g:vcpus");
	put_name(w, XVT_META_THREAD, 503, "g:worker");
	put_name(w, XVT_META_THREAD, 504, "other:vcpu0");
	end_hosts(w, &s);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_thread(r, 0, 501, &one), 0); /* it has not begun */
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	for (; xvtrace_reader_vcpu(r, 0, &at, &v) > 0; found++) {
		ck_assert_int_eq(xvtrace_reader_thread(r, 0, v.tid, &one), 1);
		ck_assert_int_eq(one.tid, v.tid);
		ck_assert_uint_eq(one.vcpu, v.tid == 501 ? 8 : XVTRACE_ALL_VCPUS);
		ck_assert_ptr_eq(one.machine, xvtrace_machine(trace, 1));
	}
	ck_assert_uint_eq(found, 2);
	ck_assert_uint_eq(xvtrace_ring(trace, 1)->hw_id, 8); /* the ring of 501 */
	for (int tid = 503; tid <= 505; tid++)
		ck_assert_int_eq(xvtrace_reader_thread(r, 0, tid, &one), 0);
	ck_assert_int_eq(xvtrace_reader_thread(r, 0, 500, &one), 0);
	ck_assert_int_eq(xvtrace_reader_thread(r, 1, 501, &one), 0);
	ck_assert_int_eq(xvtrace_reader_thread(r, 9, 501, &one), 0);
	xvtrace_reader_free(r);
}
END_TEST

/* -- types ---------------------------------------------------------------------------- */

static size_t list_types(struct xvtrace_reader *r, unsigned int machine,
			 const struct xvtrace_type **types, size_t room)
{
	size_t at = 0, count = 0;
	int got;

	while ((got = xvtrace_reader_type(r, machine, &at, &types[count])) > 0)
		ck_assert_uint_lt(++count, room);
	ck_assert_int_eq(got, 0);
	ck_assert_ptr_null(types[count]);
	return count;
}

START_TEST(types_are_listed_before_their_events)
{
	const struct xvtrace_type *types[2][64];
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;
	size_t count[2], used = 0;

	for (unsigned int m = 0; m < 2; m++) {
		count[m] = list_types(r, m, types[m], 64);
		ck_assert_uint_gt(count[m], 5);
		for (size_t i = 0; i < count[m]; i++) {
			ck_assert_ptr_nonnull(xvtrace_type_format(r, types[m][i]));
			for (size_t k = 0; k < i; k++)
				ck_assert_ptr_ne(types[m][i], types[m][k]);
		}
	}
	ck_assert_int_eq(xvtrace_reader_event(r, "*"), -EBUSY);
	while (xvtrace_next(r, &ev) > 0) {
		bool found = false;

		for (size_t i = 0; i < count[ev->machine->number]; i++)
			found |= types[ev->machine->number][i] == ev->type;
		/* Bytes of a record that does not fit its format are of a type of their own. */
		ck_assert_msg(found == !!xvtrace_type_format(r, ev->type), "%s", ev->type->name);
		used += found;
	}
	ck_assert_uint_gt(used, EVENTS / 2);
	ck_assert_uint_eq(list_types(r, 0, types[0], 64), count[0]);
	ck_assert_uint_eq(list_types(r, 99, types[1], 64), 0);
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(a_listed_type_matches_no_glob)
{
	const struct xvtrace_type *types[64];
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;
	struct xvtrace_unmatched unmatched;

	ck_assert_int_eq(xvtrace_reader_event(r, "sched_switch"), 0);
	ck_assert_int_eq(xvtrace_reader_filter(r, "next_pid >= 0", NULL), 0);
	ck_assert_uint_gt(list_types(r, 0, types, 64), 5);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_str_eq(ev->type->name, "sched_switch");
	xvtrace_reader_free(r);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_event(r, "sched_switch"), 0);
	ck_assert_int_eq(
		xvtrace_reader_from(r, xvtrace_info(trace)->last_ns + 1, XVTRACE_MONOTONIC), 0);
	ck_assert_uint_gt(list_types(r, 0, types, 64), 5);
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_assert_int_eq(xvtrace_reader_unmatched(r, 0, &unmatched), 0);
	ck_assert_str_eq(unmatched.glob, "sched_switch");
	xvtrace_reader_free(r);
}
END_TEST

static void put_format(struct xvt_trace_writer *w, const char *name)
{
	const struct xvt_meta_info info = { .vm = 0, .type = XVT_META_FORMAT };
	char text[256];
	int len;

	len = snprintf(text, sizeof(text),
		       "sys%c%s%cname: %s\nID: 77\nformat:\n"
		       "\tfield:unsigned short common_type;\toffset:0;\tsize:2;"
		       "\tsigned:0;\n\nprint fmt: \"x\"\n",
		       0, name, 0, name);
	xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), text, (size_t)len);
}

/* Two recordings of one host: each has its own formats and names. The second one has two versions
 * of its format. */
START_TEST(of_several_traces_each_tells_its_own)
{
	const char *paths[2] = { strdup(scratch_path("1.xvt")), strdup(scratch_path("2.xvt")) };
	const struct xvtrace_type *types[8];
	const struct xvtrace_event *ev;
	struct xvtrace_error error;
	struct xvtrace_reader *r;
	struct xvtrace_vcpu vcpu;

	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_event_hdr h = { .id = XVT_ID_USER, .host_ns = 1000 + i };
		struct synth_sink s;
		struct xvt_trace_writer *w = begin_hosts(&s);

		put_format(w, i ? "ev1" : "ev0");
		if (i)
			put_format(w, "ev2");
		put_name(w, XVT_META_COMM, 300, i ? "new" : "old");
		put_name(w, XVT_META_THREAD, 301 + i, i ? "g:vcpu1" : "g:vcpu0");
		ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
		ck_assert_int_eq(xvt_trace_writer_finish(w), 0);
		synth_sink_save(&s, paths[i]);
		synth_sink_fini(&s);
	}
	xvtrace_close(trace);
	ck_assert_msg(!xvtrace_open_several(&trace, paths, 2, 0, &error), "%s", error.text);
	r = reader_of(0);
	ck_assert_uint_eq(list_types(r, 0, types, 8), 3);
	ck_assert_str_eq(types[0]->name, "ev1"); /* the newest first */
	ck_assert_str_eq(types[1]->name, "ev2");
	ck_assert_str_eq(types[2]->name, "ev0");
	ck_assert_uint_ne(types[0]->number, types[1]->number);
	ck_assert_str_eq(xvtrace_reader_task_of(r, 0, 300)->comm, "new");
	ck_assert_int_eq(xvtrace_reader_thread(r, 0, 301, &vcpu), 1);
	ck_assert_uint_eq(vcpu.vcpu, 0);
	ck_assert_int_eq(xvtrace_reader_thread(r, 0, 302, &vcpu), 1);
	ck_assert_uint_eq(vcpu.vcpu, 1);
	for (uint64_t i = 0; i < 2; i++) {
		ck_assert_int_eq(xvtrace_next(r, &ev), 1);
		ck_assert_uint_eq(ev->ns, 1000 + i);
	}
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_assert_int_eq(xvtrace_reader_seek(r, 1001), 0);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_uint_eq(ev->ns, 1001);
	ck_assert_int_eq(xvtrace_next(r, &ev), 0);
	ck_assert_int_eq(xvtrace_reader_seek(r, 0), 0);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_uint_eq(ev->ns, 1000);
	xvtrace_reader_free(r);
	free((char *)paths[0]);
	free((char *)paths[1]);
}
END_TEST

/* -- what is not an event ------------------------------------------------------------- */

static const struct xvtrace_item *next_item(struct xvtrace_items *items)
{
	const struct xvtrace_item *item;

	ck_assert_int_eq(xvtrace_items_next(items, &item), 1);
	return item;
}

static void ends(struct xvtrace_items *items)
{
	const struct xvtrace_item *item;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(xvtrace_items_next(items, &item), 0);
		ck_assert_ptr_null(item);
	}
	xvtrace_items_free(items);
}

static void put_items(struct xvt_trace_writer *w)
{
	const struct {
		struct xvt_note note;
		struct xvt_note_state state;
	} paused = { { 1, UINT32_MAX, 0, XVT_NOTE_PAUSED, 50 }, { 40, 0, 2, 3 } };
	const struct xvt_note text = { UINT32_MAX, 1, 2, XVT_NOTE_TEXT, 60 };
	const struct xvt_run_span runs[] = {
		{ .vm = 1, .vcpu = 8, .host_cpu = 3, .enter_clock = 100, .exit_clock = 1500 },
		{ .vm = UINT32_MAX,
		  .vcpu = 17,
		  .host_cpu = 2,
		  .flags = XVT_RUN_F_LOST,
		  .enter_clock = 1000,
		  .exit_clock = 2000 },
		{ .vm = 7, .enter_clock = 1, .exit_clock = 2 },
	};
	const struct xvt_clock_node nodes[] = {
		{ .ring = 1,
		  .epoch = 4,
		  .source = XVT_SOURCE_HANDSHAKE,
		  .guest = 111,
		  .host_ns = 222,
		  .bound_ns = 5,
		  .segment_bound_ns = 6 },
		{ .ring = 9, .source = 77 },
	};
	/* From the value 1000 on the host's clock has 2 ns a tick. */
	const struct xvt_timebase line = { 1000, 1000, 1u << 31, 30, 0, 0, 0, 0, 0 };

	xvt_trace_put(w, XVT_CHUNK_TIMEBASE, &line, sizeof(line), NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_NOTE, &paused, sizeof(paused), "a why b", 7);
	xvt_trace_put(w, XVT_CHUNK_RUNS, runs, sizeof(runs), NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_NODE, nodes, sizeof(nodes), NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_NOTE, "short", 5, NULL, 0);
	xvt_trace_put(w, XVT_CHUNK_NOTE, &text, sizeof(text), NULL, 0);
}

static void check_notes(const struct xvtrace_item *item, bool second)
{
	ck_assert_int_eq(item->kind, XVTRACE_NOTE);
	ck_assert_ptr_eq(item->machine, second ? NULL : xvtrace_machine(trace, 1));
	ck_assert_ptr_eq(item->ring, second ? xvtrace_ring(trace, 1) : NULL);
	ck_assert_uint_eq(item->ns, second ? 60 : 50);
	ck_assert_uint_eq(item->level, second ? 2 : 0);
	ck_assert_int_eq(item->state, second ? 0 : XVTRACE_PAUSED);
	ck_assert_uint_eq(item->at_ns, second ? 0 : 40);
	ck_assert_uint_eq(item->text_len, second ? 0 : 7);
	ck_assert(second || !memcmp(item->text, "a why b", 7));
}

START_TEST(notes_runs_and_nodes_come_as_they_were_written)
{
	const unsigned int all = XVTRACE_NOTE | XVTRACE_RUN | XVTRACE_NODE;
	const struct xvtrace_item *item;
	struct xvtrace_items *items;
	struct synth_sink s;
	struct xvt_trace_writer *w = begin_hosts(&s);

	put_items(w);
	end_hosts(w, &s);
	ck_assert_int_eq(xvtrace_items_new(&items, trace, 0), -EINVAL);
	ck_assert_int_eq(xvtrace_items_new(&items, trace, 8), -EINVAL);
	ck_assert_int_eq(xvtrace_items_new(&items, trace, all), 0);
	check_notes(next_item(items), false);
	item = next_item(items);
	ck_assert_int_eq(item->kind, XVTRACE_RUN);
	ck_assert_ptr_eq(item->machine, xvtrace_machine(trace, 1));
	ck_assert_uint_eq(item->vcpu, xvtrace_ring(trace, 1)->hw_id);
	ck_assert_uint_eq(item->host_cpu, 3);
	ck_assert_uint_eq(item->ns, 100);
	ck_assert_uint_eq(item->end_ns, 2000); /* 1000, and 500 ticks of 2 ns */
	ck_assert(!item->is_gap && !item->lost);
	item = next_item(items);
	ck_assert(item->is_gap && !item->machine && item->lost == 17 && item->vcpu == 0);
	ck_assert_uint_eq(item->end_ns, 3000);
	ck_assert_ptr_null(next_item(items)->machine);
	item = next_item(items);
	ck_assert_int_eq(item->kind, XVTRACE_NODE);
	ck_assert_ptr_eq(item->ring, xvtrace_ring(trace, 1));
	ck_assert_ptr_eq(item->machine, xvtrace_machine(trace, 1));
	ck_assert(item->ns == 222 && item->guest_clock == 111 && item->epoch == 4);
	ck_assert(item->bound_ns == 5 && item->segment_bound_ns == 6);
	ck_assert_str_eq(item->source, "handshake");
	item = next_item(items);
	ck_assert(!item->ring && !item->machine);
	check_notes(next_item(items), true);
	ends(items);
	ck_assert_int_eq(xvtrace_items_new(&items, trace, XVTRACE_NOTE), 0);
	check_notes(next_item(items), false);
	check_notes(next_item(items), true);
	ends(items);
	xvtrace_items_free(NULL);
}
END_TEST

/* An index that leaves out chunks is found wrong somewhere in the walk: nothing comes twice. */
START_TEST(items_go_on_where_the_list_of_chunks_changes)
{
	const struct xvtrace_item *item;
	struct xvtrace_items *items;
	size_t whole = 0, part = 0;
	uint64_t sum[2] = { 0 };

	ck_assert_int_eq(xvtrace_items_new(&items, trace, XVTRACE_NODE), 0);
	for (; xvtrace_items_next(items, &item) > 0; whole++)
		sum[0] += item->ns;
	xvtrace_items_free(items);
	ck_assert_uint_gt(whole, 3);
	/* The last chunk of events is damaged: the index no longer says what the file has. */
	sink.bytes[synth_find_chunk(&sink, XVT_CHUNK_ORDER, 0) + 40] ^= 1;
	synth_sink_save(&sink, made_path());
	open_trace(XVTRACE_PART);
	ck_assert_int_eq(xvtrace_items_new(&items, trace, XVTRACE_NODE), 0);
	for (; xvtrace_items_next(items, &item) > 0; part++) {
		struct xvtrace_reader *r = reader_of(0);
		const struct xvtrace_event *ev;

		sum[1] += item->ns;
		while (part == 0 && xvtrace_next(r, &ev) > 0)
			;
		xvtrace_reader_free(r);
	}
	xvtrace_items_free(items);
	ck_assert_uint_gt(xvtrace_damage_count(trace), 0);
	ck_assert_uint_eq(part, whole);
	ck_assert_uint_eq(sum[0], sum[1]);
}
END_TEST

/* -- another time --------------------------------------------------------------------- */

static const unsigned int seek_flags[] = {
	0,
	XVTRACE_BOUND | XVTRACE_ALL,
	XVTRACE_RECLOCK | XVTRACE_BOUND,
	XVTRACE_STATES | XVTRACE_GAPS,
};

/* Beside a reader that begins at that time. */
static void compare_from(struct xvtrace_reader *r, unsigned int flags, uint64_t ns, unsigned int n)
{
	struct xvtrace_reader *other = reader_of(flags);
	const struct xvtrace_event *a, *b;

	ck_assert_int_eq(xvtrace_reader_from(other, ns, XVTRACE_MONOTONIC), 0);
	ck_assert_int_eq(xvtrace_reader_seek(r, ns), 0);
	while (n--) {
		const int got = xvtrace_next(other, &b);

		ck_assert_int_eq(xvtrace_next(r, &a), got);
		if (!got)
			break;
		ck_assert(a->ns >= ns && a->ns == b->ns && a->guest_clock == b->guest_clock);
		ck_assert(a->ring == b->ring && a->kind == b->kind && a->flags == b->flags);
		ck_assert(a->bound_ns == b->bound_ns && a->since_ns == b->since_ns);
		ck_assert_str_eq(a->type->name, b->type->name);
		ck_assert_uint_eq(a->data_len, b->data_len);
		ck_assert_mem_eq(a->data, b->data, a->data_len);
	}
	xvtrace_reader_free(other);
}

START_TEST(a_reader_goes_on_where_it_is_sent)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	const uint64_t step = (info->last_ns - info->first_ns) / 8;
	const unsigned int flags = seek_flags[_i];
	struct xvtrace_reader *r = reader_of(flags);
	const struct xvtrace_event *ev;

	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	for (unsigned int i = 0; i < 24; i++)
		compare_from(r, flags, info->first_ns + i * 5 % 8 * step + i, 7 * i);
	compare_from(r, flags, info->first_ns + step, UINT32_MAX); /* to the end */
	compare_from(r, flags, info->last_ns + 1, 1);
	compare_from(r, flags, 0, UINT32_MAX);
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(a_limit_and_a_range_hold_after_a_seek)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	const uint64_t middle = info->first_ns + (info->last_ns - info->first_ns) / 2;
	struct xvtrace_reader *r = reader_of(0);
	const struct xvtrace_event *ev;

	ck_assert_int_eq(xvtrace_reader_from(r, middle, XVTRACE_MONOTONIC), 0);
	ck_assert_int_eq(xvtrace_reader_limit(r, 3), 0);
	for (int i = 0; i < 2; i++) {
		unsigned int events = 0;

		ck_assert_int_eq(xvtrace_reader_seek(r, i ? info->first_ns : middle), 0);
		while (xvtrace_next(r, &ev) > 0) {
			ck_assert_uint_ge(ev->ns, middle);
			events += ev->kind == XVTRACE_EVENT;
		}
		ck_assert_uint_eq(events, 3);
	}
	xvtrace_reader_free(r);
	r = reader_of(XVTRACE_COUNTS);
	ck_assert_int_eq(xvtrace_reader_seek(r, middle), -EINVAL);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	xvtrace_reader_free(r);
}
END_TEST

START_TEST(states_come_again_after_a_seek)
{
	static const struct {
		uint64_t seek_ns, first_ns;
		bool is_state;
	} cases[] = { { 45, 50, false }, { 35, 40, true }, { 0, 30, false }, { 40, 40, true } };
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;
	struct synth_sink s;
	struct xvt_trace_writer *w = begin_hosts(&s);

	put_items(w); /* one of them: the guest was paused at 40 */
	for (uint64_t ns = 30; ns <= 50; ns += 20) {
		const struct xvt_event_hdr h = { .id = XVT_ID_USER,
						 .host_ns = ns,
						 .ring_flags = 1 };

		ck_assert_int_eq(xvt_trace_event(w, &h, NULL), 0);
	}
	end_hosts(w, &s);
	r = reader_of(XVTRACE_STATES | XVTRACE_GAPS);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1);
	ck_assert_int_eq(xvtrace_next(r, &ev), 1); /* and the event behind it was read, too */
	ck_assert_int_eq(ev->kind, XVTRACE_STATE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(xvtrace_reader_seek(r, cases[i].seek_ns), 0);
		ck_assert_int_eq(xvtrace_next(r, &ev), 1);
		ck_assert_uint_eq(ev->ns, cases[i].first_ns);
		ck_assert_int_eq(ev->kind == XVTRACE_STATE, cases[i].is_state);
	}
	xvtrace_reader_free(r);
}
END_TEST

/* -- numbers of events ---------------------------------------------------------------- */

/* What a number is of. */
struct numbered {
	uint64_t number, guest_clock;
	unsigned int ring;
	uint64_t first_bytes;
};

static struct numbered numbered_of(const struct xvtrace_event *ev)
{
	struct numbered n = { ev->number, ev->guest_clock, ev->ring->number, 0 };

	memcpy(&n.first_bytes, ev->data, ev->data_len < 8 ? ev->data_len : 8);
	return n;
}

static size_t read_numbers(struct xvtrace_reader *r, struct numbered *to, size_t room)
{
	const struct xvtrace_event *ev;
	size_t count = 0;

	while (xvtrace_next(r, &ev) > 0) {
		ck_assert_uint_lt(count, room);
		to[count++] = numbered_of(ev);
	}
	xvtrace_reader_free(r);
	return count;
}

/* All of `some` are in `all`, in which no number is twice. */
static void check_numbers(const struct numbered *all, size_t count, const struct numbered *some,
			  size_t some_count)
{
	ck_assert_uint_gt(some_count, 0);
	for (size_t i = 0; i < some_count; i++) {
		size_t same = 0;

		ck_assert_uint_ne(some[i].number, 0);
		for (size_t k = 0; k < count; k++) {
			if (all[k].number != some[i].number)
				continue;
			same++;
			ck_assert_uint_eq(all[k].guest_clock, some[i].guest_clock);
			ck_assert_uint_eq(all[k].ring, some[i].ring);
			ck_assert_uint_eq(all[k].first_bytes, some[i].first_bytes);
		}
		ck_assert_uint_eq(same, 1);
	}
}

static void check_all_ways(void)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	const uint64_t middle = info->first_ns + (info->last_ns - info->first_ns) / 2;
	const size_t room = (size_t)2 * EVENTS;
	struct numbered *all = calloc(room, sizeof(*all)), *some = calloc(room, sizeof(*some));
	size_t count = read_numbers(reader_of(XVTRACE_ALL), all, room), n;
	struct xvtrace_reader *r;

	check_numbers(all, count, all, count);
	n = read_numbers(reader_of(XVTRACE_ALL | XVTRACE_RECLOCK), some, room);
	ck_assert_uint_eq(n, count);
	check_numbers(all, count, some, n);
	r = reader_of(0);
	ck_assert_int_eq(xvtrace_reader_seek(r, middle), 0);
	check_numbers(all, count, some, read_numbers(r, some, room));
	open_trace(XVTRACE_PART);
	r = reader_of(XVTRACE_RECLOCK | XVTRACE_BOUND);
	ck_assert_int_eq(xvtrace_reader_from(r, middle, XVTRACE_MONOTONIC), 0);
	check_numbers(all, count, some, read_numbers(r, some, room));
	free(all);
	free(some);
}

START_TEST(an_event_has_one_number_however_it_is_read)
{
	struct synth_sink s;
	struct xvt_trace_writer *w;

	check_all_ways();
	w = begin_hosts(&s);
	for (uint32_t i = 0; i < 6; i++) {
		const struct xvt_event_hdr own = { .id = XVT_ID_USER,
						   .host_ns = 1000 + 100 * i,
						   .guest_clock = i };

		ck_assert_int_eq(xvt_trace_event(w, &own, NULL), 0);
		synth_put_records(w, i % 2, 1000 + 100 * i, 7, XVT_LANE_MAIN);
		synth_put_records(w, 1, 1003 + 90 * i, 9, XVT_LANE_LOOSE);
		synth_put_records(w, 0, 1005 + 90 * i, 5, XVT_LANE_LOOSE);
		synth_put_records(w, i % 2, 1500 - 80 * i, 3, XVT_LANE_LATE);
	}
	end_hosts(w, &s);
	check_all_ways();
}
END_TEST

Suite *analysis_suite(void)
{
	Suite *s = suite_create("analysis");
	TCase *t = tcase_create("analysis");

	tcase_add_checked_fixture(t, made_setup, made_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_ring_has_its_hardware_number);
	tcase_add_test(t, one_task_is_found_with_the_time_of_its_name);
	tcase_add_test(t, one_thread_is_found_with_its_vcpu);
	tcase_add_test(t, a_role_of_a_thread_holds_from_its_time);
	tcase_add_test(t, types_are_listed_before_their_events);
	tcase_add_test(t, a_listed_type_matches_no_glob);
	tcase_add_test(t, of_several_traces_each_tells_its_own);
	tcase_add_test(t, notes_runs_and_nodes_come_as_they_were_written);
	tcase_add_test(t, items_go_on_where_the_list_of_chunks_changes);
	tcase_add_loop_test(t, a_reader_goes_on_where_it_is_sent, 0,
			    sizeof(seek_flags) / sizeof(seek_flags[0]));
	tcase_add_test(t, states_come_again_after_a_seek);
	tcase_add_test(t, a_limit_and_a_range_hold_after_a_seek);
	tcase_add_test(t, an_event_has_one_number_however_it_is_read);
	suite_add_tcase(s, t);
	return s;
}
