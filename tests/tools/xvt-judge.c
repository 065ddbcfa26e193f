// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-judge.c - ftrace is the judge. A guest kept the same events twice: in ftrace's own ring
 * (trace clock x86-tsc, no filter, nothing overwritten) and, through the module, in ours. This
 * program compares the two, CPU by CPU, byte by byte, stamp by stamp. Knows nothing of what an
 * entry means, except where struct trace_entry has its type and flags.
 *
 *   xvt-judge [--break KIND] [--hooked TYPE,TYPE...] TRACE.xvt DIR
 *
 * DIR has cpuN.raw (pages of per_cpu/cpuN/trace_pipe_raw) and cpuN.stats (as it was before).
 * --break damages our side in memory first; the judge must then fail (exit status 1).
 *
 * What must hold, and why. On one CPU contexts nest: task < softirq < hard interrupt < NMI, and
 * what interrupts ends before the interrupted goes on. ftrace stamps an entry when it reserves
 * it, the module when ftrace hands the filled entry over. So
 *   - our stamp lies in the entry's window: from ftrace's stamp of it, up to, not including,
 *     ftrace's stamp of the next entry of the same or a lower context;
 *   - two entries of the same bytes have the same context, so they never overtake each other:
 *     matching equal bytes in order is exact, not a guess;
 *   - an entry overtakes one before it in ftrace's ring if, and only if, its context is higher
 *     and it began before our stamp of that one.
 * An entry of ftrace's with the very stamp of the entry before it was stamped "as the one
 * before" (delta 0, path 2b of its ring): that stamp is a lower bound only, and ends no window.
 *
 * --hooked: only entries of these types (STACK, PRINT, BPRINT, BPUTS), which the module makes
 * itself before ftrace reserves anything. Their bytes must be the same, and as many; stamps are not
 * compared.
 */
#define _GNU_SOURCE
#include "trace/read.h"
#include "trace/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <kbuffer.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES  4096
#define CPU_MAX	    256
#define SHOWN_MAX   10
/* Types from here on are the module's direct probes: ftrace's ring has no such entries. */
#define TYPE_PROBES 0xf000
/* ftrace's, since there is ftrace */
#define TYPE_PRINT  5

enum level { TASK, SOFTIRQ, HARDIRQ, NMI, LEVELS };

static const char *const level_names[LEVELS] = { "task", "softirq", "hardirq", "nmi" };

struct entry {
	uint64_t ts; /* guest TSC: ftrace's, or ours */
	const uint8_t *bytes;
	uint32_t len;
	uint8_t level;
	bool delta0;	/* ftrace only: has the stamp of the one before */
	uint64_t bound; /* ftrace only: end of the window */
	size_t match;	/* index in the other list */
};

#define UNMATCHED SIZE_MAX
#define EXPLAINED (SIZE_MAX - 1) /* no match, and said so together with the other side's */

struct list {
	struct entry *v;
	size_t n;
	size_t room;
};

struct cpu {
	struct list ftrace;
	struct list ours;
};

static struct cpu cpus[CPU_MAX];
static bool hooked[256]; /* by type */
static bool only_hooked;
static unsigned long mismatches;

/* Counts all, prints the first ones: one real fault often has thousands of consequences. */
__attribute__((format(printf, 1, 2))) static void mismatch(const char *format, ...)
{
	va_list ap;

	if (mismatches++ >= SHOWN_MAX)
		return;
	va_start(ap, format);
	fputs("mismatch: ", stdout);
	vprintf(format, ap);
	putchar('\n');
	va_end(ap);
}

