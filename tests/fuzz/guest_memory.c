// SPDX-License-Identifier: GPL-2.0
/* guest_memory.c - see guest_memory.h. */
#include "guest_memory.h"

#include <errno.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "xvt_check.h"

#define BYTES_MAX   (1u << 20) /* regions are smaller than this here */
#define RINGS_MAX   64u
#define UNLIMITED   255u
#define CLOCK_STEP  1000u /* ticks (= ns) that a look at the clock takes */
#define CLOCK_BEGIN 1000000000000ull

static struct {
	dev_t device; /* of the guest's file; 0: none */
	ino_t inode;
	uint8_t *guarded; /* what the host has: no access */
	uint8_t *alias;	  /* where it really goes */
	size_t size;
	uint64_t cut; /* of the file, if it got shorter */
	bool cutting; /* the host finds out what a snapshot takes of a ring */
	bool gone;    /* the host's SIGBUS handler put zeros there: an ordinary mapping now */
	const struct xvt_geometry *g;
	struct xvt_geometry geometry;
	uint32_t pass;
	uint64_t clock;
	uint32_t last_generation[RINGS_MAX]; /* by ring: what the last look found */
	uint32_t last_backend[RINGS_MAX];
} m;

/* How often a word was fetched in which pass. */
static struct {
	uint32_t pass;
	uint8_t times;
} fetched[BYTES_MAX / 4];

/*
 * The rule is: a shared byte is fetched once in a pass, into private memory, checked, used. These
 * words are fetched more often, and why that is right:
 */
static const struct {
	uint16_t off, size; /* in the ring's control block */
	uint8_t most;
	const char *why;
} more[] = {
#define CTL(field, most, why)                                                                    \
	{                                                                                        \
		offsetof(struct xvt_ring_ctl, field), sizeof(((struct xvt_ring_ctl *)0)->field), \
			most, why                                                                \
	}
	CTL(generation, 4,
	    "before and after the words that belong to it, and after the copies; and before all "
	    "that compared with what it was at rest"),
	CTL(backend, 2, "before and after resv, which it says how to read"),
	CTL(resv, 3,
	    "compared with what it was at rest; and after the copies, to notice that they "
	    "were overtaken"),
	CTL(nest, 2, "compared with what it was at rest"),
	CTL(commit, 2, "likewise"),
	CTL(state, 3,
	    "likewise; whether an owner can be asked for the time; what the pass then found"),
	CTL(answer_seq, UNLIMITED, "a poll; compared, never used"),
	CTL(mark_ack, UNLIMITED, "likewise"),
	CTL(relayed_lost, UNLIMITED,
	    "a count that grows, asked of each page that says that events are missing"),
	CTL(type, UNLIMITED, "shown to people only, and to the trace's description of a ring"),
	CTL(cpu, UNLIMITED, "likewise"),
	CTL(hw_id, UNLIMITED, "likewise"),
	CTL(pid, UNLIMITED, "likewise"),
	CTL(tid, UNLIMITED, "likewise"),
	CTL(clock_id, UNLIMITED, "likewise"),
#undef CTL
};

/* The VMM's clock in the host's half: seq goes around what it belongs to, a formula is read before
 * and after each burst, and none is used that the guest's own answers contradict. */
static bool in_vmm_clock(uint64_t field)
{
	const uint64_t from = m.g->ctl_stride / 2 + offsetof(struct xvt_ring_host, vmm_clock);

	return field >= from && field < from + sizeof(struct xvt_vmm_clock);
}

void fuzz_memory_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		fuzz_finding("fstat: %s", strerror(errno));
	m.device = st.st_dev;
	m.inode = st.st_ino;
}

static bool is_guests_file(int fd)
{
	struct stat st;

	return m.inode && !fstat(fd, &st) && st.st_dev == m.device && st.st_ino == m.inode;
}

void fuzz_memory_reset(void)
{
	m.guarded = NULL;
	m.g = NULL;
	m.gone = false;
	m.cut = UINT64_MAX;
	m.clock = CLOCK_BEGIN;
	m.pass++;
}

void fuzz_pass(void)
{
	m.pass++;
}

void fuzz_memory_cutting(bool yes)
{
	m.cutting = yes;
}

void fuzz_memory_geometry(const struct xvt_geometry *g)
{
	m.geometry = *g;
	m.g = &m.geometry;
	m.pass++; /* the header is read once; a region is opened once a run */
}

void fuzz_memory_cut(uint64_t size)
{
	if (size < m.cut)
		m.cut = size;
}

static void forget(uint64_t off, uint64_t len)
{
	for (uint64_t i = off / 4; i < (off + len + 3) / 4 && i < BYTES_MAX / 4; i++)
		fetched[i].times = 0;
}

