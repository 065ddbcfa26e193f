// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-doubled.c - writes a trace of a machine with four CPUs whose switches and interrupts were
 * recorded by the guest's module (xvt:sched_switch) and by ftrace (sched:sched_switch).
 *   xvt-doubled FILE.xvt [once]
 * CPU 0 has each event twice, the probe's first; CPU 1 twice, ftrace's first; CPU 2 has ftrace's
 * alone; CPU 3 the probe's up to the middle, and ftrace's from there on. Each has a loss between
 * two switches that look like one, and the machine is paused for a second. once: without those that
 * are there twice.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record.h"
#include "trace/write.h"

#define US	  1000ull
#define BEGIN_NS  1000000000ull
#define PAUSE_NS  1000000000ull
#define CPUS	  4u
#define STEPS	  400u
#define PAUSED_AT 137u
#define LOST_AT	  251u

enum by {
	PROBE,
	FTRACE,
};

#define WAKEUP                                                                             \
	WAKEUP_FIELDS "print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, " \
		      "REC->pid, REC->prio, REC->target_cpu\n"
#define ENTRY	     ENTRY_FIELDS "print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n"
#define PROBED_ENTRY PROBED_ENTRY_FIELDS "print fmt: \"irq=%d name=%s\", REC->irq, REC->name\n"
#define EXIT	     EXIT_FIELDS "print fmt: \"irq=%d ret=%d\", REC->irq, REC->ret\n"

#define PROBED	     1000u /* the probe's number is this much higher */

