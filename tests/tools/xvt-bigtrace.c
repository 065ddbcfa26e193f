// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-bigtrace.c - writes traces of any size for the reader's tests and benchmarks: up to 1,024
 * rings, events in random order over them, one random step of time apart, clock maps, rounds and
 * counters as a recorder writes them, so that `xvtrace verify` finds nothing.
 *   xvt-bigtrace KIND RINGS EVENTS FILE.xvt [killed] [zstd]
 * KIND: u64     two numbers each, 40 bytes in the file
 *       ftrace  scheduler and interrupt events with their formats
 *       huge    64 KiB of zeros each, left out of the file as holes: a big file that costs little
 * killed: without an end, as a killed recorder leaves it. zstd: compressed, level 3.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "trace/write.h"

#define BEGIN_NS     1000000000ull
#define RINGS_MAX    1024u
#define RINGS_OF_VM  64u
#define EVENTS_ROUND 50000u
#define PAGE	     4096u
#define BUFFER	     (1u << 20)
#define HUGE_PAYLOAD 65000u

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-bigtrace: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* -- a file with holes where pages are zero ----------------------------------------- */

struct file {
	struct xvt_sink sink;
	int fd;
	uint64_t at;
	size_t used;
	uint8_t buf[BUFFER];
};

static bool zeros(const uint8_t *p, size_t len)
{
	return !p[0] && !memcmp(p, p + 1, len - 1);
}

static void put(struct file *f, const uint8_t *p, size_t len)
{
	must(pwrite(f->fd, p, len, (off_t)f->at) == (ssize_t)len, "write");
}

static void flush_file(struct file *f)
{
	size_t from = 0;

	for (size_t i = 0; i < f->used; i += PAGE) {
		size_t len = f->used - i < PAGE ? f->used - i : PAGE;

		if (!zeros(f->buf + i, len))
			continue;
		f->at += from;
		put(f, f->buf + from, i - from);
		f->at -= from;
		from = i + len;
	}
	f->at += from;
	put(f, f->buf + from, f->used - from);
	f->at += f->used - from;
	f->used = 0;
}

static int sink_write(struct xvt_sink *sink, const void *bytes, size_t len)
{
	struct file *f = (struct file *)sink;
	const uint8_t *p = bytes;

	while (len) {
		size_t n = BUFFER - f->used < len ? BUFFER - f->used : len;

		memcpy(f->buf + f->used, p, n);
		f->used += n;
		p += n;
		len -= n;
		if (f->used == BUFFER)
			flush_file(f);
	}
	return 0;
}

/* -- formats ------------------------------------------------------------------------ */

#define STATES                                                                               \
	"((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | " \
	"0x00000020 | 0x00000040) + 1) << 1) - 1)"

/* As Linux 6.1 has them. */
static const struct {
	const char *system;
	const char *name;
	const char *text;
} formats[] = {
	{ "sched", "sched_switch",
	  "name: sched_switch\nID: 314\n" SWITCH_FIELDS
	  "print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "
	  "next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	  "(REC->prev_state & " STATES ") ? __print_flags(REC->prev_state & " STATES ", \"|\", "
	  "{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "
	  "{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "
	  "{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & "
	  "(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "
	  "0x00000020 | 0x00000040) + 1) << 1) ? \"+\" : \"\", REC->next_comm, REC->next_pid, "
	  "REC->next_prio\n" },
	{ "sched", "sched_waking",
	  "name: sched_waking\nID: 317\n" WAKEUP_FIELDS
	  "print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "
	  "REC->target_cpu\n" },
	{ "irq", "irq_handler_entry",
	  "name: irq_handler_entry\nID: 140\n" ENTRY_FIELDS
	  "print fmt: \"irq=%d name=%s\", REC->irq, __get_str(name)\n" },
	{ "irq", "irq_handler_exit",
	  "name: irq_handler_exit\nID: 139\n" EXIT_FIELDS
	  "print fmt: \"irq=%d ret=%s\", REC->irq, REC->ret ? \"handled\" : \"unhandled\"\n" },
	{ "irq", "softirq_entry",
	  "name: softirq_entry\nID: 138\n" SOFTIRQ_FIELDS
	  "print fmt: \"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, { 0, \"HI\" }, "
	  "{ 1, \"TIMER\" }, { 2, \"NET_TX\" }, { 3, \"NET_RX\" }, { 4, \"BLOCK\" }, "
	  "{ 5, \"IRQ_POLL\" }, { 6, \"TASKLET\" }, { 7, \"SCHED\" }, { 8, \"HRTIMER\" }, "
	  "{ 9, \"RCU\" })\n" },
};

static void put_formats(struct xvt_trace_writer *w, uint32_t vm)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct xvt_meta_info info = { .vm = vm, .type = XVT_META_FORMAT, .generation = 1 };
		char buf[4096];
		size_t len = (size_t)snprintf(buf, sizeof(buf), "%s%c%s%c%s", formats[i].system, 0,
					      formats[i].name, 0, formats[i].text);

		must(len < sizeof(buf) &&
			     !xvt_trace_put(w, XVT_CHUNK_META, &info, sizeof(info), buf, len),
		     "META");
	}
}