__attribute__((format(printf, 2, 3), noreturn)) static void die(int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("xvt-judge: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

static void *must(void *p)
{
	if (!p)
		die(1, "%s", strerror(ENOMEM));
	return p;
}

static uint16_t type_of(const struct entry *e)
{
	uint16_t type;

	memcpy(&type, e->bytes, sizeof(type));
	return type;
}

/* struct trace_entry: u16 type, u8 flags, ... */
static enum level level_of(const uint8_t *bytes)
{
	uint8_t flags = bytes[2];

	return flags & 0x40 ? NMI : flags & 0x08 ? HARDIRQ : flags & 0x10 ? SOFTIRQ : TASK;
}

static bool is_judged(const uint8_t *bytes)
{
	uint16_t type;

	memcpy(&type, bytes, sizeof(type));
	return !only_hooked || (type < 256 && hooked[type]);
}

static struct entry *add(struct list *l, uint64_t ts, const uint8_t *bytes, uint32_t len)
{
	struct entry *e;

	if (len < 8)
		die(1, "an entry of %u bytes: shorter than ftrace's common fields", len);
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 4096;
		l->v = must(realloc(l->v, l->room * sizeof(*l->v)));
	}
	e = &l->v[l->n++];
	*e = (struct entry){ .ts = ts, .bytes = bytes, .len = len, .match = UNMATCHED };
	e->level = level_of(bytes);
	return e;
}

/* ------------------------------------------------------------------ ftrace's side */

/* A whole file, or NULL if it is not there. */
static uint8_t *read_file(const char *dir, unsigned int cpu, const char *suffix, size_t *size)
{
	char path[4096];
	struct stat st;
	uint8_t *bytes;
	size_t done = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/cpu%u.%s", dir, cpu, suffix);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st))
		die(1, "%s: %s", path, strerror(errno));
	bytes = must(malloc((size_t)st.st_size + 1));
	while (done < (size_t)st.st_size) {
		ssize_t n = read(fd, bytes + done, (size_t)st.st_size - done);

		if (n <= 0)
			die(1, "%s: cannot be read", path);
		done += (size_t)n;
	}
	close(fd);
	bytes[done] = 0;
	*size = done;
	return bytes;
}

/* The number behind "NAME: " at the start of a line. */
static unsigned long long stat_value(const char *text, unsigned int cpu, const char *name)
{
	size_t len = strlen(name);

	for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL) {
		if (!strncmp(text, name, len) && text[len] == ':')
			return strtoull(text + len + 1, NULL, 10);
	}
	die(1, "cpu%u.stats: no \"%s\"", cpu, name);
}

/* What ftrace itself dropped, it cannot judge. */
static unsigned long long check_stats(const char *dir, unsigned int cpu)
{
	static const char *const drops[] = { "overrun", "commit overrun", "dropped events" };
	size_t size, i;
	char *text = (char *)read_file(dir, cpu, "stats", &size);
	unsigned long long entries;

	if (!text)
		die(1, "%s/cpu%u.stats: not there", dir, cpu);
	for (i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		if (stat_value(text, cpu, drops[i]))
			die(1,
			    "cpu%u.stats: %s is %llu: ftrace's own ring was too small to judge; "
			    "enlarge buffer_size_kb in the guest's script",
			    cpu, drops[i], stat_value(text, cpu, drops[i]));
	}
	entries = stat_value(text, cpu, "entries");
	free(text);
	return entries;
}

static bool load_ftrace(const char *dir, unsigned int cpu, struct list *l)
{
	struct kbuffer *kb = must(kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE));
	unsigned long long ts, entries, seen = 0;
	size_t size, at;
	uint8_t *raw = read_file(dir, cpu, "raw", &size);
	void *data;

	if (!raw) {
		kbuffer_free(kb);
		return false;
	}
	entries = check_stats(dir, cpu);
	if (size % PAGE_BYTES)
		die(1, "cpu%u.raw: %zu bytes: not whole pages", cpu, size);
	for (at = 0; at < size; at += PAGE_BYTES) {
		if (kbuffer_load_subbuffer(kb, raw + at))
			die(1, "cpu%u.raw: page %zu cannot be decoded", cpu, at / PAGE_BYTES);
		if (kbuffer_missed_events(kb))
			die(1, "cpu%u.raw: events are missing before page %zu", cpu,
			    at / PAGE_BYTES);
		for (data = kbuffer_read_event(kb, &ts); data; data = kbuffer_next_event(kb, &ts)) {
			struct entry *e;

			seen++;
			if (!is_judged(data))
				continue;
			e = add(l, ts, data, (uint32_t)kbuffer_event_size(kb));
			e->delta0 = l->n > 1 && e->ts == e[-1].ts;
			if (l->n > 1 && e->ts < e[-1].ts)
				die(1, "cpu%u.raw: ftrace's own stamps go back at %llu", cpu, ts);
		}
	}
	if (seen != entries)
		die(1,
		    "cpu%u.raw: has %llu entries, ftrace counted %llu: the pages are not complete",
		    cpu, seen, entries);
	kbuffer_free(kb);
	return true; /* raw stays: the entries point into it */
}

/* ------------------------------------------------------------------ our side */

