// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-scene.c - writes a small trace in which all happens that Perfetto reads in a way of its own:
 * two guests and a host whose threads are filtered, wake-ups from interrupts, functions, entries
 * whose exits nobody records, marks of several kinds, messages, threads, losses, and two rings with
 * the same number. Names and numbers of events are those of Linux 6.1.
 *   xvt-scene all|one FILE.xvt
 * one: the first guest alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"

#define BEGIN_NS 1000000000ull
#define MS	 1000000ull
#define COMMON                                                                         \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* common_flags: in a hard, and in a soft interrupt. */
#define HARD 0x08u
#define SOFT 0x10u

#define TICK 0xffffffff81100000ull /* functions */
#define WORK 0xffffffff81200000ull

enum {
	G1_CPU0,
	G1_CPU1,
	HOST_CPU0,
	HOST_CPU1,
	G2_CPU0,
	G2_THREAD,
	G2_SAME, /* another thread's, with the same number */
	RINGS,
};

enum {
	G1,
	HOST,
	G2,
	MACHINES,
};

enum {
	PRINT = 5,
	TICK_ENTRY = 120,
	TICK_EXIT,
	SOFTIRQ_ENTRY = 138,
	EXPIRE_ENTRY = 150,
	EXPIRE_EXIT,
	WORK_START = 160,
	WORK_END,
	NEWTASK = 170,
	FORK,
	SWITCH = 314,
	WAKING = 317,
	SYS_ENTER = 400,
	SYS_EXIT,
};

/* A field: "TYPE NAME;size;signed", or "-;size;0" of none, one after the other from the 8th byte
 * on. */
struct format {
	uint32_t type;
	const char *system;
	const char *name;
	const char *fields[9];
};

static const struct format formats[] = {
	{ PRINT, "ftrace", "print", { "unsigned long ip;8;0", "char buf[];0;0" } },
	{ TICK_ENTRY, "irq_vectors", "local_timer_entry", { "int vector;4;1" } },
	{ TICK_EXIT, "irq_vectors", "local_timer_exit", { "int vector;4;1" } },
	{ SOFTIRQ_ENTRY, "irq", "softirq_entry", { "unsigned int vec;4;0" } },
	{ EXPIRE_ENTRY,
	  "timer",
	  "hrtimer_expire_entry",
	  { "void * hrtimer;8;0", "s64 now;8;1", "void * function;8;0" } },
	{ EXPIRE_EXIT, "timer", "hrtimer_expire_exit", { "void * hrtimer;8;0" } },
	{ WORK_START,
	  "workqueue",
	  "workqueue_execute_start",
	  { "void * work;8;0", "void * function;8;0" } },
	{ WORK_END,
	  "workqueue",
	  "workqueue_execute_end",
	  { "void * work;8;0", "void * function;8;0" } },
	{ NEWTASK,
	  "task",
	  "task_newtask",
	  { "pid_t pid;4;1", "char comm[16];16;0", "-;4;0", "unsigned long clone_flags;8;0",
	    "short oom_score_adj;2;1" } },
	{ FORK,
	  "sched",
	  "sched_process_fork",
	  { "char parent_comm[16];16;0", "pid_t parent_pid;4;1", "char child_comm[16];16;0",
	    "pid_t child_pid;4;1" } },
	{ SWITCH,
	  "sched",
	  "sched_switch",
	  { "char prev_comm[16];16;0", "pid_t prev_pid;4;1", "int prev_prio;4;1",
	    "long prev_state;8;1", "char next_comm[16];16;0", "pid_t next_pid;4;1",
	    "int next_prio;4;1" } },
	{ WAKING,
	  "sched",
	  "sched_waking",
	  { "char comm[16];16;0", "pid_t pid;4;1", "int prio;4;1", "int target_cpu;4;1" } },
	{ SYS_ENTER, "raw_syscalls", "sys_enter", { "long id;8;1", "unsigned long args[6];48;0" } },
	{ SYS_EXIT, "raw_syscalls", "sys_exit", { "long id;8;1", "long ret;8;1" } },
};

