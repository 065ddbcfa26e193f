// SPDX-License-Identifier: GPL-2.0
/*
 * inject.c - see inject.h. A run is: the task's event up to instruction k, an interrupt there
 * (and an NMI after j instructions of that), then everything to its end, one more event, and
 * the check. What lies before k is not run again for each j: the machine is put back.
 *
 * An interrupted event may go on by another path (it begins anew, or takes the time again). So
 * after each interrupt the event is followed to its end, and interrupted once more at each
 * instruction where nothing was interrupted yet.
 */
#include "inject.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "oracle.h"

#define STORIES_MAX 5
#define FRESH_NS    500000000 /* 2^32 ticks of any CPU are longer */

struct inject {
	const struct scenario *s;
	const struct inject_options *options;
	struct inject_counts *n;
	struct xvt_microvm *vm;
	struct xvt_microvm_state *blank;   /* before the scene was set */
	struct xvt_microvm_state *task;	   /* before instruction k of the task */
	struct xvt_microvm_state *handler; /* before instruction j of the interrupt */
	struct xvt_microvm_state *later;   /* on the way after an interrupt */
	bool walked;			   /* an interrupt's event was followed after each NMI */
	uint64_t task_rip, handler_rip;	   /* 0 = not interrupted there */
	uint64_t k, j;
	uint64_t lost[XVT_LOST_CAUSES]; /* in the last run */
	uint64_t commit;		/* as a host saw it last */
	uint64_t set_ns;		/* when the scene was set */
	unsigned int told;
};

static bool wrong(struct inject *in, const char *why)
{
	in->n->wrong++;
	if (in->told++ < STORIES_MAX) {
		fprintf(in->options->story, "%s: after %" PRIu64 " instructions, at %#" PRIx64,
			in->s->name, in->k, in->task_rip);
		if (in->handler_rip)
			fprintf(in->options->story,
				", and after %" PRIu64 " of the interrupt, at %#" PRIx64, in->j,
				in->handler_rip);
		fprintf(in->options->story, ": %s\n", why);
	}
	return false;
}

static bool died(struct inject *in)
{
	char why[256];

	snprintf(why, sizeof(why), "the guest died: %s", xvt_microvm_why(in->vm));
	return wrong(in, why);
}

static bool losses_as_expected(struct inject *in, const struct oracle_counts *found)
{
	char why[128];
	int i;

	for (i = 0; i < (int)XVT_LOST_CAUSES; i++) {
		bool some = found->lost[i];

		in->lost[i] = found->lost[i];
		/* A storm's writer may give up, or not yet. */
		if (some == (i == in->s->lost) || (i == XVT_LOST_RETRY && i == in->s->lost))
			continue;
		snprintf(why, sizeof(why), "%" PRIu64 " lost by cause %d", found->lost[i], i);
		return wrong(in, why);
	}
	return true;
}

static bool check(struct inject *in, struct oracle_counts *found)
{
	char text[256];

	return oracle_check(in->options->region, SCENE_REGION_SIZE, xvt_microvm_page(in->vm), 0,
			    found, text, sizeof(text)) ||
	       wrong(in, text);
}

/* The task's event has ended: check; one event more, and check again. */
static bool judge(struct inject *in)
{
	struct oracle_counts found;

	in->n->runs++;
	if (!in->s->open && !in->s->hold && !check(in, &found))
		return false;
	if (!scene_end(in->vm, in->s, in->options->region))
		return wrong(in, "the next event failed");
	if (!check(in, &found))
		return false;
	in->n->events += found.records;
	in->n->exact += found.exact;
	return losses_as_expected(in, &found);
}

/* Let everything end, then judge. Nothing is interrupted any more, so it may go the fast way. */
static bool finish(struct inject *in)
{
	struct xvt_microvm_exit why;

	xvt_microvm_page(in->vm)->quiet = 1;
	if (xvt_microvm_to_user(in->vm))
		return died(in);
	do {
		if (xvt_microvm_go(in->vm, &why))
			return died(in);
	} while (why.signal == XVT_BARE_KICK);
	if (why.signal != XVT_BARE_DONE)
		return wrong(in, "an interrupt that was not asked for");
	return judge(in);
}

