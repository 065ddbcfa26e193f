// SPDX-License-Identifier: GPL-2.0
/* story.c - see story.h. Formats are those of Linux 6.1, without what no analysis takes. */
#include "story.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth.h"
#include "trace/names.h"
#include "trace/note.h"

#define RINGS_MAX 64u
#define VMS_MAX	  8u
#define COMMON                                                                         \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

enum {
	SWITCH = 314,
	XSWITCH,
	WAKING,
	WAKEUP,
	MIGRATE,
	IRQ,
	IRQX,
	SOFT,
	SOFTX,
	ACCEPT,
	POSTED,
	INJECT,
	VECTOR,
	TIMER,
	EXPIRE,
	CANCEL,
	RAISE,
	TIMERX,
	PRINT,
	OLD_INJECT,
	IRQ_VEC
};

static const struct format {
	uint32_t type;
	const char *system, *name;
	const char *fields[5]; /* "TYPE NAME;size;signed" */
} formats[] = {
	{ SWITCH,
	  "sched",
	  "sched_switch",
	  { "char prev_comm[16];16;0", "pid_t prev_pid;4;1", "long prev_state;8;1",
	    "char next_comm[16];16;0", "pid_t next_pid;4;1" } },
	{ XSWITCH,
	  "xvt",
	  "sched_switch",
	  { "char prev_comm[16];16;0", "pid_t prev_pid;4;1", "long prev_state;8;1",
	    "char next_comm[16];16;0", "pid_t next_pid;4;1" } },
	{ WAKING,
	  "sched",
	  "sched_waking",
	  { "char comm[16];16;0", "pid_t pid;4;1", "int target_cpu;4;1" } },
	{ WAKEUP,
	  "sched",
	  "sched_wakeup",
	  { "char comm[16];16;0", "pid_t pid;4;1", "int target_cpu;4;1" } },
	{ MIGRATE,
	  "sched",
	  "sched_migrate_task",
	  { "char comm[16];16;0", "pid_t pid;4;1", "int dest_cpu;4;1" } },
	{ IRQ, "irq", "irq_handler_entry", { "int irq;4;1", "char name[16];16;0" } },
	{ IRQ_VEC,
	  "xvt",
	  "irq_handler_entry",
	  { "int irq;4;1", "char name[16];16;0", "int vector;4;1" } },
	{ IRQX, "irq", "irq_handler_exit", { "int irq;4;1", "int ret;4;1" } },
	{ SOFT, "irq", "softirq_entry", { "unsigned int vec;4;0" } },
	{ SOFTX, "irq", "softirq_exit", { "unsigned int vec;4;0" } },
	{ ACCEPT, "kvm", "kvm_apic_accept_irq", { "__u32 apicid;4;0", "__u32 vec;4;0" } },
	{ POSTED, "kvm", "kvm_apicv_accept_irq", { "__u32 apicid;4;0", "__u32 vec;4;0" } },
	{ INJECT, "kvm", "kvm_inj_virq", { "unsigned int vector;4;0", "int reinjected;4;1" } },
	{ OLD_INJECT, "kvm", "kvm_inj_virq", { "unsigned int irq;4;0" } },
	{ VECTOR, "irq_vectors", "local_timer_entry", { "int vector;4;1" } },
	{ TIMER, "timer", "hrtimer_start", { "void * hrtimer;8;0", "s64 expires;8;1" } },
	{ EXPIRE,
	  "timer",
	  "hrtimer_expire_entry",
	  { "void * hrtimer;8;0", "s64 now;8;1", "void * function;8;0" } },
	{ CANCEL, "timer", "hrtimer_cancel", { "void * hrtimer;8;0" } },
	{ RAISE, "irq", "softirq_raise", { "unsigned int vec;4;0" } },
	{ TIMERX, "timer", "hrtimer_expire_exit", { "void * hrtimer;8;0" } },
	{ PRINT, "ftrace", "print", { "unsigned long ip;8;0", "char buf[32];32;0" } },
};

static struct xvt_trace_writer *writer;
static struct {
	char name[16];
	uint32_t first_ring, cpus;
} vms[VMS_MAX];
static uint32_t vm_count, ring_count, bounds[RINGS_MAX];
static uint64_t counts[RINGS_MAX], lost_counts[RINGS_MAX][XVT_LOST_CAUSES];
static uint64_t overwritten_counts[RINGS_MAX];
static uint64_t discarded[RINGS_MAX], too_many[RINGS_MAX], hidden[RINGS_MAX];
static const char *line; /* that is read */

