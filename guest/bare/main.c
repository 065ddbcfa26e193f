// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * main.c - a guest without an operating system. Its one task does what the page says, rings
 * the doorbell, and does the next thing; its interrupt and its NMI each write an event.
 */
#include "cpu.h"
#include "event.h"
#include "xvt_clock_pair.h"
#include "xvt_cost.h"

/* Called by start.S, at ring 0, with the address that was interrupted. */
void bare_irq(uint64_t rip);
void bare_nmi(uint64_t rip);
void bare_exception(uint64_t vector, const uint64_t *stack) __attribute__((noreturn));
void bare_main(void);

static void leave(void)
{
	if (!BARE_PAGE->quiet)
		bare_signal(XVT_BARE_LEAVE, 0);
}

void bare_irq(uint64_t rip)
{
	bare_signal(XVT_BARE_IRQ, rip);
	if (BARE_PAGE->op[XVT_BARE_IN_IRQ].len)
		event_write(XVT_BARE_IN_IRQ, rip);
	leave();
}

void bare_nmi(uint64_t rip)
{
	bare_signal(XVT_BARE_NMI, rip);
	if (BARE_PAGE->op[XVT_BARE_IN_NMI].len)
		event_write(XVT_BARE_IN_NMI, rip);
	leave();
}

void bare_exception(uint64_t vector, const uint64_t *stack)
{
	/* With some vectors an error code lies before the address. */
	bool code = vector == 8 || (vector >= 10 && vector <= 14) || vector == 17;

	for (;;)
		bare_signal(XVT_BARE_PANIC, vector << 56 | stack[code]);
}

static int repeat(int (*step)(void), uint32_t count)
{
	int err = 0, last;

	for (; count; count--) {
		last = step();
		if (last)
			err = last;
	}
	return err;
}

static int write_one(void)
{
	return event_write(XVT_BARE_TASK, 0);
}

/* Answer the host's clock questions, write its marks; leave when no more questions come. */
static int answer(uint32_t patience)
{
	uint32_t idle = 0;

	while (idle < patience && !xvt_load(&BARE_PAGE->stop)) {
		if (xvt_writer_answer(&event_writer) < 0)
			idle++;
		else
			idle = 0;
		xvt_writer_mark(&event_writer);
	}
	return 0;
}

static int write_pair(void)
{
	const struct xvt_kvm_pair pair = {
		.sec = (int64_t)BARE_PAGE->pair[0],
		.nsec = (int64_t)BARE_PAGE->pair[1],
		.tsc = BARE_PAGE->pair[2],
	};

	return xvt_clock_pair_put(&event_writer, &pair, BARE_PAGE->clock_hz);
}

static int carry_out(uint32_t command, uint32_t count)
{
	switch (command) {
	case XVT_BARE_START:
		return event_start();
	case XVT_BARE_EVENT:
		return repeat(write_one, count);
	case XVT_BARE_OPEN:
		return repeat(event_open, count);
	case XVT_BARE_CLOSE:
		return repeat(event_close, count);
	case XVT_BARE_ANSWER:
		return answer(count);
	case XVT_BARE_COST_CLOCK:
		BARE_PAGE->ticks = xvt_cost_of_clock(&event_writer, count);
		return 0;
	case XVT_BARE_COST_EVENT:
		BARE_PAGE->ticks = xvt_cost_of_event(&event_writer, count);
		return BARE_PAGE->ticks ? 0 : -ENOSPC;
	case XVT_BARE_PAIR:
		return write_pair();
	}
	return -EINVAL;
}

/* The task. The VMM writes the next command before it lets us go on from the doorbell. */
static void obey(void)
{
	int result = 0;

	for (;;) {
		bare_signal(XVT_BARE_DONE, (uint64_t)(int64_t)result);
		xvt_barrier();
		if (xvt_load(&BARE_PAGE->command) == XVT_BARE_USER)
			return;
		result = carry_out(BARE_PAGE->command, BARE_PAGE->count);
	}
}

static void user_main(void)
{
	for (;;)
		obey(); /* to go to ring 3 from ring 3 is done already */
}

void bare_main(void)
{
	cpu_init();
	obey();
	cpu_enter_user(user_main);
}