/* Our counters must say that nothing was lost: what we dropped and said so is no mismatch. */
static void check_no_loss(struct xvt_trace *t)
{
	struct xvt_ring_stats *last = must(calloc(t->ring_count + 1, sizeof(*last)));
	struct xvt_chunk_buf buf = { 0 };
	uint32_t ring, i;
	size_t c;

	for (c = 0; c < t->chunk_count; c++) {
		const struct xvt_ring_stats *s;
		uint32_t left;

		if (t->chunks[c].type != XVT_CHUNK_STATS || xvt_trace_load(t, c, &buf))
			continue;
		s = (const struct xvt_ring_stats *)buf.payload;
		for (left = buf.len; left >= sizeof(*s); left -= sizeof(*s), s++) {
			if (s->ring < t->ring_count)
				last[s->ring] = *s;
		}
	}
	for (ring = 0; ring < t->ring_count; ring++) {
		const struct xvt_ring_stats *s = &last[ring];
		uint64_t lost = s->overwritten + s->dropped + s->bad_bytes + s->in_flight;

		for (i = 0; i < XVT_LOST_CAUSES; i++)
			lost += s->lost[i];
		if (lost)
			die(1,
			    "ring %u: %" PRIu64 " events lost or in flight: nothing to judge; "
			    "enlarge the region",
			    ring, lost);
	}
	free(last);
	xvt_chunk_buf_free(&buf);
}

static void load_ours(const char *path)
{
	struct xvt_cursor cursor;
	struct xvt_trace *t;
	struct xvt_event ev;
	struct xvt_error why;
	int err;

	if (xvt_trace_open(&t, path, &why))
		die(1, "%s: %s", path, why.text);
	if (!t->ended)
		die(1, "%s: has no end: the recorder was killed", path);
	check_no_loss(t);
	err = xvt_cursor_init(&cursor, t, 0, UINT64_MAX);
	while (!err && (err = xvt_cursor_next(&cursor, &ev)) > 0) {
		const struct xvt_ring_info *ring = &t->rings[xvt_event_ring(&ev)].info;
		uint8_t *copy;
		uint16_t type;

		err = 0;
		if (ev.hdr->id == XVT_ID_LOST)
			die(1, "%s: events were lost: nothing to judge", path);
		if (ev.hdr->id != XVT_ID_FTRACE)
			continue;
		memcpy(&type, ev.payload, sizeof(type));
		if (type >= TYPE_PROBES || !is_judged(ev.payload))
			continue;
		if (ring->cpu >= CPU_MAX)
			die(1, "%s: cpu %u: more than this program knows", path, ring->cpu);
		copy = must(malloc(ev.hdr->len));
		memcpy(copy, ev.payload, ev.hdr->len);
		add(&cpus[ring->cpu].ours, ev.hdr->guest_clock, copy, ev.hdr->len);
	}
	if (err < 0)
		die(1, "%s: %s", path, strerror(-err));
	if (t->damage_count)
		die(1, "%s: damaged at %" PRIu64 ": %s", path, t->damage[0].offset,
		    t->damage[0].why);
	xvt_cursor_fini(&cursor);
	xvt_trace_close(t);
}

/* ------------------------------------------------------------------ the comparison */

/*
 * A reschedule may be asked for between the two. A print that came by trace_puts() has room for a
 * line feed that it did not need, and what is there is not ftrace's.
 */
static bool same_hooked(const struct entry *f, const struct entry *x)
{
	const uint8_t resched = 0x02 | 0x04 | 0x20;
	const size_t text = 16; /* trace_entry, ip */

	if (f->len < 8 || memcmp(f->bytes, x->bytes, 2) || ((f->bytes[2] ^ x->bytes[2]) & ~resched))
		return false;
	if (type_of(f) == TYPE_PRINT && f->len > text && x->len > text)
		return !memcmp(f->bytes + 3, x->bytes + 3, text - 3) &&
		       !strncmp((const char *)f->bytes + text, (const char *)x->bytes + text,
				(f->len < x->len ? f->len : x->len) - text);
	return x->len == ((f->len + 7) & ~7u) && !memcmp(f->bytes + 3, x->bytes + 3, f->len - 3);
}

/* Same bytes? Our payload is filled up to a multiple of 8 with zeros. */
static bool same(const struct entry *f, const struct entry *x)
{
	static const uint8_t zeros[8];

	if (only_hooked)
		return same_hooked(f, x);
	return x->len == ((f->len + 7) & ~7u) && !memcmp(f->bytes, x->bytes, f->len) &&
	       !memcmp(x->bytes + f->len, zeros, x->len - f->len);
}

static bool in_window(const struct entry *f, const struct entry *x)
{
	return only_hooked || (f->ts <= x->ts && x->ts < f->bound);
}

static void set_bounds(struct list *ftrace)
{
	uint64_t next[LEVELS] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	size_t i = ftrace->n;

	while (i--) {
		struct entry *f = &ftrace->v[i];
		int l;

		f->bound = UINT64_MAX;
		for (l = 0; l <= f->level; l++)
			f->bound = next[l] < f->bound ? next[l] : f->bound;
		if (!f->delta0)
			next[f->level] = f->ts;
	}
}