static struct {
	uint8_t p[256];
	uint32_t len;
} rec;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "story: %s: %s\n", what, line);
	abort();
}

static void put(uint16_t type, const void *p, size_t len, const void *more, size_t more_len)
{
	must(!xvt_trace_put(writer, type, p, len, more, more_len), "chunk");
}

static void put_meta(uint32_t vm, uint32_t type, uint32_t id, const void *text, size_t len)
{
	const struct xvt_meta_info info = { vm, type, id, 1 };

	put(XVT_CHUNK_META, &info, sizeof(info), text, len);
}

/* -- machines --------------------------------------------------------------------------- */

static void put_format(uint32_t vm, const struct format *f)
{
	char text[2048];
	size_t at = 8;
	int len = snprintf(text, sizeof(text), "%s%c%s%cname: %s\nID: %u\n" COMMON, f->system, 0,
			   f->name, 0, f->name, f->type);

	for (size_t i = 0; i < 5 && f->fields[i]; i++) {
		char decl[64];
		unsigned int size, is_signed;

		must(sscanf(f->fields[i], "%63[^;];%u;%u", decl, &size, &is_signed) == 3, "field");
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"\tfield:%s;\toffset:%zu;\tsize:%u;\tsigned:%u;\n", decl, at, size,
				is_signed);
		at += size;
	}
	len += snprintf(text + len, sizeof(text) - (size_t)len, "\nprint fmt: \"\"\n");
	put_meta(vm, XVT_META_FORMAT, f->type, text, (size_t)len);
}

static void put_nodes(uint32_t first, uint32_t n, uint64_t ns)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct xvt_clock_node node = {
			.ring = i,
			.source = XVT_SOURCE_HANDSHAKE,
			.flags = ns == STORY_BEGIN_NS ? XVT_NODE_F_FIRST : 0,
			.guest = ns,
			.host_ns = ns,
			.bound_ns = bounds[i],
			.segment_bound_ns = bounds[i],
		};

		put(XVT_CHUNK_NODE, &node, sizeof(node), NULL, 0);
	}
}

/* The segment up to the node has the bound before. */
static void put_line(uint32_t vm, uint64_t ns, const char *bound)
{
	put_nodes(vms[vm].first_ring, vms[vm].cpus, ns);
	for (uint32_t i = 0; i < vms[vm].cpus; i++)
		bounds[vms[vm].first_ring + i] = (uint32_t)strtoul(bound, NULL, 10);
}

enum machine { HOST, GUEST, STOCK };

static void put_machine(const char *name, uint32_t cpus, uint32_t bound_ns, uint32_t hw,
			enum machine kind)
{
	struct xvt_vm_info info = { .vm = vm_count,
				    .kind = kind == HOST ? XVT_VM_HOST : XVT_VM_GUEST,
				    .region_kind = kind == STOCK ? XVT_REGION_FTRACE : 0,
				    .generation = 1,
				    .clock_hz = 1000000000 };

