// SPDX-License-Identifier: GPL-2.0
/* select.c - see select.h. */
#include "select/select.h"

#include "base/digits.h"
#include "base/log.h"
#include "base/machine_name.h"
#include "base/number.h"
#include "select/beside.h"
#include "select/empty.h"
#include "select/when.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AROUND_SPAN_NS	5000000u
#define UNMATCHED_SHOWN 8 /* lines about globs without a match */
#define CPUS_MAX	65536u

/* -- the range of time -------------------------------------------------------------- */

/* Read from there on, and from before where events are wanted that say how things stood then. Dates
 * are of another clock, and have none before them. */
static int read_from(struct xvt_export *x, uint64_t ns, enum xvtrace_clock clock)
{
	if (x->lead_ns && clock == XVTRACE_MONOTONIC) {
		x->range_ns = ns;
		ns = ns > x->lead_ns ? ns - x->lead_ns : 0;
	}
	return xvtrace_reader_from(x->reader, ns, clock);
}

static int set_from_to(const struct xvt_select *s, struct xvt_export *x)
{
	struct xvt_when from = { 0 }, to = { 0 };

	if ((s->from && xvt_take_when(s->from, x->trace, &from)) ||
	    (s->to && xvt_take_when(s->to, x->trace, &to)))
		return -EINVAL;
	if (s->from && s->to && from.clock == to.clock && from.ns > to.ns) {
		xvt_error(s->from, "the range of time ends at %s, before it begins", s->to);
		return -EINVAL;
	}
	if (s->from)
		read_from(x, from.ns, from.clock);
	if (s->to)
		xvtrace_reader_to(x->reader, to.ns, to.clock);
	return 0;
}

bool xvt_select_reclocks(const struct xvt_select *s, const struct xvt_export *x)
{
	return s->reclock || (!s->no_reclock && xvtrace_info(x->trace)->ended);
}

static unsigned int reader_flags(const struct xvt_select *s, const struct xvt_export *x)
{
	return (s->all ? XVTRACE_ALL : 0) | (x->states ? XVTRACE_STATES : 0) |
	       (x->gaps ? XVTRACE_GAPS : 0) | (x->counts ? XVTRACE_COUNTS : 0) |
	       (xvt_select_reclocks(s, x) ? XVTRACE_RECLOCK : 0) |
	       (x->bound || (s->around && x->marks) ? XVTRACE_BOUND : 0);
}

/* Find line N of the report without choices. Returns 0, -EINVAL or -ENOENT after a message, or
 * another -errno. */
static int find_event(const struct xvt_select *s, const char *text, struct xvt_export *x,
		      struct xvt_around *around)
{
	const struct xvtrace_event *ev;
	struct xvtrace_reader *r;
	uint64_t number, n = 0;
	const char *end;
	int got;

	if (xvt_parse_u64(text + 1, &end, &number) || *end || !number) {
		xvt_error(text, "not an event; give @N for line N of the report of all "
				"events");
		return -EINVAL;
	}
	got = xvtrace_reader_new(&r, x->trace);
	if (got)
		return got;
	/* The lines of report, for every format. */
	xvtrace_reader_flags(r, (reader_flags(s, x) | XVTRACE_STATES) & ~XVTRACE_GAPS);
	while (n < number && (got = xvtrace_next(r, &ev)) > 0)
		n++;
	if (got > 0)
		*around = (struct xvt_around){ .ns = ev->ns,
					       .bound_ns = ev->bound_ns,
					       .ring = ev->ring,
					       .state_of = ev->kind == XVTRACE_STATE ? ev->machine
										     : NULL,
					       .guest_clock = ev->guest_clock,
					       .number = ev->number,
					       .pid = ev->pid };
	xvtrace_reader_free(r);
	if (!got)
		xvt_error(text, "the report of this trace has %" PRIu64 " lines", n);
	return got > 0 ? 0 : got ? got : -ENOENT;
}

int xvt_select_point(const struct xvt_select *s, const char *text, struct xvt_export *x,
		     struct xvt_around *to)
{
	struct xvt_when when = { 0 };
	int err;

	if (text[0] == '@')
		return find_event(s, text, x, to);
	err = xvt_take_when(text, x->trace, &when);
	*to = (struct xvt_around){ .ns = when.ns, .clock = when.clock, .pid = -1 };
	return err;
}