/* Run into the handler; the interrupt must have been taken exactly here. */
static bool deliver(struct inject *in, uint32_t signal, uint64_t rip)
{
	struct xvt_microvm_exit why;

	if (xvt_microvm_go(in->vm, &why))
		return died(in);
	if (why.signal != signal || why.value != rip)
		return wrong(in, "the interrupt was taken somewhere else");
	return true;
}

static void mark(uint8_t *where, uint64_t rip)
{
	if (rip - XVT_BARE_IMAGE < INJECT_SPAN)
		where[rip - XVT_BARE_IMAGE] = 1;
}

static bool wanted(const struct inject *in, uint64_t rip)
{
	return rip - XVT_BARE_IMAGE < INJECT_SPAN && in->options->wanted[rip - XVT_BARE_IMAGE];
}

/* Wanted, and nothing of that kind came there yet. */
static bool missing(const struct inject *in, const uint8_t *where, uint64_t rip)
{
	return wanted(in, rip) && !where[rip - XVT_BARE_IMAGE];
}

/* Interrupt here and run into the handler. *taken: false when the CPU takes none. */
static bool interrupt(struct inject *in, bool nmi, uint64_t rip, bool *taken)
{
	int err = nmi ? xvt_microvm_nmi(in->vm) : xvt_microvm_irq(in->vm, XVT_BARE_IRQ_VECTOR);

	*taken = !err;
	if (err == -EBUSY) {
		in->n->closed++;
		return true;
	}
	if (err)
		return wrong(in, "KVM refused the interrupt");
	return deliver(in, nmi ? XVT_BARE_NMI : XVT_BARE_IRQ, rip);
}

/* The guest too says that it was interrupted here, and wrote an event of it. */
static bool logged(struct inject *in, uint32_t context, uint64_t rip)
{
	const struct xvt_bare_page *page = xvt_microvm_page(in->vm);
	uint64_t i;

	for (i = 0; i < page->log_count && i < XVT_BARE_LOG_MAX; i++) {
		if (page->log[i].context == context && page->log[i].rip == rip)
			return true;
	}
	return wrong(in, "the handler wrote no event");
}

/* Interrupt here, let everything end, judge. */
static bool try(struct inject *in, bool nmi, uint64_t rip, uint64_t *count, uint8_t *where)
{
	bool taken;

	if (!interrupt(in, nmi, rip, &taken))
		return false;
	if (!taken)
		return true;
	++*count;
	mark(where, rip);
	return finish(in) && logged(in, nmi ? XVT_BARE_IN_NMI : XVT_BARE_IN_IRQ, rip);
}

/* Back to `state`. */
static bool go_back(struct inject *in, const struct xvt_microvm_state *state)
{
	in->commit = 0; /* what was seen meanwhile has not happened */
	return !xvt_microvm_restore(in->vm, state) || wrong(in, "cannot go back");
}

/* The same, and back to `state`, which is the machine before it. */
static bool try_and_return(struct inject *in, bool nmi, uint64_t rip, uint64_t *count,
			   uint8_t *where, const struct xvt_microvm_state *state)
{
	bool ok = try(in, nmi, rip, count, where);

	return go_back(in, state) && ok;
}

/* In some scenarios a host looks after every instruction. */
static bool peek(struct inject *in)
{
	char text[256];

	if (!in->s->thorough || in->s->enable != XVT_ENABLE_STOP)
		return true;
	in->n->looks++;
	return oracle_peek(in->options->region, SCENE_REGION_SIZE, xvt_microvm_page(in->vm),
			   &in->commit, text, sizeof(text)) ||
	       wrong(in, text);
}

/* One instruction; *done when the task rang the doorbell at its end. */
static bool step(struct inject *in, bool *done)
{
	struct xvt_microvm_exit why;

	if (xvt_microvm_step(in->vm, &why))
		return died(in);
	*done = !why.stepped && why.signal == XVT_BARE_DONE;
	return peek(in);
}

