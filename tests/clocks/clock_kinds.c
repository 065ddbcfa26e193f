// SPDX-License-Identifier: GPL-2.0
#include "clock_kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "xvt_abi.h"

#define EXACT 1.0 /* a claim that is true */

/* What the dice gave, for the log. */
static void note(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct plan *p, const char *format, ...)
{
	const size_t used = strlen(p->note);
	va_list args;

	va_start(args, format);
	vsnprintf(p->note + used, sizeof(p->note) - used, format, args);
	va_end(args);
}

/* A moment at which the recorder has measured every ring, with `room` seconds behind it. */
static double moment(const struct plan *p, struct random *r, double room)
{
	return random_between(r, 1, p->seconds - 0.3 - room);
}

static void step(struct plan *p, double at, double by)
{
	clock_step(&p->clock[0], at, by);
	note(p, "%+.4f ms at %.3f; ", by * 1e3, at);
}

static void stop(struct plan *p, double at, double for_s)
{
	clock_stop(&p->clock[0], at, for_s);
	note(p, "stop of %.3f ms at %.3f; ", for_s * 1e3, at);
}

static void tsc(struct plan *p)
{
	p->clock_id[0] = p->clock_id[1] = XVT_CLOCK_TSC;
}

static void caller(struct plan *p)
{
	p->clock_id[0] = p->clock_id[1] = XVT_CLOCK_CALLER;
}

/* -- rates -------------------------------------------------------------------------- */

static void make_const(struct plan *p, struct random *r)
{
	(void)p, (void)r;
}

static void make_lin(struct plan *p, struct random *r)
{
	const double ppm = random_sign(r) * random_size(r, 1, 5000);

	clock_rate(&p->clock[0], 0, 1 + ppm * 1e-6);
	note(p, "%+.1f ppm", ppm);
}

/* Rate amplitude and period of a sine, in pieces. */
static void sine(struct plan *p, struct random *r, double amplitude, double period)
{
	const double phase = random_between(r, 0, 2 * M_PI);
	const double piece = fmax(period / 200, 1e-3);

	for (double t = 0; t < p->seconds + 2; t += piece)
		clock_rate(&p->clock[0], t,
			   1 + amplitude * sin(2 * M_PI * (t + piece / 2) / period + phase));
	note(p, "%.3f ppm in %.2f s", amplitude * 1e6, period);
}

/* Slow enough that a measurement every two seconds sees it within a microsecond. */
static void make_sine(struct plan *p, struct random *r)
{
	const double period = random_between(r, 5, 60);

	sine(p, r, random_size(r, 1e-8, 3e-7) * period, period);
}

static void make_wobble(struct plan *p, struct random *r)
{
	sine(p, r, random_size(r, 1e-5, 5e-3), random_size(r, 0.05, 2));
}

/* The rate changes by dice each millisecond. */
static void walk(struct plan *p, struct random *r, double size)
{
	double rate = 0;

	for (double t = 0; t < p->seconds + 2; t += 1e-3) {
		clock_rate(&p->clock[0], t, 1 + rate);
		rate = rate * 0.999 + size * random_between(r, -1, 1);
	}
	p->claim = EXACT;
	note(p, "walk of %.3f ppm a ms", size * 1e6);
}

static void make_rw(struct plan *p, struct random *r)
{
	walk(p, r, random_size(r, 1e-9, 4e-8));
}

static void make_rwfast(struct plan *p, struct random *r)
{
	walk(p, r, random_size(r, 4e-8, 3e-4));
}

/* As NTP steers: rates on one side of the claim. */
static void make_ntp(struct plan *p, struct random *r)
{
	const double sign = random_sign(r);

	for (int n = random_count(r, 1, 4); n; n--) {
		double at = random_between(r, 0.3, p->seconds), rate = random_size(r, 1e-6, 5e-4);

		clock_rate(&p->clock[0], at, 1 + sign * rate);
		note(p, "%+.1f ppm at %.3f; ", sign * rate * 1e6, at);
	}
	p->claim = EXACT;
}

static void make_gear(struct plan *p, struct random *r)
{
	const double rate = random_sign(r) * random_size(r, 5e-4, 5e-3), at = moment(p, r, 0.5);

	clock_rate(&p->clock[0], at, 1 + rate);
	p->claim = EXACT;
	note(p, "%+.0f ppm from %.3f", rate * 1e6, at);
}