static int set_around(const struct xvt_select *s, struct xvt_export *x)
{
	const uint64_t span = s->span_ns ? s->span_ns : AROUND_SPAN_NS;
	struct xvt_around *around = &x->around;
	int err;

	if (s->from || s->to) {
		xvt_error("--around", "it is a range of time, as --from and --to are; give one");
		return -EINVAL;
	}
	err = xvt_select_point(s, s->around, x, around);
	if (err)
		return err;
	read_from(x, around->ns > span ? around->ns - span : 0, around->clock);
	xvtrace_reader_to(x->reader,
			  around->ns < UINT64_MAX - span ? around->ns + span : UINT64_MAX,
			  around->clock);
	return 0;
}

static int set_last(const struct xvt_select *s, struct xvt_export *x)
{
	const uint64_t end_ns = xvtrace_info(x->trace)->last_ns;

	return read_from(x, end_ns > s->last_ns ? end_ns - s->last_ns : 0, XVTRACE_MONOTONIC);
}

static int set_range(const struct xvt_select *s, struct xvt_export *x)
{
	if (s->span_ns && !s->around) {
		xvt_error("--span", "it is for --around");
		return -EINVAL;
	}
	if (s->last_ns && (s->from || s->to || s->around)) {
		xvt_error("--last", "it is a range of time, as --from, --to and --around are; give "
				    "one");
		return -EINVAL;
	}
	if (s->around)
		return set_around(s, x);
	x->marks = false;
	if (s->last_ns)
		return set_last(s, x);
	return set_from_to(s, x);
}

static void say_machines(const struct xvt_export *x, const char *wanted)
{
	const struct xvtrace_info *info = xvtrace_info(x->trace);
	struct xvtrace_damage damage;
	bool damaged = !xvtrace_damage(x->trace, 0, &damage);
	char names[256] = "none";
	size_t used = 0;

	for (unsigned int i = 0; i < info->machines && used < sizeof(names); i++) {
		const struct xvtrace_machine *m = xvtrace_machine(x->trace, i);

		if (m)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", m->name);
	}
	xvt_error(info->path, "no machine '%s' in this trace; it has: %s%s%s", wanted, names,
		  damaged ? "; it is damaged, too: " : "", damaged ? damage.why : "");
}

/* -- CPUs and tasks ----------------------------------------------------------------- */

static bool has_cpus(const struct xvt_export *x, uint64_t from, uint64_t to)
{
	const unsigned int rings = xvtrace_info(x->trace)->rings;

	for (unsigned int i = 0; i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(x->trace, i);

		if (ring && ring->cpu >= from && ring->cpu <= to)
			return true;
	}
	return false;
}

/* Choose "0-3,7". any: also if the trace has none of them. Returns 0, -EINVAL after a message,
 * -ENOENT (none of them is in the trace) after a message, or -ENOMEM. */
static int choose_cpus(struct xvt_export *x, const char *list, bool any)
{
	const char *at = list;
	int err = 0;

	do {
		uint64_t from, to;

		at += at != list;
		if (xvt_parse_u64(at, &at, &from))
			break;
		to = from;
		if (*at == '-' && xvt_parse_u64(at + 1, &at, &to))
			break;
		if (to < from || to >= CPUS_MAX || (*at && *at != ','))
			break;
		any = any || has_cpus(x, from, to);
		for (; from <= to && !err; from++)
			err = xvtrace_reader_cpu(x->reader, (unsigned int)from);
		if (err || !*at) {
			if (err || any)
				return err;
			xvt_error(xvtrace_info(x->trace)->path, "no CPU %s in this trace", list);
			return -ENOENT;
		}
	} while (*at == ',');
	xvt_error(list, "not CPUs; give numbers such as 0-3,7");
	return -EINVAL;
}

static int choose_pid(struct xvt_export *x, const char *text)
{
	uint64_t pid;
	const char *end;

	if (!xvt_parse_u64(text, &end, &pid) && !*end && pid <= INT32_MAX)
		return xvtrace_reader_pid(x->reader, (int)pid);
	xvt_error(text, "not the number of a task; --comm takes names");
	return -EINVAL;
}