void fuzz_look_again(uint32_t ring)
{
	if (!m.g || ring >= m.g->ring_count)
		return;
	forget(xvt_ctl_off(m.g, ring), m.g->ctl_stride);
	forget(xvt_data_off(m.g, ring), m.g->ring_size);
}

/* Which word of which ring's control block; false for what is not in one. */
static bool in_ctl(uint64_t off, uint32_t *ring, uint64_t *field)
{
	uint64_t from = m.g ? off - m.g->ctl_off : 0;

	if (!m.g || off < m.g->ctl_off || from >= (uint64_t)m.g->ctl_stride * m.g->ring_count)
		return false;
	*ring = (uint32_t)(from / m.g->ctl_stride);
	*field = from % m.g->ctl_stride;
	return true;
}

static unsigned int most_fetches(uint64_t off, uint32_t *ring, uint64_t *field)
{
	if (!m.g)
		return 1;
	if (off / 4 == (m.g->host_off + offsetof(struct xvt_host_page, nonce)) / 4 ||
	    off / 4 == (m.g->host_off + offsetof(struct xvt_host_page, nonce)) / 4 + 1)
		/* Before and after the copies, and before a ring is made: is this still the memory
		 * that the host wrote? Each load is compared with what the host stored, and not
		 * used. */
		return UNLIMITED;
	if (!in_ctl(off, ring, field))
		return 1;
	if (in_vmm_clock(*field))
		return UNLIMITED;
	/* Which of its sub-buffers a writer has left behind: asked of each. */
	if (m.cutting && *field >= offsetof(struct xvt_ring_ctl, resv) &&
	    *field < offsetof(struct xvt_ring_ctl, resv) + sizeof(uint64_t))
		return UNLIMITED;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		if (*field / 8 == more[i].off / 8 &&
		    (more[i].off % 8 == 0 || *field >= more[i].off))
			return more[i].most;
	}
	return 1;
}

static void count_word(uint64_t word)
{
	uint32_t ring = 0;
	uint64_t field = UINT64_MAX;
	unsigned int most = most_fetches(word * 4, &ring, &field);

	if (fetched[word].pass != m.pass) {
		fetched[word].pass = m.pass;
		fetched[word].times = 0;
	}
	if (fetched[word].times < UNLIMITED)
		fetched[word].times++;
	if (most != UNLIMITED && fetched[word].times > most)
		fuzz_finding("second fetch: byte %llu of the region was read %u times in one pass"
			     " (ring %u, byte %lld of its control block)",
			     (unsigned long long)word * 4, fetched[word].times, ring,
			     (long long)field);
}

static void count(uint64_t off, size_t len)
{
	if (len > BYTES_MAX || off > BYTES_MAX - len)
		fuzz_finding("access outside the region: %llu", (unsigned long long)off);
	for (uint64_t word = off / 4; len && word <= (off + len - 1) / 4; word++)
		count_word(word);
}

/* The words that belong together begin again: see xvt_ring_words(). */
static void words_again(uint32_t ring)
{
	const uint64_t ctl = xvt_ctl_off(m.g, ring);

	forget(ctl + offsetof(struct xvt_ring_ctl, generation), 4);
	forget(ctl + offsetof(struct xvt_ring_ctl, backend), 4);
	forget(ctl + offsetof(struct xvt_ring_ctl, nest), 4);
	forget(ctl + offsetof(struct xvt_ring_ctl, resv), 8);
	forget(ctl + offsetof(struct xvt_ring_ctl, commit), 8);
}

/* What the host is about to load at `off`: does it make earlier fetches void? */
static void note_value(uint64_t off, const void *at)
{
	uint32_t ring, word, *last;
	uint64_t field;
	bool again;

	if (!in_ctl(off, &ring, &field) || ring >= RINGS_MAX)
		return;
	if (field == offsetof(struct xvt_ring_ctl, answer_seq)) /* another question's answer */
		forget(xvt_ctl_off(m.g, ring) + offsetof(struct xvt_ring_ctl, answer_clock), 8);
	if (field == offsetof(struct xvt_ring_ctl, generation))
		last = &m.last_generation[ring];
	else if (field == offsetof(struct xvt_ring_ctl, backend))
		last = &m.last_backend[ring];
	else
		return;
	word = __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
	/* The third one, if the generation was compared with what it was at rest before. */
	again = (fetched[off / 4].times == 2 ||
		 (fetched[off / 4].times == 3 && last == &m.last_generation[ring])) &&
		(word != *last || (word == XVT_BACKEND_NONE && last == &m.last_backend[ring]));
	*last = word;
	if (again)
		words_again(ring);
}

static bool guarded(const volatile void *p, size_t size)
{
	uintptr_t at = (uintptr_t)p, start = (uintptr_t)m.guarded;

	return m.guarded && !m.gone && at >= start && at - start < m.size &&
	       size <= m.size - (at - start);
}