/* -- events ------------------------------------------------------------------------- */

static uint64_t next_random(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static int32_t task(char comm[16], uint64_t r)
{
	static const char *const names[] = { "swapper/0", "kworker/u4:2", "bash",
					     "nginx",	  "ksoftirqd/1",  "rcu_preempt",
					     "postgres",  "migration/3" };

	snprintf(comm, 16, "%s", names[r % 8]);
	return (int32_t)(r % 8 * 517);
}

static uint16_t ftrace_record(struct record *rec, uint32_t cpu)
{
	uint64_t r = next_random();

	memset(rec, 0, sizeof(*rec));
	rec->flags = (uint8_t)(r >> 8 & 1);
	rec->preempt_count = (uint8_t)(r >> 9 & 3);
	rec->pid = (int32_t)(r >> 16 & 0xfff);
	switch (r % 8) {
	case 0:
	case 1:
	case 2:
		rec->type = TYPE_SWITCH;
		rec->sw.prev_pid = task(rec->sw.prev_comm, r >> 20);
		rec->sw.next_pid = task(rec->sw.next_comm, r >> 24);
		rec->sw.prev_prio = rec->sw.next_prio = 120;
		rec->sw.prev_state = (int64_t)(r >> 28 & 3);
		return SWITCH_LEN;
	case 3:
	case 4:
		rec->type = TYPE_WAKING;
		rec->wakeup.pid = task(rec->wakeup.comm, r >> 20);
		rec->wakeup.prio = 120;
		rec->wakeup.target_cpu = (int32_t)cpu;
		return WAKEUP_LEN;
	case 5:
		rec->type = TYPE_ENTRY;
		rec->irq.irq = 26;
		rec->irq.name = ENTRY_NAME_LOC;
		memcpy(rec->irq.text, "virtio0-output.", 16);
		return ENTRY_LEN;
	case 6:
		rec->type = TYPE_EXIT;
		rec->irq.irq = 26;
		rec->irq.ret = 1;
		return EXIT_LEN;
	default:
		rec->type = TYPE_SOFTIRQ;
		rec->vec = (uint32_t)(r >> 20) % 10;
		return SOFTIRQ_LEN;
	}
}

static void put_machines(struct xvt_trace_writer *w, uint32_t rings, bool ftrace)
{
	for (uint32_t i = 0; i < rings; i++) {
		uint32_t vm = i / RINGS_OF_VM;
		struct xvt_ring_info ri = {
			.ring = i,
			.vm = vm,
			.index = i % RINGS_OF_VM,
			.cpu = i % RINGS_OF_VM,
			.type = XVT_RING_VCPU,
			.clock_id = XVT_CLOCK_TSC,
			.subbuf_size = 65536,
			.subbuf_count = 8,
			.start_ns = BEGIN_NS,
		};

		if (i % RINGS_OF_VM == 0) {
			struct xvt_vm_info vi = { .vm = vm, .clock_hz = 1000000000 };

			snprintf(vi.name, sizeof(vi.name), "g%u", vm);
			must(!xvt_trace_put(w, XVT_CHUNK_VM, &vi, sizeof(vi), NULL, 0), "VM");
			if (ftrace)
				put_formats(w, vm);
		}
		must(!xvt_trace_put(w, XVT_CHUNK_RING, &ri, sizeof(ri), NULL, 0), "RING");
	}
}

static void put_nodes(struct xvt_trace_writer *w, uint32_t rings, uint64_t ns)
{
	static struct xvt_clock_node nodes[RINGS_MAX];

	for (uint32_t i = 0; i < rings; i++)
		nodes[i] = (struct xvt_clock_node){
			.ring = i,
			.source = XVT_SOURCE_HANDSHAKE,
			.flags = ns == BEGIN_NS ? XVT_NODE_F_FIRST : 0,
			.guest = ns,
			.host_ns = ns,
			.bound_ns = 50,
			.segment_bound_ns = 150,
		};
	must(!xvt_trace_put(w, XVT_CHUNK_NODE, nodes, rings * sizeof(nodes[0]), NULL, 0), "NODE");
}

static void put_stats(struct xvt_trace_writer *w, uint32_t rings, struct xvt_ring_stats *stats)
{
	for (uint32_t i = 0; i < rings; i++) {
		struct xvt_ring_stats *st = &stats[i];

		st->ring = i;
		st->source = XVT_SOURCE_HANDSHAKE;
		st->epochs = 1;
		st->attempted = st->events;
		st->bound_ns_max = 150;
		must(!xvt_trace_put(w, XVT_CHUNK_STATS, st, sizeof(*st), NULL, 0), "STATS");
	}
}

static void count(struct xvt_ring_stats *st, uint64_t ns)
{
	if (!st->events++)
		st->first_ns = ns;
	st->last_ns = ns;
}

static uint64_t put_events(struct xvt_trace_writer *w, const char *kind, uint32_t rings,
			   uint64_t events, struct xvt_ring_stats *stats)
{
	static uint8_t huge[HUGE_PAYLOAD];
	uint64_t ns = BEGIN_NS;

	for (uint64_t i = 0; i < events; i++) {
		uint64_t r = next_random();
		uint32_t ring = (uint32_t)(r % rings);
		uint64_t numbers[2] = { i, r };
		struct xvt_event_hdr h = { .id = XVT_ID_U64, .len = sizeof(numbers) };
		const void *payload = numbers;
		struct record rec;

		ns += 1 + (r >> 40) % 200;
		if (kind[0] == 'f') {
			h.id = XVT_ID_FTRACE;
			h.len = ftrace_record(&rec, ring % RINGS_OF_VM);
			payload = &rec;
		} else if (kind[0] == 'h') {
			h.id = XVT_ID_USER;
			h.len = HUGE_PAYLOAD;
			payload = huge;
		}
		h.host_ns = h.guest_clock = ns;
		h.ring_flags = ring;
		must(!xvt_trace_event(w, &h, payload), "event");
		count(&stats[ring], ns);
		if (i % EVENTS_ROUND == EVENTS_ROUND - 1) {
			struct xvt_round round = { i / EVENTS_ROUND, ns, ns };

			must(!xvt_trace_put(w, XVT_CHUNK_ROUND, &round, sizeof(round), NULL, 0),
			     "ROUND");
		}
	}
	return ns + 1;
}

int main(int argc, char **argv)
{
	static const struct xvt_file_info info = {
		.uuid = { 0xb1, 0x6b, 1, 2, 3, 4, 0x45, 6, 0x87 }, /* the same bytes at each run */
		.mult = 1,
		.host_clock_id = XVT_CLOCK_TSC,
		.host_name = "testhost",
	};
	static struct xvt_ring_stats stats[RINGS_MAX];
	static struct file f = { .sink.write = sink_write };
	struct xvt_trace_writer *w;
	uint32_t rings;
	uint64_t end_ns;
	bool killed = false;

	if (argc < 5 || !strchr("ufh", argv[1][0])) {
		fprintf(stderr, "usage: xvt-bigtrace u64|ftrace|huge RINGS EVENTS FILE.xvt "
				"[killed] [zstd]\n");
		return 2;
	}
	rings = (uint32_t)strtoul(argv[2], NULL, 0);
	rings = rings < 1 ? 1 : rings > RINGS_MAX ? RINGS_MAX : rings;
	f.fd = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(f.fd >= 0, argv[4]);
	must(!xvt_trace_writer_new(&w, &f.sink, &info), "FILE");
	for (int i = 5; i < argc; i++) {
		killed |= !strcmp(argv[i], "killed");
		must(strcmp(argv[i], "zstd") || !xvt_trace_compress(w, 3), "zstd");
	}
	put_machines(w, rings, argv[1][0] == 'f');
	put_nodes(w, rings, BEGIN_NS);
	end_ns = put_events(w, argv[1], rings, strtoull(argv[3], NULL, 0), stats);
	put_nodes(w, rings, end_ns);
	put_stats(w, rings, stats);
	if (killed) {
		must(!xvt_trace_flush(w), "flush");
	} else {
		must(!xvt_trace_writer_finish(w), "END");
	}
	flush_file(&f);
	must(!ftruncate(f.fd, (off_t)f.at) && !close(f.fd), argv[4]);
	return 0;
}