static int choose_tasks(const struct xvt_select *s, struct xvt_export *x)
{
	int err = 0;

	for (size_t i = 0; i < s->cpu.n && !err; i++)
		err = choose_cpus(x, s->cpu.v[i], s->follow);
	for (size_t i = 0; i < s->pid.n && !err; i++)
		err = choose_pid(x, s->pid.v[i]);
	for (size_t i = 0; i < s->comm.n && !err; i++)
		err = xvtrace_reader_comm(x->reader, s->comm.v[i]);
	return err;
}

static int choose_filter(const struct xvt_select *s, struct xvt_export *x)
{
	struct xvtrace_error error;
	int err = s->filter ? xvtrace_reader_filter(x->reader, s->filter, &error) : 0;

	if (err == -EINVAL)
		xvt_error("--filter", "'%s': %s", s->filter, error.text);
	return err;
}

/* Of several traces that have a machine of one name, both have it: "a:g1" and "b:g1". */
static bool is_named(const struct xvtrace_machine *m, const char *name)
{
	const size_t length = strlen(m->name), part = strlen(name);

	return xvt_machine_same(m->name, name) ||
	       (length > part && m->name[length - part - 1] == ':' &&
		xvt_machine_same(m->name + length - part, name));
}

/* Whether --vm '!NAME' names this machine. */
static bool is_excluded(const struct xvt_select *s, const struct xvtrace_machine *m)
{
	for (size_t i = 0; i < s->vm.n; i++)
		if (s->vm.v[i][0] == '!' && is_named(m, s->vm.v[i] + 1))
			return true;
	return false;
}

/* Whether --vm has '!NAME', too, for a name that it has. */
static bool is_name_excluded(const struct xvt_select *s, const char *name)
{
	for (size_t i = 0; i < s->vm.n; i++)
		if (s->vm.v[i][0] == '!' && xvt_machine_same(s->vm.v[i] + 1, name))
			return true;
	return false;
}

static bool has_machine(const struct xvt_export *x, const char *name)
{
	const unsigned int machines = xvtrace_info(x->trace)->machines;

	for (unsigned int i = 0; i < machines; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(x->trace, i);

		if (m && is_named(m, name))
			return true;
	}
	return false;
}

/* All machines but those that are left out. */
static int choose_other_machines(const struct xvt_select *s, struct xvt_export *x)
{
	const unsigned int machines = xvtrace_info(x->trace)->machines;
	bool any = false;
	int err = 0;

	for (unsigned int i = 0; i < machines && !err; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(x->trace, i);

		if (!m || is_excluded(s, m))
			continue;
		any = true;
		err = xvtrace_reader_machine(x->reader, m->name);
	}
	if (any || err)
		return err;
	xvt_error("--vm", "this leaves out all machines of the trace");
	return -ENOENT;
}

static int choose_machines(const struct xvt_select *s, struct xvt_export *x)
{
	bool named = false;
	size_t absent = 0;
	int err = 0;

	for (size_t i = 0; i < s->vm.n && !err; i++) {
		const char *name = s->vm.v[i];
		const bool other = name[0] == '!';

		if (!has_machine(x, name + other) && s->follow) {
			absent++;
			continue;
		}
		if (!has_machine(x, name + other)) {
			say_machines(x, name + other);
			return -ENOENT;
		}
		named |= !other;
		if (!other && !is_name_excluded(s, name))
			err = xvtrace_reader_machine(x->reader, name);
	}
	if (!err && absent && absent == s->vm.n)
		return -EAGAIN;
	return err || named || !s->vm.n ? err : choose_other_machines(s, x);
}

/* Whether a list such as "0-3,7" has the CPU. */
static bool lists_cpu(const char *list, unsigned int cpu)
{
	for (const char *at = list;; at++) {
		uint64_t from, to;

		if (xvt_parse_u64(at, &at, &from))
			return false;
		to = from;
		if (*at == '-' && xvt_parse_u64(at + 1, &at, &to))
			return false;
		if (cpu >= from && cpu <= to)
			return true;
		if (*at != ',')
			return false;
	}
}