/* A handler has begun, in which nothing interrupts: let it end, and step out of it. */
static bool leave_handler(struct inject *in)
{
	static const uint8_t iretq[] = { 0x48, 0xcf };
	struct xvt_microvm_exit why;
	bool done, left, interrupts_on;

	do {
		if (xvt_microvm_go(in->vm, &why))
			return died(in);
	} while (why.signal == XVT_BARE_KICK);
	if (why.signal != XVT_BARE_LEAVE)
		return wrong(in, "the handler does not leave");
	do {
		uint64_t rip = xvt_microvm_rip(in->vm, &interrupts_on);

		if (rip > XVT_BARE_RAM_SIZE - sizeof(iretq))
			return wrong(in, "the guest is lost");
		left = !memcmp(xvt_microvm_memory(in->vm) + rip, iretq, sizeof(iretq));
		if (!step(in, &done))
			return false;
	} while (!left);
	return true;
}

/*
 * Follow the task, or with `nmi_only` an interrupt's handler, to its end; interrupt it where
 * nothing was interrupted yet; and judge.
 */
static bool follow(struct inject *in, bool nmi_only)
{
	bool ok = true, done = false, interrupts_on;
	uint8_t *nmi_at = nmi_only ? in->n->pair_at : in->n->nmi_at;
	uint64_t *nmis = nmi_only ? &in->n->pairs : &in->n->nmis;

	while (!done) {
		uint64_t rip = xvt_microvm_rip(in->vm, &interrupts_on);
		bool irq = !nmi_only && missing(in, in->n->irq_at, rip);
		bool nmi = missing(in, nmi_at, rip);

		if (nmi_only && interrupts_on)
			break;
		if ((irq || nmi) && xvt_microvm_save(in->vm, &in->later))
			return wrong(in, "cannot save");
		if (irq)
			ok &= try_and_return(in, false, rip, &in->n->irqs, in->n->irq_at,
					     in->later);
		if (nmi)
			ok &= try_and_return(in, true, rip, nmis, nmi_at, in->later);
		if (!step(in, &done))
			return false;
	}
	return (nmi_only ? finish(in) : judge(in)) && ok;
}

/* An NMI here in the handler; then the handler to its end, interrupted where it is new. */
static bool follow_nmi(struct inject *in, bool host_then)
{
	bool taken;

	if (!interrupt(in, true, in->handler_rip, &taken) || !taken || !leave_handler(in))
		return false;
	if (host_then)
		scene_host_acts(in->s, in->options->region);
	return follow(in, true);
}

/* In the handler: the host alone, before an NMI, after one. */
static bool handler_and_host(struct inject *in)
{
	bool ok;

	scene_host_acts(in->s, in->options->region);
	ok = follow(in, true) && go_back(in, in->handler);
	scene_host_acts(in->s, in->options->region);
	ok = ok && follow_nmi(in, false) && go_back(in, in->handler);
	return ok && follow_nmi(in, true) && go_back(in, in->handler);
}

/* One instruction of an interrupt's handler. */
static bool one_of_handler(struct inject *in, bool first)
{
	bool ok = true;

	if (!wanted(in, in->handler_rip))
		return true;
	if (!in->options->all && !first && !missing(in, in->n->pair_at, in->handler_rip))
		return true;
	if (xvt_microvm_save(in->vm, &in->handler))
		return wrong(in, "cannot save");
	if (in->options->all || missing(in, in->n->pair_at, in->handler_rip))
		ok &= try_and_return(in, true, in->handler_rip, &in->n->pairs, in->n->pair_at,
				     in->handler);
	if (first)
		ok &= follow_nmi(in, false) && go_back(in, in->handler);
	if (first && in->s->host != SCENE_HOST_QUIET)
		ok &= handler_and_host(in);
	return ok;
}

/* The handler has begun: an NMI after each j of its instructions, up to its return. */
static bool walk_handler(struct inject *in)
{
	bool ok = true, done, interrupts_on,
	     first = !in->walked && (in->options->all || in->s->thorough);

	in->walked = true;
	for (in->j = 0;; in->j++) {
		in->handler_rip = xvt_microvm_rip(in->vm, &interrupts_on);
		if (interrupts_on) /* it has returned */
			break;
		ok &= one_of_handler(in, first);
		if (!step(in, &done))
			return false;
	}
	in->handler_rip = 0;
	return ok;
}

static bool try_irq(struct inject *in)
{
	return try(in, false, in->task_rip, &in->n->irqs, in->n->irq_at);
}

static bool try_nmi(struct inject *in)
{
	if (!in->options->all && !missing(in, in->n->nmi_at, in->task_rip))
		return true;
	return try(in, true, in->task_rip, &in->n->nmis, in->n->nmi_at);
}

