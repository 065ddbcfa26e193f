// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-paused.c - writes a trace of a machine that is paused for a second, and ends.
 *   xvt-paused FILE.xvt
 * Its CPU 0 runs the task "bash" for a millisecond, stands still, and runs it for another one. CPU
 * 1 idles. Behind a while of idleness bash runs again, and the VMM ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/write.h"

#define MS   1000000ull
#define TASK 1034

static const char format[] =
	"sched\0sched_switch\0name: sched_switch\nID: 314\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%ld ==> next_comm=%s "
	"next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	"REC->prev_state, REC->next_comm, REC->next_pid, REC->next_prio\n";

struct task_switch {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_count;
	int32_t pid;
	char prev_comm[16];
	int32_t prev_pid;
	int32_t prev_prio;
	int64_t prev_state;
	char next_comm[16];
	int32_t next_pid;
	int32_t next_prio;
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xvt-paused: %s\n", what);
	exit(1);
}

struct file {
	struct xvt_sink sink;
	int fd;
};

static int write_out(struct xvt_sink *sink, const void *p, size_t len)
{
	return xvt_write_all(((struct file *)sink)->fd, p, len);
}

static void put_event(struct xvt_trace_writer *w, uint32_t ring, uint64_t ns, bool in)
{
	struct task_switch s = {
		.type = 314, .prev_prio = 120, .next_prio = 120, .prev_state = !in
	};
	const struct xvt_event_hdr h = { .host_ns = ns,
					 .guest_clock = ns,
					 .ring_flags = ring,
					 .id = XVT_ID_FTRACE,
					 .len = sizeof(s) };
	char *task = in ? s.next_comm : s.prev_comm, *idle = in ? s.prev_comm : s.next_comm;

	strcpy(task, "bash");
	snprintf(idle, 16, "swapper/%u", ring % 2);
	*(in ? &s.next_pid : &s.prev_pid) = TASK;
	s.pid = s.prev_pid;
	must(!xvt_trace_event(w, &h, &s), "event");
}

static void put_state(struct xvt_trace_writer *w, uint32_t vm, enum xvt_note_kind kind, uint64_t ns,
		      uint64_t since_ns, const char *why)
{
	const struct {
		struct xvt_note note;
		struct xvt_note_state state;
	} n = { .note = { .vm = vm, .ring = UINT32_MAX, .kind = kind, .host_ns = ns },
		.state = { .at_ns = ns, .since_ns = since_ns, .why_len = (uint32_t)strlen(why) } };

	must(!xvt_trace_put(w, XVT_CHUNK_NOTE, &n, sizeof(n), why, strlen(why)), "NOTE");
}

int main(int argc, char **argv)
{
	static const struct xvt_file_info info = { .mult = 1u << 30, .shift = 30 };
	struct file f = { .sink.write = write_out };
	struct xvt_trace_writer *w;

	if (argc != 2) {
		fprintf(stderr, "usage: xvt-paused FILE.xvt\n");
		return 2;
	}
	f.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(f.fd >= 0, argv[1]);
	must(!xvt_trace_writer_new(&w, &f.sink, &info), "FILE");
	for (uint32_t i = 0; i < 2; i++) {
		const struct xvt_vm_info vm = { .vm = i,
						.name = { 'g', '0' + (char)i },
						.generation = 1,
						.clock_hz = 1000000000 };
		const struct xvt_meta_info meta = { .vm = i,
						    .type = XVT_META_FORMAT,
						    .generation = 1 };

		must(!xvt_trace_put(w, XVT_CHUNK_VM, &vm, sizeof(vm), NULL, 0), "VM");
		must(!xvt_trace_put(w, XVT_CHUNK_META, &meta, sizeof(meta), format,
				    sizeof(format) - 1),
		     "META");
	}
	for (uint32_t i = 0; i < 3; i++) {
		const struct xvt_ring_info ring = { .ring = i, .vm = i / 2, .cpu = i % 2 };

		must(!xvt_trace_put(w, XVT_CHUNK_RING, &ring, sizeof(ring), NULL, 0), "RING");
	}
	put_event(w, 2, 998 * MS, false);
	put_event(w, 1, 999 * MS, false);
	put_event(w, 0, 1000 * MS, true);
	put_event(w, 0, 2002 * MS, false);
	put_event(w, 0, 2003 * MS, true);
	put_event(w, 1, 2004 * MS, true);
	put_event(w, 1, 2005 * MS, false);
	put_state(w, 0, XVT_NOTE_PAUSED, 1001 * MS, 0, "");
	put_state(w, 1, XVT_NOTE_PAUSED, 1500 * MS, 0, "paused");
	put_state(w, 1, XVT_NOTE_RUNS, 1600 * MS, 1500 * MS, "");
	put_state(w, 0, XVT_NOTE_RUNS, 2001 * MS, 1001 * MS, "");
	put_state(w, 0, XVT_NOTE_ENDED, 2006 * MS, 0, "guest panicked");
	must(!xvt_trace_writer_finish(w), "END");
	return close(f.fd) != 0;
}