bool xvt_select_has_ring(const struct xvt_select *s, const struct xvtrace_ring *ring)
{
	bool any = false, named = false, listed = !s->cpu.n;

	for (size_t i = 0; i < s->vm.n; i++) {
		any |= s->vm.v[i][0] != '!';
		named |= is_named(ring->machine, s->vm.v[i]);
	}
	for (size_t i = 0; i < s->cpu.n; i++)
		listed |= lists_cpu(s->cpu.v[i], ring->cpu);
	return listed && (named || !any) && !is_excluded(s, ring->machine);
}

/* Returns 0 or -errno; after a message -ENOENT (the trace does not have that) or -EINVAL. */
static int choose(const struct xvt_select *s, struct xvt_export *x)
{
	int err = choose_machines(s, x);

	for (size_t i = 0; i < s->event.n && !err; i++)
		err = xvtrace_reader_event(x->reader, s->event.v[i]);
	if (!err)
		err = choose_tasks(s, x);
	if (!err)
		err = choose_filter(s, x);
	if (err)
		return err;
	xvtrace_reader_limit(x->reader, s->limit > 0 ? (uint64_t)s->limit : 0);
	err = xvtrace_reader_flags(x->reader, reader_flags(s, x));
	/* Of a part of the trace there may be less to read than it takes to begin. */
	if (!err && x->background.slots && !xvt_select_is_part(s))
		err = xvtrace_reader_ahead(x->reader, &x->background);
	return err;
}

static void append(char *text, size_t size, size_t *used, const char *what, size_t count, bool many)
{
	if (!count || *used >= size)
		return;
	*used += (size_t)snprintf(text + *used, size - *used, "%s%s", *used ? ", " : "", what);
	if (many && *used < size)
		*used += (size_t)snprintf(text + *used, size - *used, " in %zu", count);
}

/* "constant rate in 3, as recorded in 1" */
static void explain(const struct xvtrace_reclocked *r, char *text, size_t size)
{
	bool many = !!r->epochs_constant + !!r->epochs_gaining + !!r->epochs_as_recorded > 1;
	size_t used = 0;

	text[0] = '\0';
	append(text, size, &used, "constant rate", r->epochs_constant, many);
	append(text, size, &used, "gains on the host's clock", r->epochs_gaining, many);
	append(text, size, &used, "as recorded", r->epochs_as_recorded, many);
}

/* Print a line for each ring with a new clock: the bounds before and after, and what explains the
 * samples. Returns 0 or -errno. */
static int say_reclocked(const struct xvt_export *x)
{
	const unsigned int rings = xvtrace_info(x->trace)->rings;

	for (unsigned int i = 0; i < rings; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(x->trace, i);
		struct xvtrace_reclocked r;
		char how[128];
		int err = xvtrace_reader_reclocked(x->reader, i, &r);

		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		explain(&r, how, sizeof(how));
		xvt_log_raw("%s:%u %s: within %.1f us -> %.1f us, half of the time %.1f -> %.1f us "
			    "(%s, %" PRIu64 " samples, %zu epoch%s)\n",
			    ring ? ring->machine->name : "?", ring ? ring->cpu : 0, r.source,
			    (double)r.max_before_ns / 1e3, (double)r.max_after_ns / 1e3,
			    (double)r.half_before_ns / 1e3, (double)r.half_after_ns / 1e3, how,
			    r.samples, r.epochs, r.epochs == 1 ? "" : "s");
	}
	return 0;
}

bool xvt_select_is_part(const struct xvt_select *s)
{
	return s->from || s->to || s->last_ns || s->around || s->limit;
}

static void close_all(struct xvt_export *x)
{
	xvtrace_reader_free(x->reader);
	xvtrace_close(x->trace);
	x->reader = NULL;
	x->trace = NULL;
}

static int new_reader(const struct xvt_select *s, struct xvt_export *x)
{
	int err = xvtrace_reader_new(&x->reader, x->trace);

	if (!err)
		err = set_range(s, x);
	return err ? err : choose(s, x);
}

/* Of the last N events: count all that are chosen, to leave out those before. */
static int find_last(const struct xvt_select *s, struct xvt_export *x)
{
	const uint64_t wanted = (uint64_t)-s->limit;
	const struct xvtrace_event *ev;
	uint64_t n = 0;
	int got;

	while ((got = xvtrace_next(x->reader, &ev)) > 0)
		n += ev->kind == XVTRACE_EVENT;
	xvtrace_reader_free(x->reader);
	x->reader = NULL;
	x->skip = n > wanted ? n - wanted : 0;
	return got ? got : new_reader(s, x);
}