static void make_lowhz(struct plan *p, struct random *r)
{
	p->clock[0].hz = random_size(r, 1e6, 3e9);
	clock_rate(&p->clock[0], 0, 1 + random_sign(r) * random_size(r, 1, 200) * 1e-6);
	caller(p);
	note(p, "%.0f Hz", p->clock[0].hz);
}

static void make_scaled(struct plan *p, struct random *r)
{
	p->clock[0].hz *=
		random_coin(r) ? random_between(r, 1.05, 3) : random_between(r, 0.2, 0.95);
	p->claim = random_coin(r) ? EXACT : 0;
	tsc(p);
	note(p, "TSC of %.0f Hz", p->clock[0].hz);
}

static void make_claim2(struct plan *p, struct random *r)
{
	p->claim = 1 + random_sign(r) * random_between(r, 0.01, 0.03);
	p->clock[0].hz *= random_coin(r) ? 1 : random_size(r, 0.02, 1);
	note(p, "%.0f Hz, claim %.3f of it", p->clock[0].hz, p->claim);
}

/* The claim is believed, and against it the clock gains all the time and loses at once. */
static void make_claimstop(struct plan *p, struct random *r)
{
	p->claim = 1 - random_between(r, 0.003, 0.03);
	note(p, "claim %.3f of the rate; ", p->claim);
	stop(p, moment(p, r, 0.4), random_size(r, 1e-3, 0.3));
}

static void make_claim3x(struct plan *p, struct random *r)
{
	p->claim = random_coin(r) ? random_between(r, 2, 4) : 1 / random_between(r, 2, 4);
	note(p, "claim %.3f of the rate", p->claim);
}

/* A clock of its own for each second ring. */
static void make_two(struct plan *p, struct random *r)
{
	p->two = true;
	p->rings = 2 * random_count(r, 1, 3);
	p->clock[1].hz *= random_coin(r) ? random_size(r, 0.3, 3) : random_between(r, 0.95, 1.05);
	for (int i = 0; i < 2; i++)
		clock_rate(&p->clock[i], 0, 1 + random_sign(r) * random_size(r, 1, 3000) * 1e-6);
	note(p, "%.0f and %.0f Hz", p->clock[0].hz, p->clock[1].hz);
}

/* Rings by the TSC, and rings by a clock of nanoseconds. */
static void make_twons(struct plan *p, struct random *r)
{
	p->two = true;
	p->rings = 2 * random_count(r, 1, 3);
	p->clock_id[0] = XVT_CLOCK_TSC;
	p->clock_id[1] = XVT_CLOCK_CALLER;
	p->clock[1].hz = 1e9;
	p->claim = random_coin(r) ? EXACT : 0;
	note(p, "TSC and ns");
}

/* -- small steps -------------------------------------------------------------------- */

/*
 * As QEMU's TCG with a thread for each vCPU: many small gains, a_s in each second, of a TSC of the
 * host's rate. Against the rate of another counter, as measured, it would also lose.
 */
static void gains(struct plan *p, struct random *r, double a_s)
{
	const int count = random_count(r, 50, 1500);

	for (int i = 0; i < count; i++)
		clock_step(&p->clock[0], random_between(r, 0, p->seconds),
			   a_s * p->seconds / count * random_between(r, 0, 2));
	tsc(p);
	note(p, "gains %.1f us/s by %d; ", a_s * 1e6, count);
}

static void make_creep(struct plan *p, struct random *r)
{
	gains(p, r, random_size(r, 1e-6, 2.5e-3));
}

static void make_slow(struct plan *p, struct random *r)
{
	gains(p, r, random_size(r, 1e-6, 2.5e-3));
	p->answer_s = random_size(r, 5e-3, 60e-3);
	p->stay_s = 0;
}

/* Stops that begin an epoch. */
static void make_tcg(struct plan *p, struct random *r)
{
	gains(p, r, random_size(r, 1e-5, 2.5e-3));
	for (int n = random_count(r, 0, 3); n; n--)
		stop(p, random_between(r, 0.5, p->seconds), random_size(r, 0.04, 0.5));
}

/* Stops that do not: the clock gains and loses between two measurements. */
static void make_tcgshort(struct plan *p, struct random *r)
{
	gains(p, r, random_size(r, 1e-5, 2.5e-3));
	for (int n = random_count(r, 1, 3); n; n--)
		stop(p, random_between(r, 0.5, p->seconds), random_size(r, 2e-4, 0.02));
}