static struct xvt_trace_writer *writer;
static bool only_one;
static uint64_t now_ns = BEGIN_NS;
static uint64_t counts[RINGS], full_counts[RINGS], overwritten_counts[RINGS];

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-scene: %s\n", what);
	exit(1);
}

static void put(uint16_t type, const void *p, size_t len, const void *more, size_t more_len)
{
	must(!xvt_trace_put(writer, type, p, len, more, more_len), "chunk");
}

/* -- what the machines are ------------------------------------------------------------- */

static void put_meta(uint32_t vm, uint32_t type, uint32_t id, const void *text, size_t len)
{
	const struct xvt_meta_info info = { vm, type, id, 1 };

	put(XVT_CHUNK_META, &info, sizeof(info), text, len);
}

static void put_format(uint32_t vm, const struct format *f)
{
	char text[4096];
	size_t at = 8;
	int len = snprintf(text, sizeof(text), "%s%c%s%cname: %s\nID: %u\n" COMMON, f->system, 0,
			   f->name, 0, f->name, f->type);

	for (size_t i = 0; i < 9 && f->fields[i]; i++) {
		char decl[64];
		unsigned int size, is_signed;

		must(sscanf(f->fields[i], "%63[^;];%u;%u", decl, &size, &is_signed) == 3, "field");
		if (decl[0] != '-') /* a hole */
			len += snprintf(text + len, sizeof(text) - (size_t)len,
					"\tfield:%s;\toffset:%zu;\tsize:%u;\tsigned:%u;\n", decl,
					at, size, is_signed);
		at += size;
	}
	len += snprintf(text + len, sizeof(text) - (size_t)len, "\nprint fmt: \"\"\n");
	put_meta(vm, XVT_META_FORMAT, f->type, text, (size_t)len);
}