static int start(const struct xvt_select *s, const char *path, struct xvt_export *x)
{
	int err = new_reader(s, x);

	if (!err && s->limit < 0)
		err = find_last(s, x);
	if (err == -ENOENT)
		return XVT_EXIT_FAIL;
	if (err == -EAGAIN)
		return err;
	if (err == -EINVAL)
		return XVT_EXIT_USAGE;
	if (!err && s->reclock && !s->quiet)
		err = say_reclocked(x);
	if (!err)
		return XVT_EXIT_OK;
	xvt_error(path, "%s", strerror(-err));
	return XVT_EXIT_FAIL;
}

/* Two traces have a machine of one name: say how their machines are shown. */
static void say_renamed(const struct xvtrace_info *info, const struct xvtrace *trace)
{
	char text[256] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < info->machines && used < sizeof(text); i++) {
		const struct xvtrace_machine *m = xvtrace_machine(trace, i);

		if (m && strcmp(m->name, m->recorded_name) != 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used ? ", " : "", m->name);
	}
	if (used)
		xvt_note("two of these traces have machines of one name, which are shown with the "
			 "names of their traces: %s%s",
			 text, used < sizeof(text) ? "" : "...");
}

/* Every output has names that are not proven: so this is said also with --quiet. */
static void say_claimed(const struct xvtrace *trace)
{
	struct xvtrace_names names;
	const struct xvtrace_machine *m;

	for (unsigned int i = 0; (m = xvtrace_machine(trace, i)); i++) {
		if (xvtrace_names(trace, i, &names) && names.claimed)
			xvt_warn(m->name,
				 "the names of its events are those of kernel %s, build %s, which "
				 "was stated by --formats; that their lengths fit is no proof",
				 names.release, names.build_id);
	}
}

/* Take VM=KERNEL. Returns 0, or -errno after a message. */
static int claim_kernels(struct xvtrace *trace, const struct xvt_opt_list *formats)
{
	struct xvtrace_error error;
	int err = 0;

	for (size_t i = 0; i < formats->n && !err; i++) {
		const char *is = strchr(formats->v[i], '=');
		char name[256];

		if (!is || is == formats->v[i] || !is[1] ||
		    (size_t)(is - formats->v[i]) >= sizeof(name)) {
			xvt_error("--formats", "'%s' is not VM=KERNEL, such as g1=6.12.38",
				  formats->v[i]);
			return -EINVAL;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(is - formats->v[i]), formats->v[i]);
		err = xvtrace_claim_kernel(trace, name, is + 1, &error);
		if (err)
			xvt_error("--formats", "%s: %s", name, error.text);
	}
	if (!err && formats->n)
		say_claimed(trace);
	return err;
}

int xvt_open_several(struct xvtrace **trace, const char *const *paths, size_t count,
		     unsigned int flags, const struct xvt_opt_list *formats, bool quiet)
{
	struct xvtrace_error error;
	int err = xvtrace_open_several(trace, paths, count, flags, &error);

	if (err && count == 1)
		xvt_error(paths[0], "%s", error.text);
	else if (err)
		xvt_error("traces", "they cannot be read as one: %s", error.text);
	else if (!quiet)
		say_renamed(xvtrace_info(*trace), *trace);
	if (err || !formats)
		return err;
	err = claim_kernels(*trace, formats);
	if (err) {
		xvtrace_close(*trace);
		*trace = NULL;
	}
	return err;
}

int xvt_select_open_several(const struct xvt_select *s, const char *const *paths, size_t count,
			    struct xvt_export *x)
{
	int status;

	if (s->reclock && s->no_reclock) {
		xvt_error("--no-reclock", "--reclock says the opposite; give one of them");
		return XVT_EXIT_USAGE;
	}
	x->all = s->all;
	x->writer = xvt_beside_writer_of(paths, count);
	if (xvt_open_several(&x->trace, paths, count, xvt_select_is_part(s) ? XVTRACE_PART : 0,
			     &s->formats, s->quiet))
		return XVT_EXIT_FAIL;
	status = start(s, xvtrace_info(x->trace)->path, x);
	if (status)
		close_all(x);
	return status;
}