static void make_lazygain(struct plan *p, struct random *r)
{
	gains(p, r, random_size(r, 1e-5, 1e-3));
	p->stay_s = 0;
	p->answer = ANSWER_LATE;
	p->answer_delay_s = random_size(r, 1e-4, 5e-3);
}

/* KVM that cannot scale a TSC: the host's rate, and set forward at exits. */
static void saw(struct plan *p, struct random *r)
{
	const double period = random_size(r, 1e-3, 0.1), part = random_size(r, 1e-4, 0.3);

	for (double t = period; t < p->seconds + 1; t += period)
		clock_step(&p->clock[0], t, period * part);
	p->claim = random_coin(r) ? 1 + part : 0;
	note(p, "set forward each %.2f ms by %.1f us", period * 1e3, period * part * 1e6);
}

static void make_saw(struct plan *p, struct random *r)
{
	saw(p, r);
	tsc(p);
}

static void make_sawcaller(struct plan *p, struct random *r)
{
	saw(p, r);
	caller(p);
}

static void make_sawback(struct plan *p, struct random *r)
{
	const double period = random_size(r, 1e-3, 0.1), part = random_size(r, 1e-5, 2e-2);

	clock_rate(&p->clock[0], 0, 1 + part);
	for (double t = period; t < p->seconds + 1; t += period)
		clock_step(&p->clock[0], t, -period * part);
	note(p, "set back each %.2f ms by %.1f us", period * 1e3, period * part * 1e6);
}

/* Part of the time that the clock loses, or that a claim is off by: more than a measurement of the
 * usual kind leaves open, and as much as is plausible. */
static double part_off(struct random *r)
{
	return random_size(r, 1.0 / 31, 0.3);
}

/* Answers that last so long that no measurement shows a rate. */
static void wide(struct plan *p, double answer_s)
{
	p->answer = ANSWER_LATE;
	p->answer_delay_s = answer_s;
	note(p, "answers last %.1f us; ", p->answer_delay_s * 1e6);
}

/* The claim is what the clock counts at between two setbacks, and no gap shows that. */
static void make_setback(struct plan *p, struct random *r)
{
	const double part = part_off(r), period = random_size(r, 2e-5, 0.02);

	wide(p, random_size(r, 3e-4, 5e-3));
	for (double t = period * random_between(r, 0, 1); t < p->seconds + 1; t += period)
		clock_step(&p->clock[0], t, -period * part);
	p->claim = EXACT;
	caller(p);
	note(p, "set back each %.3f ms by %.1f us", period * 1e3, period * part * 1e6);
}

/* The same by stops, as of a machine with a quota of CPU. It answers when it gets its CPU again, so
 * each gap between two measurements has as much of a stop as any other. */
static void make_instep(struct plan *p, struct random *r)
{
	const double part = part_off(r), period = random_size(r, 5e-3, 0.1);

	wide(p, random_size(r, 3e-4, 1e-3));
	for (double t = period; t < p->seconds + 1; t += period)
		clock_stop(&p->clock[0], t - period * part, period * part);
	p->claim = EXACT;
	p->answer_s = period;
	p->in_step = true;
	caller(p);
	note(p, "stands for %.3f of each %.3f ms", part, period * 1e3);
}

/* A claim that is false, and no measurement shows that. */
static void make_claimwide(struct plan *p, struct random *r)
{
	wide(p, random_size(r, 3e-4, 5e-3));
	p->claim = 1 + random_sign(r) * part_off(r);
	caller(p);
	note(p, "claim %.3f of the rate; ", p->claim);
	for (int n = random_count(r, 0, 2); n; n--)
		stop(p, moment(p, r, 0.4), random_size(r, 0.03, 0.3));
}

static void make_ticks(struct plan *p, struct random *r)
{
	p->clock[0].quantum = (uint64_t)(random_size(r, 5e-8, 1.8e-6) * p->clock[0].hz);
	caller(p);
	note(p, "ticks of %.2f us", (double)p->clock[0].quantum / p->clock[0].hz * 1e6);
}

static void make_quantum(struct plan *p, struct random *r)
{
	p->clock[0].quantum = (uint64_t)(random_size(r, 2.2e-6, 10e-3) * p->clock[0].hz);
	caller(p);
	note(p, "ticks of %.2f us", (double)p->clock[0].quantum / p->clock[0].hz * 1e6);
}

