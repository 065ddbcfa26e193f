// SPDX-License-Identifier: GPL-2.0
/* request.c - asks a machine's guest to switch events on, and reports its answers. */
#include "session/parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX   64u		/* about answers, for each machine */
#define REQUEST_MAX (64u << 10) /* bytes of all lines of a machine */
#define ANSWER_NS   (5 * SECOND_NS)

/* How long an answer may take. --join-timeout holds up events, and may be 0: an answer does not. */
static uint64_t patience(const struct xvt_session *s)
{
	const uint64_t ns = s->opt.join_timeout_ns;

	return ticks(s, ns > ANSWER_NS ? ns : ANSWER_NS);
}

static const char *lines_of(const struct xvt_session *s, const struct xvt_vm *vm)
{
	const char *lines = vm->request.lines ? vm->request.lines : s->opt.request;

	return lines ? lines : "";
}

/* Length of the request line that begins at `at`, with its line feed; 0: none. */
static size_t request_line(const struct xvt_session *s, const struct xvt_vm *vm, size_t at)
{
	const char *line = lines_of(s, vm) + at;
	const char *end = strchr(line, '\n');

	return end ? (size_t)(end + 1 - line) : strlen(line);
}

static bool is_allowed(const struct xvt_vm *vm)
{
	return xvt_load(&xvt_vm_header(vm)->host_events) == XVT_HOST_EVENTS_ALLOWED;
}

/* Send one line as one request. allowed: is_allowed(). */
static void send_line(struct xvt_session *s, struct xvt_vm *vm, size_t at, bool allowed)
{
	size_t len = request_line(s, vm, at);

	if (!len || len > XVT_REQUEST_LEN)
		return;
	vm->request.at = at;
	vm->request.clock = xvt_clock_read();
	vm->request.refused = false;
	vm->request.silent = false;
	vm->request.allowed = allowed;
	vm->request.seq = xvt_host_region_ask(&vm->region, lines_of(s, vm) + at, len);
}

void xvt_vm_cannot_be_asked(struct xvt_session *s, struct xvt_vm *vm, const char *why)
{
	if (*lines_of(s, vm))
		xvt_session_note(s, 1, vm, UINT32_MAX, "-e does not reach it: %s", why);
}

void xvt_vm_send_request(struct xvt_session *s, struct xvt_vm *vm, uint32_t generation)
{
	if (vm->relay.of) {
		xvt_vm_cannot_be_asked(s, vm, "the relay in its guest has --events of its own");
		return;
	}
	vm->request.generation = generation;
	vm->request.again = false;
	vm->request.told = false;
	send_line(s, vm, 0, is_allowed(vm));
}

/* Send the requests again to a new guest generation (boot, kexec, module load). */
static void ask_again(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	uint32_t generation;

	if (!*lines_of(s, vm) || vm->relay.of)
		return;
	generation = xvt_vm_generation(s, vm);
	vm->request.again = generation != vm->request.generation;
	if (vm->request.again && since(now, vm->request.clock) >= ticks(s, SECOND_NS))
		xvt_vm_send_request(s, vm, generation);
}

/* Write a note about a guest's answer to one request; `what` precedes the event. The number of
 * notes is limited, because a guest can begin anew without end. */
static void note_answer(struct xvt_session *s, struct xvt_vm *vm, const char *what, const char *why)
{
	const char *line = lines_of(s, vm) + vm->request.at + 1; /* without "+" */

	if (vm->request.notes++ < NOTES_MAX)
		xvt_session_note(s, 2, vm, UINT32_MAX, "%s %.*s%s", what, (int)strcspn(line, "\n"),
				 line, why);
}

/* The requested events are not in the trace before that. */
static void note_late(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	const char *line = lines_of(s, vm) + vm->request.at + 1;

	if (vm->request.notes++ < NOTES_MAX)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "the guest has answered the request for events, from %.*s on, "
				 "after %.1f s: earlier ones are missing",
				 (int)strcspn(line, "\n"), line,
				 (double)since(now, vm->request.clock) /
					 (double)ticks(s, SECOND_NS));
}

static void note_refusal(struct xvt_session *s, struct xvt_vm *vm, int32_t result)
{
	struct xvt_error why;

	const char *line = lines_of(s, vm) + vm->request.at + 1;
	const size_t used = strlen(vm->request.why);

	xvt_fail(&why, 0, ": %s", xvt_host_region_refusal(result));
	if (result != -EPERM)
		snprintf(vm->request.why + used, sizeof(vm->request.why) - used,
			 "%scannot switch on %.*s%s", used ? "; " : "", (int)strcspn(line, "\n"),
			 line, why.text);
	note_answer(s, vm, "cannot switch on", why.text);
}

/*
 * After a refusal: it is one at once where the header says so. Where the guest has not heard its
 * owner yet, because the module comes before `xvt-guest start` at a boot, it may become a consent.
 * Also later, when the owner changes that. A guest that says yes and refuses is not asked again
 * until it has said something else.
 */