	must(vm_count < VMS_MAX && ring_count + cpus <= RINGS_MAX, "too many");
	snprintf(info.name, sizeof(info.name), "%s", name);
	put(XVT_CHUNK_VM, &info, sizeof(info), NULL, 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		put_format(vm_count, &formats[i]);
	snprintf(vms[vm_count].name, sizeof(vms[0].name), "%s", name);
	vms[vm_count].first_ring = ring_count;
	vms[vm_count].cpus = cpus;
	for (uint32_t i = 0; i < cpus; i++) {
		const struct xvt_ring_info ring = { .ring = ring_count + i,
						    .vm = vm_count,
						    .index = i,
						    .cpu = i,
						    .hw_id = hw + i,
						    .type = XVT_RING_VCPU,
						    .clock_id = XVT_CLOCK_TSC,
						    .subbuf_size = 65536,
						    .subbuf_count = 8,
						    .start_ns = STORY_BEGIN_NS };

		bounds[ring_count + i] = bound_ns;
		put(XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0);
	}
	put_nodes(ring_count, cpus, STORY_BEGIN_NS);
	ring_count += cpus;
	vm_count++;
}

static int head(const char *text)
{
	char name[64], what[16];
	uint32_t a, b, c = 0, d = 0;

	if (sscanf(text, "host %u", &a) == 1)
		put_machine("h", a, 2, 0, HOST);
	else if (sscanf(text, "guest %15s %u %u %u", name, &a, &b, &c) >= 3)
		put_machine(name, a, b, c, GUEST);
	else if (sscanf(text, "stock %15s %u %u", name, &a, &b) == 3)
		put_machine(name, a, b, 0, STOCK);
	else if (sscanf(text, "thread %u %63s", &a, name) == 2)
		put_meta(0, XVT_META_THREAD, a, name, strlen(name));
	else if (sscanf(text, "comm %u %63s", &a, name) == 2)
		put_meta(0, XVT_META_COMM, a, name, strlen(name));
	else if (sscanf(text, "vcpu %u %u %u %u", &a, &b, &c, &d) == 4)
		put_meta(0, XVT_META_PROCESS, a,
			 &(struct xvt_meta_process){ .tgid = b,
						     .since_ns = STORY_BEGIN_NS,
						     .role = XVT_ROLE_VCPU,
						     .vm = c,
						     .vcpu = d },
			 sizeof(struct xvt_meta_process));
	else if (sscanf(text, "process %u %u", &a, &b) == 2)
		put_meta(0, XVT_META_PROCESS, a, &(struct xvt_meta_process){ .tgid = b },
			 sizeof(struct xvt_meta_process));
	else if (sscanf(text, "counts %u %u %u %u", &a, &b, &c, &d) >= 3 && a < ring_count)
		discarded[a] = b, too_many[a] = c, hidden[a] = d;
	else
		return sscanf(text, "%15s", what) != 1;
	return 1;
}

/* -- events ----------------------------------------------------------------------------- */

static void bytes(const void *p, size_t len)
{
	memcpy(rec.p + rec.len, p, len);
	rec.len += (uint32_t)len;
}

static void u32(uint32_t v)
{
	bytes(&v, sizeof(v));
}

static uint32_t comm(const char *task)
{
	const char *dash = strrchr(task, '-');
	char text[16] = "";

	must(dash && dash - task < 16, "COMM-PID");
	memcpy(text, task, (size_t)(dash - task));
	bytes(text, sizeof(text));
	return (uint32_t)strtoul(dash + 1, NULL, 10);
}

static void begin(uint16_t type, uint8_t flags, uint32_t pid)
{
	const uint8_t context[2] = { flags, 0 };

	rec.len = 0;
	bytes(&type, sizeof(type));
	bytes(context, sizeof(context));
	u32(pid);
}

static uint32_t pid_of(const char *task)
{
	const char *dash = strrchr(task, '-');

	return dash ? (uint32_t)strtoul(dash + 1, NULL, 10) : 0;
}

static void begin_by(uint16_t type, const char *by)
{
	const size_t len = strcspn(by, ":");

	begin(type,
	      strncmp(by, "irq", len) == 0    ? 8
	      : strncmp(by, "soft", len) == 0 ? 16
					      : 0,
	      pid_of(by));
}

static void put_switch(uint16_t type, const char *prev, const char *state, const char *next)
{
	static const char letters[] = "RSDxTxxxt"; /* by value, as far as stories have them */
	const char *at = strchr(letters, state[0]);
	const uint64_t s = at ? (uint64_t)(at - letters) : 0;

	begin(type, 0, pid_of(prev));
	u32(comm(prev));
	bytes(&s, sizeof(s));
	u32(comm(next));
}

static void put_task(uint16_t type, const char *task, uint32_t cpu, const char *by)
{
	begin_by(type, by);
	u32(comm(task));
	u32(cpu);
}

static void put_mark(const char *what, uint32_t n, const char *by)
{
	const uint64_t ip = 0;
	char text[32] = "";

	begin_by(PRINT, by);
	bytes(&ip, sizeof(ip));
	snprintf(text, sizeof(text), "xvt-ping %s %u", what, n);
	bytes(text, sizeof(text));
}

static uint16_t put_lost(uint32_t ring, uint32_t n, const char *cause)
{
	struct xvt_lost lost = { 0 };
	const int overwritten = strcmp(cause, "overwritten") == 0;
	const int rolled_back = strcmp(cause, "rolled_back") == 0;
	unsigned int i = XVT_LOST_FULL;

	while (*cause && !overwritten && !rolled_back && i < XVT_LOST_CAUSES &&
	       strcmp(xvt_lost_name(i), cause) != 0)
		i++;
	if (overwritten) {
		lost.overwritten = n;
		overwritten_counts[ring] += n;
	} else if (rolled_back) {
		lost.rolled_back = n;
	} else {
		must(i < XVT_LOST_CAUSES, "no such cause");
		lost.lost[i] = n;
		lost_counts[ring][i] += n;
	}
	rec.len = 0;
	bytes(&lost, sizeof(lost));
	return XVT_ID_LOST;
}

/* Makes the record. Returns its id. */
static uint16_t make(uint32_t ring, const char *what, const char *args)
{
	char a[64] = "", b[64] = "", c[64] = "";
	uint32_t n = 0;

	sscanf(args, "%63s %63s %63s", a, b, c);
	n = (uint32_t)strtoul(a, NULL, 10);
	if (strcmp(what, "switch") == 0 || strcmp(what, "xswitch") == 0) {
		put_switch(what[0] == 'x' ? XSWITCH : SWITCH, a, b, c);
	} else if (strcmp(what, "waking") == 0 || strcmp(what, "wakeup") == 0) {
		put_task(what[3] == 'i' ? WAKING : WAKEUP, a, (uint32_t)strtoul(b, NULL, 10), c);
	} else if (strcmp(what, "migrate") == 0) {
		put_task(MIGRATE, a, (uint32_t)strtoul(b, NULL, 10), c);
	} else if (strcmp(what, "irq") == 0) {
		begin(c[0] ? IRQ_VEC : IRQ, 8, 0);
		u32(n);
		snprintf((char *)rec.p + rec.len, 16, "%.15s", b);
		rec.len += 16;
		if (c[0])
			u32((uint32_t)strtoul(c, NULL, 10));
	} else if (strcmp(what, "irqx") == 0) {
		begin(IRQX, 8, 0);
		u32(n);
		u32(1);
	} else if (strcmp(what, "soft") == 0 || strcmp(what, "softx") == 0) {
		begin(what[4] ? SOFTX : SOFT, 16, 0);
		u32(n);
	} else if (strcmp(what, "accept") == 0 || strcmp(what, "posted") == 0) {
		begin(what[0] == 'a' ? ACCEPT : POSTED, strncmp(c, "irq", 3) == 0 ? 8 : 0,
		      pid_of(c));
		u32(n);
		u32((uint32_t)strtoul(b, NULL, 10));
	} else if (strcmp(what, "inject") == 0 || strcmp(what, "oldinject") == 0) {
		begin(what[0] == 'i' ? INJECT : OLD_INJECT, 0, pid_of(b));
		u32(n);
		u32(c[0] != '\0');
	} else if (strcmp(what, "vector") == 0) {
		begin(VECTOR, 0, 0);
		u32(n);
	} else if (strcmp(what, "timer") == 0 || strcmp(what, "expire") == 0) {
		const uint64_t function = 0xffffffff81000000u;
		const int64_t ns = STORY_GUEST_NS + (int64_t)(strtod(b, NULL) * 1000);

		begin_by(what[0] == 't' ? TIMER : EXPIRE, c);
		u32(n);
		u32(0);
		bytes(&ns, sizeof(ns));
		bytes(&function, sizeof(function));
	} else if (strcmp(what, "cancel") == 0 || strcmp(what, "expirex") == 0) {
		begin_by(what[0] == 'c' ? CANCEL : TIMERX, b);
		u32(n);
		u32(0);
	} else if (strcmp(what, "raise") == 0) {
		begin_by(RAISE, b);
		u32(n);
	} else if (strcmp(what, "mark") == 0) {
		rec.len = 0;
		bytes(args, strcspn(args, "\n"));
		return XVT_ID_TEXT;
	} else if (strcmp(what, "send") == 0 || strcmp(what, "recv") == 0) {
		put_mark(what, n, b);
	} else if (strcmp(what, "lost") == 0) {
		return put_lost(ring, n, b);
	} else {
		must(0, "no such event");
	}
	return XVT_ID_FTRACE;
}

/* The note that a recorder writes. */
static void put_rollback(uint32_t vm, uint64_t ns)
{
	const struct xvt_note n = { vm, UINT32_MAX, 1, XVT_NOTE_TEXT, ns };

	put(XVT_CHUNK_NOTE, &n, sizeof(n), XVT_NOTE_WENT_BACK, strlen(XVT_NOTE_WENT_BACK));
}

static void put_state(uint32_t vm, uint64_t ns, const char *what, const char *args)
{
	static const struct {
		const char *name;
		uint32_t kind;
	} states[] = { { "paused", XVT_NOTE_PAUSED },
		       { "runs", XVT_NOTE_RUNS },
		       { "reset", XVT_NOTE_RESET },
		       { "ended", XVT_NOTE_ENDED } };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct {
			struct xvt_note note;
			struct xvt_note_state state;
		} n = { { vm, UINT32_MAX, 0, states[i].kind, ns }, { .at_ns = ns } };

		if (strcmp(states[i].name, what) != 0)
			continue;
		if (states[i].kind == XVT_NOTE_RUNS)
			n.state.since_ns = STORY_BEGIN_NS + (uint64_t)(strtod(args, NULL) * 1000);
		put(XVT_CHUNK_NOTE, &n, sizeof(n), NULL, 0);
		return;
	}
	must(strcmp(what, "rollback") == 0, "no such state");
	put_rollback(vm, ns);
}