static void make_wrap(struct plan *p, struct random *r)
{
	const int bits = random_coin(r) ? 32 : 24;

	p->clock[0].hz = random_size(r, 1e6, 1e9);
	p->clock[0].mask = (1ull << bits) - 1;
	caller(p);
	note(p, "%d bits of %.0f Hz", bits, p->clock[0].hz);
}

/* -- jumps -------------------------------------------------------------------------- */

static void make_jump(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 5); n; n--)
		step(p, random_between(r, 0.7, p->seconds), random_size(r, 1e-6, 1));
}

static void make_jumpmany(struct plan *p, struct random *r)
{
	const double from = moment(p, r, 1), size = random_size(r, 5e-3, 0.1);

	for (int n = random_count(r, 3, 30); n; n--)
		step(p, from + random_between(r, 0, 1), size * random_between(r, 0.8, 1.2));
}

static void make_leap(struct plan *p, struct random *r)
{
	step(p, moment(p, r, 0), 3600);
}

/* In all less than what an epoch needs. */
static void make_backsmall(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 3); n; n--)
		step(p, moment(p, r, 0), -random_size(r, 1e-6, 5e-3));
}

static void make_backfar(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 3); n; n--)
		step(p, moment(p, r, 0), -random_size(r, 5e-3, 1));
}

static void make_there(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 4); n; n--) {
		double at = random_between(r, 0.7, p->seconds);
		double by = random_sign(r) * random_size(r, 1e-6, 0.5);

		step(p, at, by);
		step(p, at + random_size(r, 1e-4, 1), -by);
	}
}

static void make_backforth(struct plan *p, struct random *r)
{
	const double at = moment(p, r, 0.5), by = random_size(r, 1e-5, 5e-3);

	step(p, at, -by);
	step(p, at + random_size(r, 1e-3, 0.5), by * random_between(r, 2, 10));
}

static void make_restored(struct plan *p, struct random *r)
{
	const double at = moment(p, r, 0.4), for_s = random_between(r, 0.05, 0.3);

	stop(p, at, for_s);
	step(p, at + for_s / 2, -random_between(r, 0.1, 2));
}

static void make_driftstep(struct plan *p, struct random *r)
{
	const double ppm = random_size(r, 1, 200);

	clock_rate(&p->clock[0], 0, 1 + ppm * 1e-6);
	p->claim = EXACT;
	note(p, "%+.1f ppm; ", ppm);
	step(p, moment(p, r, 0), random_size(r, 1e-5, 0.2));
}

/* -- stops -------------------------------------------------------------------------- */

static void make_freeze(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 5); n; n--)
		stop(p, random_between(r, 0.7, p->seconds), random_size(r, 1e-4, 1));
}

static void make_stops(struct plan *p, struct random *r)
{
	p->answer_s = random_size(r, 5e-3, 60e-3);
	p->stay_s = 0;
	for (int n = random_count(r, 1, 12); n; n--)
		stop(p, random_between(r, 0.5, p->seconds), random_size(r, 2e-4, 15e-3));
}

/* So many stops, one close behind the other. */
static void close_stops(struct plan *p, struct random *r, int count)
{
	double at = moment(p, r, 1);

	while (count--) {
		double for_s = random_size(r, 5e-3, 0.3);

		stop(p, at, for_s);
		at += for_s + random_size(r, 1e-3, 0.1);
	}
}

static void make_stops2(struct plan *p, struct random *r)
{
	close_stops(p, r, 2);
}

static void make_stops3(struct plan *p, struct random *r)
{
	close_stops(p, r, 3);
}

/* What is left of the stop is enough for an epoch. */
static void make_stopstep(struct plan *p, struct random *r)
{
	const double at = moment(p, r, 0.5), for_s = random_size(r, 0.06, 0.3);

	stop(p, at, for_s);
	step(p, at + for_s + random_size(r, 1e-4, 0.05), random_size(r, 1e-3, 0.015));
}

/* As a clock that is moved, and moved back in part. */
static void make_stopback(struct plan *p, struct random *r)
{
	const double at = moment(p, r, 0.5), for_s = random_size(r, 1e-3, 0.1);

	stop(p, at, for_s);
	step(p, at + for_s + random_size(r, 1e-4, 0.05), for_s * random_between(r, 0.3, 3));
}