static const struct {
	const char *name;
	unsigned int id;
	const char *text;
	const char *probed; /* NULL: the probe's is the same */
} formats[] = {
	{ "sched_switch", TYPE_SWITCH, SWITCH_FIELDS SWITCH_PRINT, NULL },
	{ "irq_handler_entry", TYPE_ENTRY, ENTRY, PROBED_ENTRY },
	{ "irq_handler_exit", TYPE_EXIT, EXIT, NULL },
	{ "sched_wakeup", TYPE_WAKEUP, WAKEUP, NULL },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* Of CPU 0; those of the next one have numbers 1 higher. */
static const struct task {
	int32_t pid;
	char comm[16];
} tasks[] = { { 0, "swapper" }, { 1034, "bash" }, { 2001, "cc1" }, { 77, "kworker/u8:1" } };

static int32_t pid_of(uint32_t cpu, uint32_t task)
{
	return task ? tasks[task].pid + (int32_t)cpu : 0;
}

struct file {
	struct xvt_sink sink;
	int fd;
	struct xvt_trace_writer *w;
	bool once;
	uint64_t ns;
	uint32_t seed;
	uint32_t runs[CPUS];  /* the task of each CPU */
	bool sleeps[CPUS][4]; /* each CPU has tasks of its own */
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-doubled: %s\n", what);
	exit(1);
}

static int write_out(struct xvt_sink *sink, const void *p, size_t len)
{
	return xvt_write_all(((struct file *)sink)->fd, p, len);
}

static uint32_t chance(struct file *f, uint32_t below)
{
	f->seed = f->seed * 1664525u + 1013904223u;
	return (f->seed >> 8) % below;
}

static void put(struct file *f, uint32_t cpu, struct record r, uint32_t len, enum by by)
{
	struct xvt_event_hdr h = { .host_ns = f->ns,
				   .guest_clock = f->ns,
				   .ring_flags = cpu,
				   .id = XVT_ID_FTRACE,
				   .len = (uint16_t)len };

	if (r.type == TYPE_ENTRY && by == FTRACE) {
		memmove(r.irq.text, r.irq.probed_name, sizeof(r.irq.text));
		r.irq.name = ENTRY_NAME_LOC;
		h.len = ENTRY_LEN;
	}
	r.type = (uint16_t)(r.type + (by == PROBE ? PROBED : 0));
	must(!xvt_trace_event(f->w, &h, &r), "event");
}

/* One event, as each of the CPU's ways records it. */
static void put_all(struct file *f, uint32_t cpu, uint32_t step, struct record r, uint32_t len)
{
	const enum by first = cpu == 0 || (cpu == 3 && step < STEPS / 2) ? PROBE : FTRACE;

	put(f, cpu, r, len, first);
	f->ns += 200 + chance(f, 300);
	if (cpu < 2 && !f->once)
		put(f, cpu, r, len, first == PROBE ? FTRACE : PROBE);
}

/* The task that comes next was woken before, if it slept. */
static void put_wakeup(struct file *f, uint32_t cpu, uint32_t task)
{
	struct record r = { .type = TYPE_WAKEUP, .pid = pid_of(cpu, f->runs[cpu]) };

	if (!f->sleeps[cpu][task])
		return;
	f->sleeps[cpu][task] = false;
	memcpy(r.wakeup.comm, tasks[task].comm, 16);
	r.wakeup.pid = pid_of(cpu, task);
	r.wakeup.prio = 120;
	r.wakeup.target_cpu = (int32_t)cpu;
	put(f, cpu, r, WAKEUP_LEN, FTRACE);
	f->ns += 2 * US + chance(f, 30000);
}

static struct record make_switch(struct file *f, uint32_t cpu, uint32_t to)
{
	const uint32_t from = f->runs[cpu];
	struct record r = { .type = TYPE_SWITCH, .pid = pid_of(cpu, from) };

	f->runs[cpu] = to;
	memcpy(r.sw.prev_comm, tasks[from].comm, 16);
	memcpy(r.sw.next_comm, tasks[to].comm, 16);
	r.sw.prev_pid = pid_of(cpu, from);
	r.sw.next_pid = pid_of(cpu, to);
	r.sw.prev_prio = r.sw.next_prio = 120;
	r.sw.prev_state = from && chance(f, 2);
	f->sleeps[cpu][from] = r.sw.prev_state;
	return r;
}

static void put_switch(struct file *f, uint32_t cpu, uint32_t step)
{
	const uint32_t to = (f->runs[cpu] + 1 + chance(f, 3)) % 4;

	put_wakeup(f, cpu, to);
	put_all(f, cpu, step, make_switch(f, cpu, to), SWITCH_LEN);
}

static void put_irq(struct file *f, uint32_t cpu, uint32_t step)
{
	struct record r = { .type = TYPE_ENTRY, .pid = pid_of(cpu, f->runs[cpu]) };

	r.irq.irq = 24 + (int32_t)chance(f, 2);
	strcpy(r.irq.probed_name, "virtio0");
	put_all(f, cpu, step, r, PROBED_ENTRY_LEN);
	f->ns += 3 * US + chance(f, 9000);
	memset(r.irq.probed_name, 0, sizeof(r.irq.probed_name));
	r.type = TYPE_EXIT;
	r.irq.ret = 1;
	put_all(f, cpu, step, r, EXIT_LEN);
}

static void put_lost(struct file *f, uint32_t cpu)
{
	const struct xvt_lost lost = { .lost = { [XVT_LOST_FULL] = 3 } };
	const struct xvt_event_hdr h = { .host_ns = f->ns,
					 .guest_clock = f->ns,
					 .ring_flags = cpu,
					 .id = XVT_ID_LOST,
					 .len = sizeof(lost) };

	/* Of these two only one record each is there: they are two switches. */
	const struct record r = make_switch(f, cpu, (f->runs[cpu] + 1) % 4);

	put(f, cpu, r, SWITCH_LEN, PROBE);
	must(!xvt_trace_event(f->w, &h, &lost), "LOST");
	put(f, cpu, r, SWITCH_LEN, FTRACE);
}

static void put_state(struct file *f, enum xvt_note_kind kind, uint64_t since_ns)
{
	const struct {
		struct xvt_note note;
		struct xvt_note_state state;
	} n = { .note = { .vm = 0, .ring = UINT32_MAX, .kind = kind, .host_ns = f->ns },
		.state = { .at_ns = f->ns, .since_ns = since_ns } };

	must(!xvt_trace_put(f->w, XVT_CHUNK_NOTE, &n, sizeof(n), NULL, 0), "NOTE");
}

static void put_formats(struct file *f)
{
	static const struct xvt_meta_info meta = { .type = XVT_META_FORMAT, .generation = 1 };

	for (unsigned int i = 0; i < 2 * FORMATS; i++) {
		const unsigned int k = i / 2;
		const char *of = formats[k].name[0] == 'i' ? "irq" : "sched";
		char text[2048];
		int n = snprintf(text, sizeof(text), "%s%c%s%cname: %s\nID: %u\n%s",
				 i % 2 ? "xvt" : of, 0, formats[k].name, 0, formats[k].name,
				 formats[k].id + (i % 2 ? PROBED : 0),
				 i % 2 && formats[k].probed ? formats[k].probed : formats[k].text);

		must(!xvt_trace_put(f->w, XVT_CHUNK_META, &meta, sizeof(meta), text, (size_t)n),
		     "META");
	}
}

static void begin(struct file *f)
{
	const struct xvt_vm_info vm = { .name = "g0", .generation = 1, .clock_hz = 1000000000 };

	must(!xvt_trace_put(f->w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), "VM");
	put_formats(f);
	for (uint32_t i = 0; i < CPUS; i++) {
		const struct xvt_ring_info ring = { .ring = i, .cpu = i };

		must(!xvt_trace_put(f->w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), "RING");
	}
}

static void put_events(struct file *f)
{
	for (uint32_t step = 0; step < STEPS; step++) {
		if (step == PAUSED_AT) {
			f->ns += 5 * US;
			put_state(f, XVT_NOTE_PAUSED, 0);
			f->ns += PAUSE_NS;
			put_state(f, XVT_NOTE_RUNS, f->ns - PAUSE_NS);
		}
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			f->ns += 20 * US + chance(f, 200000);
			if (step == LOST_AT)
				put_lost(f, cpu);
			f->ns += 1 * US;
			if (chance(f, 3))
				put_switch(f, cpu, step);
			else
				put_irq(f, cpu, step);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct xvt_file_info info = { .mult = 1u << 30, .shift = 30 };
	struct file f = { .sink.write = write_out, .ns = BEGIN_NS, .seed = 1 };

	if (argc < 2) {
		fprintf(stderr, "usage: xvt-doubled FILE.xvt [once]\n");
		return 2;
	}
	f.once = argc > 2;
	f.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(f.fd >= 0, argv[1]);
	must(!xvt_trace_writer_new(&f.w, &f.sink, &info), "FILE");
	begin(&f);
	put_events(&f);
	must(!xvt_trace_writer_finish(f.w), "END");
	return close(f.fd) != 0;
}