/* Ours in its order; each takes the first free entry of the same bytes whose window it is in. */
static void match(struct list *ftrace, struct list *ours)
{
	size_t base = 0, i, j;

	for (i = 0; i < ours->n; i++) {
		struct entry *x = &ours->v[i];

		while (base < ftrace->n && (ftrace->v[base].match != UNMATCHED ||
					    (!only_hooked && ftrace->v[base].bound <= x->ts)))
			base++;
		for (j = base; j < ftrace->n && (only_hooked || ftrace->v[j].ts <= x->ts); j++) {
			struct entry *f = &ftrace->v[j];

			if (f->match == UNMATCHED && in_window(f, x) && same(f, x)) {
				f->match = i;
				x->match = j;
				break;
			}
		}
	}
}

static void blame_missing(unsigned int cpu, const struct list *ours, const struct entry *f)
{
	size_t i;

	for (i = 0; i < ours->n; i++) {
		struct entry *x = &ours->v[i];
		uint32_t at;

		if (x->match != UNMATCHED)
			continue;
		if (same(f, x)) {
			mismatch("cpu %u: type %u (%s): ftrace's stamp %" PRIu64 ", ours %" PRIu64
				 " is outside its window, which ends at %" PRIu64,
				 cpu, type_of(f), level_names[f->level], f->ts, x->ts, f->bound);
			x->match = EXPLAINED;
			return;
		}
		if (!in_window(f, x) || x->len != ((f->len + 7) & ~7u))
			continue;
		for (at = 0; at < f->len && f->bytes[at] == x->bytes[at]; at++)
			;
		mismatch("cpu %u: type %u (%s) at %" PRIu64 ": byte %u of %u is 0x%02x in ours%s",
			 cpu, type_of(f), level_names[f->level], f->ts, at, f->len, x->bytes[at],
			 at < f->len ? "" : ", which is padding");
		if (at < f->len && mismatches <= SHOWN_MAX)
			printf("          and 0x%02x in ftrace's\n", f->bytes[at]);
		x->match = EXPLAINED;
		return;
	}
	mismatch("cpu %u: type %u (%s), %u bytes at %" PRIu64
		 ": in ftrace's ring, not in our trace",
		 cpu, type_of(f), level_names[f->level], f->len, f->ts);
}

static void blame(unsigned int cpu, const struct list *ftrace, const struct list *ours)
{
	size_t i;

	for (i = 0; i < ftrace->n; i++) {
		if (ftrace->v[i].match != UNMATCHED)
			continue;
		if (mismatches < SHOWN_MAX)
			blame_missing(cpu, ours, &ftrace->v[i]);
		else
			mismatches++;
	}
	for (i = 0; i < ours->n; i++) {
		const struct entry *x = &ours->v[i];

		if (x->match == UNMATCHED)
			mismatch("cpu %u: type %u (%s), %u bytes at %" PRIu64 ": in our trace, and "
				 "not, or not once more, in ftrace's ring",
				 cpu, type_of(x), level_names[x->level], x->len, x->ts);
		if (i && x->ts < x[-1].ts)
			mismatch("cpu %u: our stamps go back at %" PRIu64, cpu, x->ts);
	}
}

/*
 * Which event overtook which. An event that overtook f has our stamp below that of f, so ftrace's
 * stamp below it too: looking at what began before our stamp of f misses none.
 */