static bool try_host(struct inject *in)
{
	if (in->s->host == SCENE_HOST_QUIET)
		return true;
	scene_host_acts(in->s, in->options->region);
	in->n->host++;
	return finish(in);
}

/* Ways on are followed from here too. */
static bool worth_following(const struct inject *in)
{
	return in->options->all || in->s->thorough || in->k % in->options->stride == 0;
}

/* An interrupt here, walked through; and then the task to its end. */
static bool try_walk(struct inject *in)
{
	bool taken;

	if (!worth_following(in))
		return true;
	if (!interrupt(in, false, in->task_rip, &taken))
		return false;
	if (!taken)
		return true;
	if (in->options->all || in->k % in->options->stride == 0 || !in->walked)
		return walk_handler(in) && follow(in, false);
	return leave_handler(in) && follow(in, false);
}

static bool try_follow_host(struct inject *in)
{
	if (in->s->host == SCENE_HOST_QUIET || !worth_following(in))
		return true;
	scene_host_acts(in->s, in->options->region);
	return follow(in, false);
}

/* Both at once: the interrupt's event knows already what the task's does not. */
static bool try_host_and_irq(struct inject *in)
{
	bool taken;

	if (in->s->host == SCENE_HOST_QUIET || !worth_following(in))
		return true;
	scene_host_acts(in->s, in->options->region);
	if (!interrupt(in, false, in->task_rip, &taken) || !taken)
		return false;
	in->n->irqs++;
	in->n->host++;
	return leave_handler(in) && follow(in, false);
}

/* One after the other: what the interrupt made of the task's event meets a new state. */
static bool try_irq_then_host(struct inject *in)
{
	bool taken;

	if (in->s->host == SCENE_HOST_QUIET || !worth_following(in))
		return true;
	if (!interrupt(in, false, in->task_rip, &taken) || !taken || !leave_handler(in))
		return false;
	in->n->irqs++;
	in->n->host++;
	scene_host_acts(in->s, in->options->region);
	return follow(in, false);
}

/* Everything that can happen before the task's next instruction. */
static bool one_boundary(struct inject *in)
{
	static bool (*const tries[])(
		struct inject *) = { try_irq,	      try_nmi,		try_host,	  try_walk,
				     try_follow_host, try_host_and_irq, try_irq_then_host };
	bool ok = true;
	size_t i;

	if (xvt_microvm_save(in->vm, &in->task))
		return wrong(in, "cannot save");
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		ok &= tries[i](in);
		if (!go_back(in, in->task))
			return false;
	}
	return ok;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool set(struct inject *in)
{
	in->set_ns = now_ns();
	return scene_set(in->vm, in->s, in->options->region) || wrong(in, "cannot set the scene");
}

static bool begin(struct inject *in)
{
	struct xvt_microvm_config config = {
		.image = in->options->image,
		.image_size = in->options->image_size,
		.region = in->options->region,
		.region_size = SCENE_REGION_SIZE,
	};

	if (xvt_microvm_new(&in->vm, &config) || xvt_microvm_take_control(in->vm))
		return wrong(in, "cannot make the machine");
	return !xvt_microvm_save(in->vm, &in->blank) ? set(in) : wrong(in, "cannot save");
}

/*
 * By the CPU's counter a scene grows old, for going back does not turn back the time: then every
 * event would carry a full stamp, as in `gap`. So set it anew. *done as step().
 */
static bool renew(struct inject *in, bool *done)
{
	uint64_t i;

	if (!in->s->real_clock || now_ns() - in->set_ns < FRESH_NS)
		return true;
	if (!go_back(in, in->blank) || !set(in))
		return false;
	for (i = 0; i < in->k && !*done; i++) {
		if (!step(in, done))
			return false;
	}
	return true;
}

static void end(struct inject *in)
{
	xvt_microvm_state_free(in->blank);
	xvt_microvm_state_free(in->task);
	xvt_microvm_state_free(in->handler);
	xvt_microvm_state_free(in->later);
	xvt_microvm_free(in->vm);
}

bool inject_scenario(const struct scenario *s, const struct inject_options *options,
		     struct inject_counts *n)
{
	struct inject in = { .s = s, .options = options, .n = n };
	bool ok = begin(&in), done = false, interrupts_on;