static void make_firststop(struct plan *p, struct random *r)
{
	stop(p, random_between(r, 0.05, 1), random_size(r, 0.01, 0.6));
	if (random_coin(r))
		p->clock[0].hz *= random_between(r, 0.05, 0.5);
}

static void make_longstop(struct plan *p, struct random *r)
{
	stop(p, random_between(r, 0.8, 1.8), 2);
}

static void make_tinystops(struct plan *p, struct random *r)
{
	double at = moment(p, r, 0.3);

	note(p, "tiny stops from %.3f", at);
	for (int n = random_count(r, 20, 200); n; n--) {
		double for_s = random_size(r, 2e-5, 5e-4);

		clock_stop(&p->clock[0], at, for_s);
		at += for_s + random_size(r, 5e-5, 2e-3);
	}
}

/* A real KVM: the TSC goes on while the machine is stopped. */
static void make_runson(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 4); n; n--)
		clock_halt(&p->clock[0], random_between(r, 0.7, p->seconds),
			   random_size(r, 1e-3, 0.6));
	tsc(p);
}

/* The clock stands with its machine and is set forward by that when the machine goes on. */
static void make_catchup(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 3); n; n--) {
		double at = moment(p, r, 0.4), for_s = random_size(r, 1e-3, 0.4);

		stop(p, at, for_s);
		step(p, at + for_s * 0.999, for_s);
	}
}

/* The same, a while later: until then its clock is behind. */
static void make_catchlate(struct plan *p, struct random *r)
{
	const double at = moment(p, r, 0.8), for_s = random_size(r, 1e-3, 0.3);

	stop(p, at, for_s);
	step(p, at + for_s + random_size(r, 1e-3, 0.5), for_s);
}

static void make_frozen(struct plan *p, struct random *r)
{
	for (int n = random_count(r, 1, 3); n; n--) {
		double at = random_between(r, 0.7, p->seconds), for_s = random_size(r, 1e-4, 0.3);

		clock_freeze(&p->clock[0], at, for_s);
		note(p, "%.2f ms at %.3f; ", for_s * 1e3, at);
	}
}

static void answer_stops(struct plan *p, struct random *r, enum answer_kind kind)
{
	p->answer = kind;
	p->stop_for_s = random_size(r, 2e-3, 0.5);
	for (int i = 0; i < random_count(r, 1, 3); i++)
		p->stop_s[i] = moment(p, r, 0.5);
	note(p, "stops of %.1f ms", p->stop_for_s * 1e3);
}

static void make_askstop(struct plan *p, struct random *r)
{
	answer_stops(p, r, ANSWER_STOP_BEFORE);
}

static void make_saidstop(struct plan *p, struct random *r)
{
	answer_stops(p, r, ANSWER_STOP_AFTER);
}

/* -- answers ------------------------------------------------------------------------ */

static void make_stale(struct plan *p, struct random *r)
{
	p->answer = ANSWER_STALE;
	p->answer_delay_s = random_size(r, 1e-6, 1e-3);
	note(p, "%.1f us", p->answer_delay_s * 1e6);
}

static void make_wide(struct plan *p, struct random *r)
{
	p->answer = ANSWER_LATE;
	p->answer_delay_s = random_size(r, 1e-5, 5e-3);
	note(p, "answers last %.1f us; ", p->answer_delay_s * 1e6);
	if (random_coin(r))
		stop(p, moment(p, r, 0.4), random_size(r, 1e-4, 0.3));
}

static void make_lazy(struct plan *p, struct random *r)
{
	p->answer_s = 1;
	p->stay_s = 0;
	if (random_coin(r))
		gains(p, r, random_size(r, 1e-6, 1e-4));
}

static void make_deaf(struct plan *p, struct random *r)
{
	p->deaf_from = moment(p, r, 1.2);
	p->deaf_to = p->deaf_from + random_between(r, 0.1, 1.2);
	if (random_coin(r))
		gains(p, r, random_size(r, 1e-6, 1e-3));
}

static void make_deafjump(struct plan *p, struct random *r)
{
	make_deaf(p, r);
	step(p, random_between(r, p->deaf_from, p->deaf_to), random_size(r, 1e-3, 0.5));
}

static void make_deafstops(struct plan *p, struct random *r)
{
	p->deaf_from = moment(p, r, 1.2);
	p->deaf_to = p->deaf_from + random_between(r, 0.1, 1.2);
	for (int n = random_count(r, 1, 3); n; n--)
		stop(p, random_between(r, p->deaf_from, p->deaf_to), random_size(r, 1e-3, 0.2));
}