int xvt_select_begin(const struct xvt_select *s, struct xvt_export *x)
{
	return start(s, xvtrace_info(x->trace)->path, x);
}

int xvt_select_open(const struct xvt_select *s, const char *path, struct xvt_export *x)
{
	return xvt_select_open_several(s, &path, 1, x);
}

const char *xvt_nameless_why(const struct xvtrace *trace, const struct xvtrace_machine *machine)
{
	struct xvtrace_names names;

	if (!machine->ftrace)
		return NULL;
	xvtrace_names(trace, machine->number, &names);
	return names.why ? names.why : "its kernel's ring has none, so they have no names";
}

/* How many events of each machine have no format. is_error: no event has the name that was asked
 * for, and these may be what the user means. Returns whether there are any. */
static bool say_nameless(const struct xvt_export *x, bool is_error)
{
	const unsigned int machines = xvtrace_info(x->trace)->machines;
	bool any = false;

	for (unsigned int i = 0; i < machines; i++) {
		const struct xvtrace_machine *m = xvtrace_machine(x->trace, i);
		uint64_t events, n = xvtrace_reader_nameless(x->reader, i, &events);
		char text[XVT_NAMELESS_TEXT];

		if (!m || !n)
			continue;
		any = true;
		xvt_nameless_text(text, n, events, xvt_nameless_why(x->trace, m));
		if (is_error)
			xvt_error(m->name, "%s", text);
		else
			xvt_warn(m->name, "%s", text);
	}
	return any;
}

static void say_unmatched(const char *path, const char *what, const struct xvtrace_unmatched *u)
{
	char near[512] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < 3 && u->near[i] && used < sizeof(near); i++)
		used += (size_t)snprintf(near + used, sizeof(near) - used, "%s%s",
					 i ? ", " : "; the nearest that there are: ", u->near[i]);
	xvt_error(path, "no %s like '%s'%s", what, u->glob, near);
}

/* Print the trace's range: no event matches. */
static void say_outside(const struct xvt_export *x)
{
	const struct xvtrace_info *info = xvtrace_info(x->trace);
	const uint64_t ends[] = { info->first_ns, info->last_ns };
	static struct xvt_out text;

	text.fd = -1;
	for (size_t i = 0; i < 2; i++) {
		if (i)
			xvt_out_str(&text, " to ");
		if (x->wall)
			xvt_out_date(&text, xvtrace_wall_ns(x->trace, ends[i]), 'T', 9);
		else
			xvt_out_time(&text, ends[i]);
	}
	xvt_error(info->path, "no event matches; the trace is from %.*s", (int)text.used, text.buf);
}

static bool is_choice(const struct xvt_select *s)
{
	return s->vm.n || s->event.n || s->cpu.n || s->pid.n || s->comm.n || s->filter || s->from ||
	       s->to || s->last_ns || s->around;
}

/* Print the globs and comparisons without a match. Returns false if the choice left nothing to
 * show. */
static bool say_misses(const struct xvt_select *s, const struct xvt_export *x, bool *nameless_said)
{
	const char *path = xvtrace_info(x->trace)->path;
	struct xvtrace_unmatched u;
	struct xvtrace_error error;
	size_t missing = 0;

	for (; !xvtrace_reader_unmatched(x->reader, missing, &u); missing++)
		if (missing < UNMATCHED_SHOWN)
			say_unmatched(path, "event is", &u);
	if (missing > UNMATCHED_SHOWN)
		xvt_error(path, "and none is like %zu more", missing - UNMATCHED_SHOWN);
	*nameless_said = missing && say_nameless(x, true);
	for (size_t i = 0; !xvtrace_reader_unmatched_comm(x->reader, i, &u); i++, missing++)
		if (i < UNMATCHED_SHOWN)
			say_unmatched(path, "event is of a task", &u);
	for (size_t i = 0; !xvtrace_reader_unmatched_filter(x->reader, i, &error); i++, missing++)
		if (i < UNMATCHED_SHOWN)
			xvt_error(path, "--filter: %s", error.text);
	if (x->given || !is_choice(s))
		return true;
	if (!missing)
		say_outside(x);
	return false;
}