static unsigned long count_inversions(unsigned int cpu, const struct list *ftrace,
				      const struct list *ours)
{
	unsigned long inversions = 0;
	size_t i, j;

	for (i = 0; i < ftrace->n; i++) {
		const struct entry *f = &ftrace->v[i];

		if (f->match >= ours->n)
			continue;
		for (j = i + 1; j < ftrace->n && ftrace->v[j].ts < ours->v[f->match].ts; j++) {
			const struct entry *g = &ftrace->v[j];
			bool overtakes = g->match < f->match;

			if (g->match >= ours->n)
				continue;
			inversions += overtakes;
			if (overtakes != (g->level > f->level))
				mismatch("cpu %u: type %u (%s) at %" PRIu64
					 " %s type %u (%s) at %" PRIu64,
					 cpu, type_of(g), level_names[g->level], g->ts,
					 overtakes ? "overtook" : "interrupted, but came after,",
					 type_of(f), level_names[f->level], f->ts);
		}
	}
	return inversions;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_cpu(unsigned int cpu, const struct list *ftrace, const struct list *ours,
		      unsigned long inversions)
{
	uint64_t *differences = must(malloc((ftrace->n + 1) * sizeof(*differences)));
	unsigned long levels[LEVELS] = { 0 }, delta0 = 0;
	size_t i, n = 0;

	for (i = 0; i < ftrace->n; i++) {
		const struct entry *f = &ftrace->v[i];

		levels[f->level]++;
		delta0 += f->delta0;
		if (f->match < ours->n)
			differences[n++] = ours->v[f->match].ts - f->ts;
	}
	qsort(differences, n, sizeof(*differences), by_value);
	printf("cpu %u: entries %zu matched %zu", cpu, ftrace->n, n);
	for (i = 0; i < LEVELS; i++)
		printf(" %s %lu", level_names[i], levels[i]);
	printf(" inversions %lu delta0 %lu stamp_ticks median %" PRIu64 " max %" PRIu64 "\n",
	       inversions, delta0, n ? differences[n / 2] : 0, n ? differences[n - 1] : 0);
	free(differences);
}

/* ------------------------------------------------------------------ the judge's own test */

/* Damage one entry in the middle of the fullest CPU. */
static void break_ours(const char *kind)
{
	struct list *l = &cpus[0].ours;
	struct entry *e, swap;
	unsigned int cpu;

	for (cpu = 1; cpu < CPU_MAX; cpu++) {
		if (cpus[cpu].ours.n > l->n)
			l = &cpus[cpu].ours;
	}
	if (l->n < 4)
		die(1, "--break: too few entries");
	e = &l->v[l->n / 2];
	if (!strcmp(kind, "flip")) {
		((uint8_t *)e->bytes)[7] ^= 1;
	} else if (!strcmp(kind, "pad")) {
		e->bytes = memcpy(must(calloc(1, e->len + 8)), e->bytes, e->len);
		e->len += 8;
	} else if (!strcmp(kind, "drop")) {
		memmove(e, e + 1, (size_t)(l->v + --l->n - e) * sizeof(*e));
	} else if (!strcmp(kind, "twice")) {
		swap = *e;
		add(l, 0, swap.bytes, swap.len);
		e = &l->v[l->n / 2];
		memmove(e + 1, e, (size_t)(l->v + l->n - 1 - e) * sizeof(*e));
	} else if (!strcmp(kind, "early")) {
		e->ts = e[-1].ts - 1;
	} else if (!strcmp(kind, "late")) {
		e->ts = e[2].ts;
	} else if (!strcmp(kind, "swap")) {
		/* Bytes change places, stamps stay. */
		while (e + 2 < l->v + l->n && e->len == e[1].len &&
		       !memcmp(e->bytes, e[1].bytes, e->len))
			e++;
		swap = *e;
		e->bytes = e[1].bytes;
		e->len = e[1].len;
		e[1].bytes = swap.bytes;
		e[1].len = swap.len;
	} else {
		die(2, "--break %s: flip, pad, drop, twice, early, late or swap", kind);
	}
}

static void set_hooked(const char *list)
{
	only_hooked = true;
	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		unsigned long type = strtoul(list, NULL, 10);

		if (type && type < 256)
			hooked[type] = true;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "break", required_argument, NULL, 'b' },
		{ "hooked", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *kind = NULL,
		   *usage = "usage: xvt-judge [--break KIND] [--hooked TYPES] TRACE.xvt DIR\n";
	unsigned int cpu, judged = 0;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 't') {
			set_hooked(optarg);
			continue;
		}
		if (opt != 'b') {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? 0 : 2;
		}
		kind = optarg;
	}
	if (argc - optind != 2) {
		fputs(usage, stderr);
		return 2;
	}
	load_ours(argv[optind]);
	if (kind)
		break_ours(kind);
	for (cpu = 0; cpu < CPU_MAX; cpu++) {
		struct list *ftrace = &cpus[cpu].ftrace, *ours = &cpus[cpu].ours;
		unsigned long inversions;

		if (!load_ftrace(argv[optind + 1], cpu, ftrace)) {
			if (ours->n)
				mismatch("cpu %u: in our trace, not in ftrace's", cpu);
			continue;
		}
		set_bounds(ftrace);
		match(ftrace, ours);
		inversions = only_hooked ? 0 : count_inversions(cpu, ftrace, ours);
		blame(cpu, ftrace, ours);
		print_cpu(cpu, ftrace, ours, inversions);
		judged += ftrace->n > 0;
	}
	if (!judged)
		die(1, "%s: no entries of ftrace's: nothing to judge", argv[optind + 1]);
	printf("verdict: %lu mismatches\n", mismatches);
	return mismatches ? 1 : 0;
}