/* -- rings -------------------------------------------------------------------------- */

static void rest(struct plan *p, struct random *r, double sign)
{
	p->quiet_from = random_between(r, 0.8, 1.3);
	p->quiet_to = p->seconds - random_between(r, 0.5, 1);
	step(p, random_between(r, p->quiet_from + 0.2, p->quiet_to - 0.1),
	     sign * random_size(r, 1e-5, 0.5));
}

static void make_rest(struct plan *p, struct random *r)
{
	rest(p, r, 1);
}

static void make_restback(struct plan *p, struct random *r)
{
	rest(p, r, -1);
}

static void make_bursts(struct plan *p, struct random *r)
{
	p->burst_s = random_size(r, 1e-3, 0.05);
	p->silence_s = random_size(r, 0.05, 0.8);
	p->rate = 3000;
	if (random_coin(r))
		stop(p, moment(p, r, 0.4), random_size(r, 1e-3, 0.3));
}

static void make_dense(struct plan *p, struct random *r)
{
	p->rate = random_between(r, 1000, 3000);
	p->rings = 1;
	if (random_coin(r))
		step(p, moment(p, r, 0), random_size(r, 1e-5, 0.1));
}

static void make_many(struct plan *p, struct random *r)
{
	p->rings = random_count(r, 16, 64);
	p->rate = 20;
	if (random_coin(r))
		stop(p, moment(p, r, 0.4), random_size(r, 1e-3, 0.3));
}

static void make_late(struct plan *p, struct random *r)
{
	p->online = random_between(r, 0.5, 2);
	if (random_coin(r))
		stop(p, p->online + random_between(r, 0.02, 1), random_size(r, 1e-3, 0.3));
}

static void make_again(struct plan *p, struct random *r)
{
	p->offline = random_between(r, 1, 2);
	p->again = p->offline + random_between(r, 0.05, 1);
	if (random_coin(r))
		step(p, random_between(r, p->offline, p->again), random_size(r, 1e-4, 0.3));
}

/* -- the table ---------------------------------------------------------------------- */