bool fuzz_memory_is_guests(const void *p)
{
	return guarded(p, 1);
}

static uint64_t offset_of(const volatile void *p)
{
	return (uint64_t)((uintptr_t)p - (uintptr_t)m.guarded);
}

/* Behind the end of a file that got shorter: let the host's own handler have its SIGBUS. */
static bool past_cut(uint64_t off, size_t size)
{
	if (m.cut == UINT64_MAX || off + size <= ((m.cut + 4095) & ~4095ull))
		return false;
	mprotect(m.guarded, m.size, PROT_READ | PROT_WRITE);
	return true;
}

void *fuzz_fetch(const volatile void *p, size_t size)
{
	uint64_t off;

	if (!guarded(p, size))
		return (void *)p;
	fuzz_guest_turn();
	off = offset_of(p);
	if (past_cut(off, size))
		return (void *)p;
	count(off, size);
	note_value(off, m.alias + off);
	return m.alias + off;
}

void *fuzz_place(volatile void *p, size_t size)
{
	if (!guarded(p, size))
		return (void *)p;
	fuzz_guest_turn();
	if (past_cut(offset_of(p), size))
		return (void *)p;
	return m.alias + offset_of(p);
}

void fuzz_stored(volatile void *p)
{
	if (guarded(p, 1))
		fuzz_guest_stored(offset_of(p));
}

/* A copy in two halves, so that the guest can come between them. */
/* Of a ring's records. Each piece is parsed from its own copy and nothing else, and a guest that
 * says that a new generation begins where an older one lies makes the host copy the same bytes
 * again under another position: so copies of them are not counted, other looks at them are. */
static bool in_data(uint64_t off)
{
	return m.g && off >= xvt_data_off(m.g, 0);
}

/* In two halves, because a copy is no single moment. */
void *fuzz_memcpy(void *to, const void *from, size_t len)
{
	size_t half = len / 2;

	if (!guarded(from, len) && !guarded(to, len))
		return memcpy(to, from, len);
	if (guarded(to, len)) {
		memcpy(fuzz_place(to, len), from, len);
		return to;
	}
	if (in_data(offset_of(from))) {
		memcpy(to, fuzz_place((void *)(uintptr_t)from, half), half);
		memcpy((uint8_t *)to + half,
		       fuzz_place((uint8_t *)(uintptr_t)from + half, len - half), len - half);
		return to;
	}
	memcpy(to, fuzz_fetch(from, half), half);
	/* The second half may begin in a word that the first one counted already. */
	if (half % 4)
		forget(offset_of(from) + half, 1);
	memcpy((uint8_t *)to + half, fuzz_fetch((const uint8_t *)from + half, len - half),
	       len - half);
	return to;
}

void *fuzz_memset(void *to, int byte, size_t len)
{
	memset(guarded(to, len) ? fuzz_place(to, len) : to, byte, len);
	return to;
}

void *fuzz_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *p;

	if (flags & MAP_FIXED) /* the SIGBUS handler */
		m.gone = true;
	if (fd < 0 || flags & MAP_FIXED || len > BYTES_MAX || !is_guests_file(fd))
		return mmap(at, len, prot, flags, fd, off);
	p = mmap(at, len, prot, flags, fd, off);
	if (p == MAP_FAILED)
		return p;
	m.alias = p;
	p = mmap(NULL, len, PROT_NONE, flags, fd, off);
	if (p == MAP_FAILED)
		return p;
	m.guarded = p;
	m.size = len;
	m.gone = false;
	return p;
}

int fuzz_munmap(void *at, size_t len)
{
	if (at == m.guarded && m.guarded) {
		munmap(m.alias, m.size);
		m.guarded = NULL;
	}
	return munmap(at, len);
}

/* ------------------------------------------------------------------ time and chance */

uint64_t fuzz_clock(void)
{
	m.clock += CLOCK_STEP;
	return m.clock;
}

void fuzz_clock_advance(uint64_t ns)
{
	m.clock += ns;
}

int fuzz_clock_gettime(clockid_t id, struct timespec *ts)
{
	(void)id;
	ts->tv_sec = (time_t)(m.clock / 1000000000u);
	ts->tv_nsec = (long)(m.clock % 1000000000u);
	return 0;
}

int fuzz_nanosleep(const struct timespec *wait, struct timespec *left)
{
	(void)left;
	m.clock += (uint64_t)wait->tv_sec * 1000000000u + (uint64_t)wait->tv_nsec;
	return 0;
}

ssize_t fuzz_getrandom(void *to, size_t len, unsigned int flags)
{
	(void)flags;
	memset(to, 0x5a, len);
	return (ssize_t)len;
}