static void await_consent(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	const struct xvt_region_hdr *h = (const struct xvt_region_hdr *)vm->region.map;
	const uint32_t said = xvt_load(&h->host_events);
	const uint64_t waited = since(now, vm->request.clock);

	if (said != XVT_HOST_EVENTS_ALLOWED)
		vm->request.allowed = false;
	if (said == XVT_HOST_EVENTS_ALLOWED && !vm->request.allowed) {
		if (waited >= ticks(s, SECOND_NS))
			send_line(s, vm, vm->request.at, true);
		return;
	}
	if (!vm->request.told && (said != XVT_HOST_EVENTS_UNKNOWN || waited >= patience(s))) {
		vm->request.told = true;
		note_refusal(s, vm, -EPERM);
	}
}

void xvt_vm_look_for_answer(struct xvt_session *s, struct xvt_vm *vm, uint64_t now)
{
	struct xvt_region_hdr *h = (struct xvt_region_hdr *)vm->region.map;
	int32_t result;

	if (!vm->request.seq) {
		ask_again(s, vm, now);
		if (vm->request.refused)
			await_consent(s, vm, now);
		return;
	}
	if (xvt_load_acquire(&h->request_ack) != vm->request.seq) {
		/* The guest may still answer: a guest that boots slowly, or that is paused. */
		if (vm->request.silent) {
			ask_again(s, vm, now);
		} else if (since(now, vm->request.clock) >= patience(s)) {
			note_answer(s, vm, "no answer to the request for events, from", " on");
			vm->request.silent = true;
		}
		return;
	}
	if (vm->request.silent)
		note_late(s, vm, now);
	vm->request.silent = false;
	result = xvt_load(&h->request_result);
	vm->request.seq = 0;
	/* A guest that does not allow one event allows none. */
	vm->request.refused = result == -EPERM;
	if (vm->request.refused) {
		await_consent(s, vm, now);
		return;
	}
	if (result)
		note_refusal(s, vm, result);
	send_line(s, vm, vm->request.at + request_line(s, vm, vm->request.at), is_allowed(vm));
}

/* Report requested events that are not known to be switched on, by the last pass's view of the
 * region, which is not read again. */
void xvt_vm_end_request(struct xvt_session *s, struct xvt_vm *vm)
{
	if (!*lines_of(s, vm) || is_snapshot(s) || vm->own || vm->phase == XVT_VM_GONE)
		return;
	if (vm->phase != XVT_VM_ATTACHED) {
		note_answer(s, vm, "it never came, so it was not asked for events, from", " on");
		return;
	}
	if (vm->request.refused && !vm->request.told && !vm->request.again) {
		note_refusal(s, vm, -EPERM);
		return;
	}
	if (vm->request.silent || (!vm->request.seq && !vm->request.again))
		return;
	if (!vm->request.seq)
		vm->request.at = 0; /* the guest has begun anew */
	note_answer(s, vm,
		    "the recording ended before the guest answered the request for events, from",
		    " on");
}

int xvt_session_vm_ask(struct xvt_vm *vm, const char *lines)
{
	struct xvt_session *s = vm->session;
	const size_t before = strlen(lines_of(s, vm)), more = strlen(lines);
	char *text = before + more <= REQUEST_MAX ? malloc(before + more + 1) : NULL;

	if (!text)
		return before + more > REQUEST_MAX ? -E2BIG : -ENOMEM;
	memcpy(text, lines_of(s, vm), before);
	memcpy(text + before, lines, more + 1);
	free(vm->request.lines);
	vm->request.lines = text;
	vm->request.why[0] = 0;
	vm->request.told = false;
	/* Else they are asked for behind what is asked now, or when the machine comes. */
	if (vm->phase != XVT_VM_ATTACHED || (vm->request.seq && !vm->request.silent) ||
	    vm->request.again)
		return 0;
	send_line(s, vm, vm->request.refused || vm->request.silent ? vm->request.at : before,
		  is_allowed(vm));
	return 0;
}

int xvt_session_vm_asked(const struct xvt_vm *vm, struct xvt_error *why)
{
	if (vm->phase == XVT_VM_GONE)
		return xvt_fail(why, -ENODEV, "it has gone");
	if (vm->request.refused && vm->request.told)
		return xvt_fail(why, -EPERM, "%s", xvt_host_region_refusal(-EPERM));
	if (vm->request.silent)
		return xvt_fail(why, -ETIMEDOUT, "its guest has not answered; is it paused?");
	if (vm->phase != XVT_VM_ATTACHED || vm->request.seq || vm->request.again ||
	    vm->request.refused)
		return -EAGAIN;
	xvt_fail(why, 0, "%s", vm->request.why);
	return vm->request.why[0] ? -ENOENT : 0;
}