static void put_machine(uint32_t vm, const char *name, const char *kernel)
{
	static const char symbols[] = "ffffffff81100000 T tick_sched_timer\n"
				      "ffffffff81200000 t flush_to_ldisc\n"
				      "ffffffff81300000 T do_nothing\n";
	struct xvt_vm_info info = {
		.vm = vm,
		.kind = vm == HOST ? XVT_VM_HOST : XVT_VM_GUEST,
		.generation = 1,
		.clock_hz = 1000000000,
	};

	snprintf(info.name, sizeof(info.name), "%s", name);
	put(XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		put_format(vm, &formats[i]);
	put_meta(vm, XVT_META_KSYMS, 0, symbols, sizeof(symbols) - 1);
	put_meta(vm, XVT_META_TEXT, 0, kernel, strlen(kernel));
}

static bool is_of_scene(uint32_t ring)
{
	return !only_one || ring <= G1_CPU1;
}

static void put_ring(uint32_t ring, uint32_t vm, uint32_t index, uint32_t cpu, uint32_t type)
{
	const struct xvt_ring_info info = {
		.ring = ring,
		.vm = vm,
		.index = index,
		.cpu = cpu,
		.type = type,
		.clock_id = XVT_CLOCK_TSC,
		.subbuf_size = 65536,
		.subbuf_count = 8,
		.start_ns = BEGIN_NS,
	};

	put(XVT_CHUNK_RING, &info, sizeof(info), NULL, 0);
}

static void put_process(uint32_t tid, uint32_t tgid, uint32_t flags)
{
	const struct xvt_meta_process p = { .tgid = tgid, .flags = flags };

	put_meta(HOST, XVT_META_PROCESS, tid, &p, sizeof(p));
}

static void put_machines(void)
{
	put_machine(G1, "g1",
		    "Linux 6.1.0-56-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1 x86_64");
	put_ring(G1_CPU0, G1, 0, 0, XVT_RING_VCPU);
	put_ring(G1_CPU1, G1, 1, 1, XVT_RING_VCPU);
	if (only_one)
		return;
	put_machine(HOST, "host", "Linux 6.18.1 #2 SMP x86_64");
	put_ring(HOST_CPU0, HOST, 0, 0, XVT_RING_VCPU);
	put_ring(HOST_CPU1, HOST, 1, 1, XVT_RING_VCPU);
	put_meta(HOST, XVT_META_THREAD, 501, "g1:vcpu0", 8);
	put_meta(HOST, XVT_META_THREAD, 502, "g1:vcpu1", 8);
	put_meta(HOST, XVT_META_THREAD, 601, "g2:vcpu0", 8);
	put_process(501, 500, 0);
	put_process(502, 500, 0);
	put_meta(HOST, XVT_META_COMM, 902, "make", 4);
	put_process(902, 902, XVT_PROCESS_F_KERNEL);
	put_machine(G2, "g2", "Linux 6.12.3 #1 SMP aarch64");
	put_ring(G2_CPU0, G2, 0, 0, XVT_RING_VCPU);
	put_ring(G2_THREAD, G2, 1, 0, XVT_RING_THREAD);
	put_ring(G2_SAME, G2, 2, 0, XVT_RING_THREAD);
}

static void put_nodes(void)
{
	struct xvt_clock_node nodes[RINGS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < RINGS; i++)
		if (is_of_scene(i))
			nodes[n++] = (struct xvt_clock_node){
				.ring = i,
				.source = XVT_SOURCE_HANDSHAKE,
				.flags = now_ns == BEGIN_NS ? XVT_NODE_F_FIRST : 0,
				.guest = now_ns,
				.host_ns = now_ns,
				.bound_ns = 50,
				.segment_bound_ns = 150,
			};
	put(XVT_CHUNK_NODE, nodes, n * sizeof(nodes[0]), NULL, 0);
}

/* -- events ----------------------------------------------------------------------------- */

static struct {
	uint8_t p[256];
	uint32_t len;
} rec;

static void bytes(const void *p, size_t len)
{
	memcpy(rec.p + rec.len, p, len);
	rec.len += (uint32_t)len;
}

static void u32(uint32_t v)
{
	bytes(&v, sizeof(v));
}

static void u64(uint64_t v)
{
	bytes(&v, sizeof(v));
}

static void comm(const char *name)
{
	char text[16] = "";

	snprintf(text, sizeof(text), "%s", name);
	bytes(text, sizeof(text));
}

static void begin(uint16_t type, uint32_t flags, int32_t pid)
{
	const uint8_t context[2] = { (uint8_t)flags, 0 };

	rec.len = 0;
	bytes(&type, sizeof(type));
	bytes(context, sizeof(context));
	u32((uint32_t)pid);
}

/* Write the record, 1 us after the one before. */
static void end_as(uint32_t ring, uint16_t id)
{
	struct xvt_event_hdr h = { .id = id, .len = (uint16_t)rec.len, .ring_flags = ring };

	if (!is_of_scene(ring))
		return;
	now_ns += 1000;
	h.host_ns = h.guest_clock = now_ns;
	must(!xvt_trace_event(writer, &h, rec.p), "event");
	counts[ring] += id >= XVT_ID_FIRST_EVENT;
}

static void end(uint32_t ring)
{
	end_as(ring, XVT_ID_FTRACE);
}

static void put_switch(uint32_t ring, const char *prev, int32_t prev_pid, uint64_t state,
		       const char *next, int32_t next_pid)
{
	begin(SWITCH, 0, prev_pid);
	comm(prev);
	u32((uint32_t)prev_pid);
	u32(120);
	u64(state);
	comm(next);
	u32((uint32_t)next_pid);
	u32(120);
	end(ring);
}

static void put_waking(uint32_t ring, uint32_t flags, int32_t by, const char *name, int32_t pid)
{
	begin(WAKING, flags, by);
	comm(name);
	u32((uint32_t)pid);
	u32(120);
	u32(ring & 1);
	end(ring);
}

static void put_u32(uint32_t ring, uint16_t type, int32_t pid, uint32_t v)
{
	begin(type, HARD, pid);
	u32(v);
	end(ring);
}

/* Two or three words of 64 bits. */
static void put_words(uint32_t ring, uint16_t type, int32_t pid, unsigned int n, uint64_t a,
		      uint64_t b, uint64_t c)
{
	begin(type, HARD, pid);
	u64(a);
	if (n > 1)
		u64(b);
	if (n > 2)
		u64(c);
	end(ring);
}

static void put_print(uint32_t ring, int32_t pid, const char *text)
{
	begin(PRINT, 0, pid);
	u64(WORK);
	bytes(text, strlen(text));
	bytes("\n", 2);
	end(ring);
}

static void put_newtask(uint32_t ring, int32_t parent, int32_t pid, const char *name,
			uint64_t clone_flags)
{
	begin(NEWTASK, 0, parent);
	u32((uint32_t)pid);
	comm(name);
	u32(0);
	u64(clone_flags);
	u32(0);
	end(ring);
}

static void put_syscall(uint32_t ring, int32_t pid, uint64_t id)
{
	begin(SYS_ENTER, 0, pid);
	u64(id);
	for (int i = 0; i < 6; i++)
		u64((uint64_t)i);
	end(ring);
	put_words(ring, SYS_EXIT, pid, 2, id, 0, 0);
}

static void put_text(uint32_t ring, const char *text)
{
	rec.len = 0;
	bytes(text, strlen(text));
	end_as(ring, XVT_ID_TEXT);
}

static void put_lost(uint32_t ring, uint64_t full, uint64_t overwritten)
{
	struct xvt_lost lost = { .overwritten = overwritten };

	lost.lost[XVT_LOST_FULL] = full;
	rec.len = 0;
	bytes(&lost, sizeof(lost));
	end_as(ring, XVT_ID_LOST);
	full_counts[ring] += full;
	overwritten_counts[ring] += overwritten;
}

static void put_guest(uint32_t cpu0, int32_t first)
{
	for (int32_t i = 0; i < 4; i++) {
		const int32_t pid = first + i, next = first + (i + 1) % 4;

		put_waking(cpu0, HARD, pid, "worker", next);
		put_waking(cpu0, SOFT, pid, "worker", next);
		put_waking(cpu0, 0, pid, "other", next);
		put_switch(cpu0, "worker", pid, i % 2 ? 0x100 : 1, "worker", next);
		put_syscall(cpu0, next, 257);
		put_words(cpu0, EXPIRE_ENTRY, next, 3, 0xffff888000001000ull, 7, TICK);
		if (cpu0 == G1_CPU0) /* the other guest does not record it */
			put_words(cpu0, EXPIRE_EXIT, next, 1, 0xffff888000001000ull, 0, 0);
		put_words(cpu0, WORK_START, next, 2, 0xffff888000002000ull, WORK, 0);
		put_words(cpu0, WORK_END, next, 2, 0xffff888000002000ull, WORK, 0);
		put_u32(cpu0, TICK_ENTRY, next, 236);
		put_u32(cpu0, TICK_EXIT, next, 236);
		put_u32(cpu0, SOFTIRQ_ENTRY, next, 1);
	}
	put_print(cpu0, first, "hello");
	put_print(cpu0, first, "B|12|a slice of atrace");
	put_print(cpu0, first, "E|12");
	put_print(cpu0, first, "C|12|a counter|5");
	put_print(cpu0, first, "Beginning");
	put_print(cpu0, first, "E");
}

static void put_tasks(void)
{
	put_newtask(G1_CPU1, 1, 300, "server", 0x01200000);
	put_newtask(G1_CPU1, 300, 301, "server", 0x003d0f00); /* a thread of it: CLONE_THREAD */
	put_newtask(G1_CPU1, 2, 310, "kworker/1:0", 0x00800100);
	begin(FORK, 0, 2);
	comm("kthreadd");
	u32(2);
	comm("kworker/1:1");
	u32(311);
	end(G1_CPU1);
	put_switch(G1_CPU1, "swapper/1", 0, 0, "server", 300);
	put_switch(G1_CPU1, "server", 300, 1, "server", 301);
	put_switch(G1_CPU1, "server", 301, 1, "kworker/1:0", 310);
	put_switch(G1_CPU1, "kworker/1:0", 310, 0x80, "kworker/1:1", 311);
	put_switch(G1_CPU1, "kworker/1:1", 311, 0x80, "swapper/1", 0);
}

static void put_messages(void)
{
	put_print(G1_CPU0, 100, "xvt-ping send 1");
	put_print(G2_CPU0, 200, "xvt-ping recv 1");
	put_print(G2_CPU0, 200, "xvt-pong send 1");
	put_print(G1_CPU0, 100, "xvt-pong recv 1");
	put_print(G1_CPU0, 100, "xvt-ping send 2"); /* which nobody receives */
}

/* Threads of VMMs alone are recorded, as by set_event_pid. */
static void put_host(void)
{
	put_switch(HOST_CPU0, "other", 900, 1, "g1:vcpu0", 501);
	now_ns += MS;
	put_switch(HOST_CPU0, "g1:vcpu0", 501, 0, "bash", 901); /* preempted */
	now_ns += 2 * MS;
	put_switch(HOST_CPU0, "make", 902, 1, "g1:vcpu0", 501); /* when bash left is not known */
	now_ns += MS;
	put_waking(HOST_CPU0, HARD, 501, "g1:vcpu1", 502);
	put_switch(HOST_CPU1, "swapper/1", 0, 0, "g1:vcpu1", 502);
	now_ns += MS;
	put_switch(HOST_CPU1, "g1:vcpu1", 502, 1, "swapper/1", 0); /* sleeps */
	now_ns += 3 * MS;
	put_switch(HOST_CPU1, "swapper/1", 0, 0, "g2:vcpu0", 601);
	now_ns += MS;
	put_switch(HOST_CPU1, "g2:vcpu0", 601, 1, "swapper/1", 0);
	put_switch(HOST_CPU0, "g1:vcpu0", 501, 1, "swapper/0", 0);
	now_ns += MS;
	put_lost(HOST_CPU0, 0, 5); /* whether vCPU 0 ran meanwhile is not known */
	now_ns += MS;
	put_switch(HOST_CPU0, "bash", 901, 1, "g1:vcpu0", 501);
}

static void put_stats(void)
{
	for (uint32_t i = 0; i < RINGS; i++) {
		struct xvt_ring_stats st = {
			.ring = i,
			.source = XVT_SOURCE_HANDSHAKE,
			.epochs = 1,
			.attempted = counts[i] + full_counts[i] + overwritten_counts[i],
			.events = counts[i],
			.lost[XVT_LOST_FULL] = full_counts[i],
			.overwritten = overwritten_counts[i],
			.bound_ns_max = 150,
		};

		if (is_of_scene(i))
			put(XVT_CHUNK_STATS, &st, sizeof(st), NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct xvt_file_info info = {
		.uuid = { 0x5c, 0xe0, 1, 2, 3, 4, 0x45, 6, 0x87 },
		.mult = 1,
		.host_clock_id = XVT_CLOCK_TSC,
		.host_name = "testhost",
	};
	struct synth_sink sink;

	if (argc != 3) {
		fprintf(stderr, "usage: xvt-scene all|one FILE.xvt\n");
		return 2;
	}
	only_one = strcmp(argv[1], "one") == 0;
	synth_sink_init(&sink);
	must(!xvt_trace_writer_new(&writer, &sink.sink, &info), "file");
	put_machines();
	put_nodes();
	put_guest(G1_CPU0, 100);
	put_guest(G2_CPU0, 200);
	put_tasks();
	if (!only_one)
		put_messages();
	put_host();
	put_text(G2_THREAD, "of one thread");
	put_text(G2_SAME, "of the other thread");
	put_lost(G2_CPU0, 7, 0);
	put_waking(G2_CPU0, 0, 200, "worker", 201);
	now_ns += 1000;
	put_nodes();
	put_stats();
	must(!xvt_trace_writer_finish(writer), "end");
	synth_sink_save(&sink, argv[2]);
	synth_sink_fini(&sink);
	return 0;
}