void xvt_say_not_ended(const char *path, pid_t writer, uint64_t tail, uint64_t unordered)
{
	if (writer && tail)
		xvt_warn(path,
			 "not ended yet: its recorder, process %d, still writes it; the last "
			 "%" PRIu64 " bytes are no whole chunk yet and were left out",
			 (int)writer, tail);
	else if (writer)
		xvt_warn(path, "not ended yet: its recorder, process %d, still writes it",
			 (int)writer);
	else if (tail)
		xvt_warn(path,
			 "not cleanly ended: the last %" PRIu64
			 " bytes are no whole chunk and were "
			 "left out (recorder killed, or file cut)",
			 tail);
	else
		xvt_warn(path, "not cleanly ended: the recorder was killed, or still runs");
	if (unordered && writer)
		xvt_warn(path,
			 "the last %" PRIu64
			 " bytes of records have no order yet and were left out",
			 unordered);
	else if (unordered)
		xvt_warn(path,
			 "the last %" PRIu64
			 " bytes of records have no order and were left out; the next trace of "
			 "these machines has them, or counts them as lost",
			 unordered);
}

bool xvt_say_damage(struct xvtrace *trace, pid_t writer, bool quiet)
{
	const struct xvtrace_info *info = xvtrace_info(trace);
	size_t places = xvtrace_damage_count(trace);
	struct xvtrace_damage first;

	if (!xvtrace_damage(trace, 0, &first)) {
		if (!quiet)
			xvt_error(info->path,
				  "damaged in %zu place%s, the first at byte %" PRIu64
				  "%s%s (%s); the rest was read%s; 'xvtrace verify' lists them",
				  places, places == 1 ? "" : "s", first.offset,
				  first.file ? " of " : "", first.file ? first.file : "", first.why,
				  info->ended ? "" : "; not cleanly ended either");
		return true;
	}
	if (!info->ended && !quiet)
		xvt_say_not_ended(info->path, writer, info->tail, info->unordered);
	return false;
}

/* An event that is not found may be one of those that were lost there. */
static void say_lost(const struct xvt_export *x)
{
	uint64_t lost = xvtrace_reader_lost_hidden(x->reader);

	if (lost)
		xvt_note("%" PRIu64
			 " events were lost in the chosen machines, CPUs and times; their "
			 "LOST lines are not among the chosen events (-e lost chooses them)",
			 lost);
}

/* Say which formats could not be read. */
static void say_left_formats(struct xvt_export *x)
{
	struct xvtrace_left_format f;

	for (unsigned int i = 0; !xvtrace_reader_left_format(x->reader, i, &f); i++) {
		const struct xvtrace_machine *m = xvtrace_machine(x->trace, f.machine);

		xvt_warn(m ? m->name : xvtrace_info(x->trace)->path,
			 "the format of %s:%s is left out: %s; its events are shown as bytes",
			 f.system, f.event, f.why);
	}
}

int xvt_select_close(const struct xvt_select *s, struct xvt_export *x, bool failed)
{
	const char *path = xvtrace_info(x->trace)->path;
	uint64_t left_out = xvtrace_reader_left_out(x->reader);
	/* For a part of a trace, the rest is not checked. */
	int err = failed || xvt_select_is_part(s) ? 0 : xvtrace_check(x->trace);
	bool quiet = s->quiet || failed;
	bool nameless_said = false;
	bool found = failed || (!xvt_empty_refuse(x->trace) && say_misses(s, x, &nameless_said));
	bool damaged = xvt_say_damage(x->trace, x->writer, quiet);

	if (!quiet) {
		say_lost(x);
		say_left_formats(x);
	}
	if (err)
		xvt_error(path, "%s", strerror(-err));
	if (left_out && !quiet)
		xvt_warn(path,
			 "%" PRIu64
			 " formats, symbols or names are more than is decoded of a machine and "
			 "were left out; their events are shown as bytes, see xvtrace-report(1)",
			 left_out);
	/* Who asks for events by name, and gets them, misses none of the others. */
	if (!quiet && !nameless_said && !s->event.n)
		say_nameless(x, false);
	close_all(x);
	return err || failed || damaged || !found ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}