static uint32_t flags_of(const char *text)
{
	return (strchr(text, 'U') ? XVT_EVENT_F_UNCONFIRMED : 0) |
	       (strchr(text, 'C') ? XVT_EVENT_F_CLOCK : 0) |
	       (strchr(text, 'L') ? XVT_EVENT_F_LATE : 0);
}

static uint64_t event(const char *text)
{
	char time[32], place[32], what[16], *colon, *end;
	uint32_t vm = 0, ring, at = 0;
	struct xvt_event_hdr h;
	uint64_t ns;

	must(sscanf(text, "%31s %31s %15s %n", time, place, what, (int *)&at) >= 3,
	     "T PLACE EVENT");
	ns = STORY_BEGIN_NS + (uint64_t)(strtod(time, &end) * 1000 + 0.5);
	colon = strchr(place, ':');
	if (colon)
		*colon = '\0';
	while (vm < vm_count && strcmp(vms[vm].name, place) != 0)
		vm++;
	must(vm < vm_count, "no such machine");
	if (!colon && strcmp(what, "line") == 0) {
		put_line(vm, ns, text + at);
		return ns;
	}
	if (!colon) {
		put_state(vm, ns, what, text + at);
		return ns;
	}
	ring = vms[vm].first_ring + (uint32_t)strtoul(colon + 1, NULL, 10);
	h = (struct xvt_event_hdr){ .host_ns = ns,
				    .guest_clock = ns,
				    .ring_flags = ring | flags_of(end) };
	h.id = make(ring, what, text + at);
	h.len = (uint16_t)rec.len;
	must(!xvt_trace_event(writer, &h, rec.p), "event");
	counts[ring] += h.id != XVT_ID_LOST;
	return ns;
}