const struct kind clock_kinds[] = {
	{ "const", true, make_const, "the host's rate" },
	{ "lin", true, make_lin, "a rate up to 5,000 ppm off" },
	{ "sine", true, make_sine, "a rate that moves slowly" },
	{ "rw", true, make_rw, "a rate that walks, within 1 ppm" },
	{ "ntp", true, make_ntp, "rates up to 500 ppm, one after the other" },
	{ "gear", true, make_gear, "a rate that changes once by up to 5,000 ppm" },
	{ "lowhz", true, make_lowhz, "a counter of 1 MHz to 3 GHz" },
	{ "scaled", true, make_scaled, "a TSC of 0.2 to 3 times the host's rate" },
	{ "claim2", true, make_claim2, "a claim that is off by up to 3 %" },
	{ "claim3x", true, make_claim3x, "a claim that is off by a factor" },
	{ "two", true, make_two, "rings with clocks of their own" },
	{ "twons", true, make_twons, "rings by TSC and rings by nanoseconds" },
	{ "creep", true, make_creep, "many small gains" },
	{ "slow", true, make_slow, "the same, and slow answers" },
	{ "tcg", true, make_tcg, "the same, and stops of 40 ms or more" },
	{ "lazygain", true, make_lazygain, "the same, and late answers" },
	{ "saw", true, make_saw, "a TSC that is set forward all the time" },
	{ "sawcaller", true, make_sawcaller, "another counter that is" },
	{ "ticks", true, make_ticks, "a clock in steps below 2 us" },
	{ "jump", true, make_jump, "jumps forward" },
	{ "jumpmany", true, make_jumpmany, "many jumps forward within a second" },
	{ "leap", true, make_leap, "an hour forward" },
	{ "backsmall", true, make_backsmall, "set back by up to 15 ms in all" },
	{ "driftstep", true, make_driftstep, "a drift, then a step forward" },
	{ "freeze", true, make_freeze, "stops" },
	{ "stops", true, make_stops, "short stops, slow answers" },
	{ "stops2", true, make_stops2, "two stops close together" },
	{ "stops3", true, make_stops3, "three stops close together" },
	{ "stopstep", true, make_stopstep, "a stop, and a jump behind it" },
	{ "firststop", true, make_firststop, "a stop in the first second" },
	{ "longstop", true, make_longstop, "a stop of two seconds" },
	{ "tinystops", true, make_tinystops, "a burst of tiny stops" },
	{ "runson", true, make_runson, "stops that the clock does not notice" },
	{ "catchup", true, make_catchup, "stops that the clock makes up for at once" },
	{ "askstop", true, make_askstop, "a stop before the clock of an answer is read" },
	{ "saidstop", true, make_saidstop, "a stop behind that" },
	{ "wide", true, make_wide, "answers that take long" },
	{ "lazy", true, make_lazy, "an answer a second" },
	{ "deaf", true, make_deaf, "no answer for up to 1.2 s" },
	{ "deafjump", true, make_deafjump, "a jump forward meanwhile" },
	{ "deafstops", true, make_deafstops, "stops meanwhile" },
	{ "rest", true, make_rest, "a jump forward of a ring at rest" },
	{ "bursts", true, make_bursts, "events in bursts, with silence between them" },
	{ "dense", true, make_dense, "thousands of events a second" },
	{ "many", true, make_many, "many rings of one clock" },
	{ "late", true, make_late, "a ring that comes late" },
	{ "again", true, make_again, "a ring that goes and comes again" },
	{ "wobble", false, make_wobble, "a rate that moves faster than it is measured" },
	{ "claimwide", true, make_claimwide,
	  "a claim that is off by up to 30 %, and wide answers" },
	{ "setback", true, make_setback, "a right claim, set back all the time, and wide answers" },
	{ "instep", true, make_instep, "the same by stops, and measured in step with them" },
	{ "rwfast", false, make_rwfast, "a rate that walks faster than it is measured" },
	{ "claimstop", false, make_claimstop, "a claim that is off by up to 3 %, and a stop" },
	{ "sawback", false, make_sawback, "a clock that is set back all the time" },
	{ "quantum", true, make_quantum, "a clock in steps of 2.2 us to 10 ms" },
	{ "wrap", false, make_wrap, "a counter of 24 or 32 bits" },
	{ "backfar", false, make_backfar, "set back so far that an epoch begins" },
	{ "there", false, make_there, "moved, and moved back" },
	{ "backforth", false, make_backforth, "set back, and further forward" },
	{ "restored", false, make_restored, "an older value after a stop" },
	{ "restback", false, make_restback, "a ring at rest is set back" },
	{ "tcgshort", false, make_tcgshort, "many small gains, and stops of up to 20 ms" },
	{ "stopback", false, make_stopback, "a stop, and a jump as large behind it" },
	{ "catchlate", false, make_catchlate, "a stop that the clock makes up for later" },
	{ "frozen", false, make_frozen, "a clock that stands while its writer goes on" },
	{ "stale", false, make_stale, "answers that were read before they were requested" },
};
const int clock_kinds_count = sizeof(clock_kinds) / sizeof(*clock_kinds);

const struct kind *clock_kind_named(const char *name)
{
	for (int i = 0; i < clock_kinds_count; i++)
		if (!strcmp(clock_kinds[i].name, name))
			return &clock_kinds[i];
	return NULL;
}

/* None, a right one, or one that the recorder finds wrong: what a kind may change. */
static double some_claim(struct random *r)
{
	switch (random_count(r, 0, 3)) {
	case 0:
		return 0;
	case 1:
		return 1 + random_sign(r) * random_between(r, 0.05, 0.5);
	default:
		return EXACT;
	}
}

void plan_make(struct plan *p, const struct kind *kind, struct random *r, double host_hz,
	       double seconds)
{
	const int id = random_count(r, 0, 3) ? XVT_CLOCK_TSC : XVT_CLOCK_CALLER;

	*p = (struct plan){
		.host_hz = host_hz,
		.seconds = seconds,
		.clock_id = { id, id },
		.claim = some_claim(r),
		.answer_s = random_size(r, 1e-3, 12e-3),
		.stay_s = random_count(r, 0, 5) ? 200e-6 : 0,
	};
	for (int i = 0; i < 2; i++)
		p->clock[i] = (struct clock){ .hz = host_hz, .first = 1 + (random_next(r) >> 12) };
	kind->make(p, r);
	for (int i = 0; i < 2; i++)
		clock_build(&p->clock[i], host_hz);
}

void plan_free(struct plan *p)
{
	for (int i = 0; i < 2; i++)
		clock_free(&p->clock[i]);
}
