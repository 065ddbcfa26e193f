// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-paused.c - writes a trace of a machine that is paused for a second, and ends.
 *   xvt-paused FILE.xvt [nameless]
 * nameless: the second machine, g1, has not sent the format of its event.
 * Its CPU 0 runs the task "bash" for a millisecond, stands still, and runs it for another one. CPU
 * 1 idles. Behind a while of idleness bash runs again, and the VMM ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record.h"
#include "trace/write.h"

#define MS   1000000ull
#define TASK 1034

static const char format[] =
	"sched\0sched_switch\0name: sched_switch\nID: 314\n" SWITCH_FIELDS SWITCH_PRINT;

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
	struct record s = { .type = TYPE_SWITCH,
			    .sw = { .prev_prio = 120, .next_prio = 120, .prev_state = !in } };
	const struct xvt_event_hdr h = { .host_ns = ns,
					 .guest_clock = ns,
					 .ring_flags = ring,
					 .id = XVT_ID_FTRACE,
					 .len = SWITCH_LEN };
	char *task = in ? s.sw.next_comm : s.sw.prev_comm;
	char *idle = in ? s.sw.prev_comm : s.sw.next_comm;

	strcpy(task, "bash");
	snprintf(idle, 16, "swapper/%u", ring % 2);
	*(in ? &s.sw.next_pid : &s.sw.prev_pid) = TASK;
	s.pid = s.sw.prev_pid;
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

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: xvt-paused FILE.xvt [nameless]\n");
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
		if (argc == 3 && i)
			continue;
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