static void put_stats(void)
{
	for (uint32_t i = 0; i < ring_count; i++) {
		struct xvt_ring_stats st = { .ring = i,
					     .source = XVT_SOURCE_HANDSHAKE,
					     .epochs = 1,
					     .attempted = counts[i] + discarded[i] + too_many[i] +
							  overwritten_counts[i],
					     .overwritten = overwritten_counts[i],
					     .events = counts[i],
					     .discarded = discarded[i],
					     .bound_ns_max = bounds[i] };

		for (unsigned int k = 0; k < XVT_LOST_CAUSES; k++) {
			st.lost[k] = lost_counts[i][k] + (k ? 0 : hidden[i]);
			st.attempted += st.lost[k];
		}
		put(XVT_CHUNK_STATS, &st, sizeof(st), NULL, 0);
	}
}

void story_make(const char *text, const char *path)
{
	static const struct xvt_file_info info = {
		.uuid = { 0x5c, 0xe0, 1, 2, 3, 4, 0x45, 6, 0x88 },
		.mult = 1,
		.host_clock_id = XVT_CLOCK_TSC,
		.host_name = "testhost",
	};
	char *copy = strdup(text), *rest = copy, *one;
	uint64_t ns, last_ns = STORY_BEGIN_NS;
	struct synth_sink sink;

	vm_count = ring_count = 0;
	memset(counts, 0, sizeof(counts));
	memset(lost_counts, 0, sizeof(lost_counts));
	memset(overwritten_counts, 0, sizeof(overwritten_counts));
	memset(discarded, 0, sizeof(discarded));
	memset(too_many, 0, sizeof(too_many));
	memset(hidden, 0, sizeof(hidden));
	synth_sink_init(&sink);
	line = "begin";
	must(!xvt_trace_writer_new(&writer, &sink.sink, &info), "file");
	while ((one = strsep(&rest, "\n")) != NULL) {
		one[strcspn(one, "#")] = '\0';
		line = one;
		if (head(one))
			continue;
		ns = event(one);
		last_ns = ns > last_ns ? ns : last_ns;
	}
	put_nodes(0, ring_count, last_ns + 1000000);
	put_stats();
	must(!xvt_trace_writer_finish(writer), "end");
	synth_sink_save(&sink, path);
	synth_sink_fini(&sink);
	free(copy);
}