	for (in.k = 0; ok && !done && in.told < STORIES_MAX; in.k++) {
		ok = renew(&in, &done);
		if (!ok || done)
			break;
		in.task_rip = xvt_microvm_rip(in.vm, &interrupts_on);
		if (wanted(&in, in.task_rip))
			one_boundary(&in);
		ok = step(&in, &done);
	}
	end(&in);
	return ok && !in.told;
}

static uint64_t retries_of(const struct inject *in)
{
	return oracle_retries(in->options->region, SCENE_REGION_SIZE);
}

/* What a storm is made of, once, here. An interrupt has then returned. */
static bool gust(struct inject *in)
{
	bool taken;

	if (in->s->host != SCENE_HOST_QUIET) {
		scene_host_acts(in->s, in->options->region);
		in->n->host++;
		return true;
	}
	in->n->irqs += !in->s->in_irq;
	in->n->pairs += in->s->in_irq;
	return interrupt(in, in->s->in_irq, in->task_rip, &taken) && taken && leave_handler(in);
}

enum verdict { UNKNOWN, HARMLESS, HURTS };

/* Does a gust here make the reservation begin anew? Sees how the whole event ends. */
static bool probe(struct inject *in, uint8_t *verdict)
{
	uint64_t before = retries_of(in);

	if (xvt_microvm_save(in->vm, &in->task) || !gust(in) || !finish(in))
		return wrong(in, "cannot try");
	*verdict = retries_of(in) != before ? HURTS : HARMLESS;
	return go_back(in, in->task);
}

/*
 * In a storm every instruction is tried once, also those that only giving up leads to. One gust
 * makes it begin anew; the next waits for that (*answered: retries when the last one came).
 */
static bool storm_boundary(struct inject *in, uint8_t *verdict, uint64_t *answered)
{
	uint8_t *nmi_at = in->s->in_irq ? in->n->pair_at : in->n->nmi_at;
	uint64_t *nmis = in->s->in_irq ? &in->n->pairs : &in->n->nmis;
	bool irq = !in->s->in_irq && missing(in, in->n->irq_at, in->task_rip);
	bool nmi = missing(in, nmi_at, in->task_rip), ok = true;

	if ((irq || nmi) && xvt_microvm_save(in->vm, &in->later))
		return wrong(in, "cannot save");
	if (irq)
		ok &= try_and_return(in, false, in->task_rip, &in->n->irqs, in->n->irq_at,
				     in->later);
	if (nmi)
		ok &= try_and_return(in, true, in->task_rip, nmis, nmi_at, in->later);
	if (ok && *verdict == UNKNOWN)
		ok = probe(in, verdict);
	if (ok && *verdict == HURTS && *answered != retries_of(in)) {
		*answered = retries_of(in);
		ok = gust(in);
	}
	return ok;
}

/* To where the storm is: the task's event, or the event of an interrupt at its first instruction.
 */
static bool enter_storm(struct inject *in)
{
	bool done = false, taken, interrupts_on;

	if (!in->s->in_irq)
		return true;
	while (!wanted(in, in->task_rip)) {
		if (done || !step(in, &done))
			return wrong(in, "cannot enter the storm");
		in->task_rip = xvt_microvm_rip(in->vm, &interrupts_on);
	}
	return interrupt(in, false, in->task_rip, &taken) && taken;
}

bool inject_storm(const struct scenario *s, const struct inject_options *options,
		  struct inject_counts *n, bool *gave_up)
{
	struct inject in = { .s = s, .options = options, .n = n };
	uint8_t *verdicts = calloc(1, INJECT_SPAN);
	bool ok = verdicts && begin(&in) && enter_storm(&in), done = false, interrupts_on;
	uint64_t answered = UINT64_MAX;

	*gave_up = false;
	for (in.k = 0; ok && !done; in.k++) {
		in.task_rip = xvt_microvm_rip(in.vm, &interrupts_on);
		if (wanted(&in, in.task_rip) && s->in_irq != interrupts_on)
			ok = storm_boundary(&in, &verdicts[in.task_rip - XVT_BARE_IMAGE],
					    &answered);
		ok = ok && step(&in, &done);
	}
	if (ok) {
		ok = judge(&in);
		*gave_up = in.lost[XVT_LOST_RETRY];
	}
	end(&in);
	free(verdicts);
	return ok;
}
