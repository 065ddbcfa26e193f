// SPDX-License-Identifier: GPL-2.0
/*
 * passive_kernel.c - names of the events of a guest of which only the ring of its kernel is read.
 * Their formats are those of the cache (formats/cache.h), if they are of the very build of that
 * kernel. Two things say which one it is:
 *
 *   The guest's memory, if all of it is the file: the kernel keeps a page for crash dumps that
 *   begins with its release and its build id (vmcoreinfo). One build in the whole memory is a
 *   proof. A page of a kernel that ran before may be left, so two builds are none.
 *
 *   The user (",kernel=..."), which is a claim. The memory, if it says anything, must agree.
 *
 * In both cases records are compared with the formats, and one that does not fit ends it. So the
 * formats are written when a file ends, and of the events that it has alone. A file with events of
 * two builds gets none.
 */
#define _GNU_SOURCE
#include "session/passive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/cache.h"

#define PAGE	      4096u
#define SEARCH_BYTES  (16ull << 20) /* of the memory, in a pass */
#define SEARCH_GAP_NS (SECOND_NS)   /* between two searches of the whole memory */
#define SEARCHES_MOST 120u	    /* in vain; a memory that is no machine's whole one has none */
/* After a boot, the page of the kernel before is still there, and the new one's is not yet. */
#define BOOT_NS	      (10 * SECOND_NS)
#define RELEASE	      "OSRELEASE="
#define BUILD_ID      "\nBUILD-ID="
#define TEXT_MAX      640u

/* --- what the memory says --- */

/* Take the build id of a page that begins as that for crash dumps does. */
static bool read_page(const uint8_t *page, struct xvt_kernel_found *found)
{
	char text[192], *id;
	size_t len;

	if (memcmp(page, RELEASE, strlen(RELEASE)) != 0)
		return false;
	memcpy(text, page, sizeof(text) - 1); /* the guest may change it meanwhile */
	text[sizeof(text) - 1] = 0;
	id = strstr(text, BUILD_ID);
	if (!id || strncmp(text, RELEASE, strlen(RELEASE)) != 0)
		return false;
	*id = 0;
	id += strlen(BUILD_ID);
	len = strspn(id, "0123456789abcdef");
	if (id[len] != '\n' || len >= sizeof(found->build_id))
		return false;
	id[len] = 0;
	snprintf(found->build_id, sizeof(found->build_id), "%s", id);
	return xvt_build_id_is(found->build_id);
}

static void take_found(struct xvt_passive_kernel *k, const struct xvt_kernel_found *found)
{
	if (!k->search.found.build_id[0])
		k->search.found = *found;
	else if (strcmp(k->search.found.build_id, found->build_id) != 0)
		k->search.several = true;
}

/* Search at most `left` bytes of what is no hole. Returns true at the memory's end. */
static bool search_on(struct xvt_passive *p, uint64_t left)
{
	struct xvt_passive_kernel *k = &p->kernel;
	const struct xvt_host_region *f = &p->file;
	struct xvt_kernel_found found;

	while (left && k->search.at < f->size) {
		const off_t data = lseek(f->fd, (off_t)k->search.at, SEEK_DATA);
		const off_t hole = data < 0 ? -1 : lseek(f->fd, data, SEEK_HOLE);
		uint64_t at = data < 0 ? k->search.at : (uint64_t)data;
		const uint64_t to = hole < 0 ? f->size : (uint64_t)hole;

		if (data < 0 && errno == ENXIO)
			return true;
		for (at -= at % PAGE; at < to && f->size - at >= PAGE && left >= PAGE; at += PAGE) {
			left -= PAGE;
			if (read_page(f->map + at, &found))
				take_found(k, &found);
		}
		k->search.at = at;
		if (f->size - at < PAGE)
			return true;
		if (left < PAGE)
			return false;
	}
	return k->search.at >= f->size;
}

static void note_found(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	char why[TEXT_MAX];

	if (k->several) {
		if (!k->told_several)
			xvt_session_note(s, 1, vm, UINT32_MAX,
					 "its memory has the build ids of two kernels, so none is "
					 "known to be the one that runs");
		k->told_several = true;
		return;
	}
	if (!strcmp(k->told, k->now.build_id))
		return;
	memcpy(k->told, k->now.build_id, sizeof(k->told));
	if (xvt_formats_cache_find(&s->sources.formats->cache, k->now.build_id, why, sizeof(why)))
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "its memory says that its kernel is build %s, whose formats are "
				 "known",
				 k->now.build_id);
	else
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "its memory says that its kernel is build %s: %s", k->now.build_id,
				 why);
}

/* The whole memory was searched. */
static void take_search(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	const struct xvt_kernel_found found = k->search.found;
	const bool several = k->search.several;
	const uint64_t begun = k->search.begun;

	memset(&k->search, 0, sizeof(k->search));
	k->next_clock = xvt_clock_read() + ticks(s, SEARCH_GAP_NS);
	if (!found.build_id[0]) {
		k->in_vain++;
		return;
	}
	k->in_vain = 0;
	if (k->boot_clock && since(begun, k->boot_clock) < ticks(s, BOOT_NS))
		return;
	k->several |= several || (k->now.build_id[0] && strcmp(k->now.build_id, found.build_id));
	k->now = found;
	note_found(s, vm);
}

void xvt_passive_kernel_pass(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive *p = vm->passive;
	struct xvt_passive_kernel *k = &p->kernel;
	const uint64_t now = xvt_clock_read();

	if (k->in_vain >= SEARCHES_MOST || (!k->search.begun && earlier(now, k->next_clock)))
		return;
	if (!k->search.begun)
		k->search.begun = now;
	if (search_on(p, SEARCH_BYTES))
		take_search(s, vm);
}

/* --- boots and records --- */

/* What holds for the events of this file up to now: one build, or more. */
static void settle_boot(struct xvt_passive_kernel *k)
{
	if (k->several || !k->now.build_id[0] ||
	    (k->file.build_id[0] && strcmp(k->file.build_id, k->now.build_id) != 0))
		k->mixed = true;
	k->file = k->now;
}

/*
 * Each CPU's ring tells of a boot by itself: it has another address, or its newest page was begun
 * anew. The address of the whole ring buffer says whether it is the same boot.
 */
static bool is_new_boot(struct xvt_passive_kernel *k, const struct xvt_passive_cpu *c,
			const struct xvt_ftrace_map *map)
{
	const uint64_t address = c->ring.first - (c->ring.data - map->base);
	const bool restarted_most = c->restarts > k->restarts;
	const bool moved = address != k->address;

	if (restarted_most)
		k->restarts = c->restarts;
	k->address = address;
	return moved || restarted_most;
}

void xvt_passive_kernel_boots(struct xvt_vm *vm, struct xvt_passive_cpu *c)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;

	c->restarts++;
	if (!is_new_boot(k, c, &vm->passive->map))
		return;
	if (!k->claimed)
		settle_boot(k);
	memset(&k->now, 0, sizeof(k->now));
	memset(&k->search, 0, sizeof(k->search));
	k->several = false;
	k->in_vain = 0;
	k->boot_clock = xvt_clock_read();
	k->next_clock = k->boot_clock;
}

void xvt_passive_kernel_record(struct xvt_vm *vm, const uint8_t *record, uint32_t len)
{
	if (vm->passive->kernel.fit)
		xvt_fit_record(vm->passive->kernel.fit, record, len);
}

/* --- the end of a file --- */

static void put(struct xvt_session *s, const struct xvt_vm *vm, uint32_t type, uint32_t id,
		const void *bytes, size_t len)
{
	const struct xvt_meta_info info = { vm->id, type, id, vm->region.hdr.generation };

	/* Each file has its own. */
	xvt_trace_put(s->trace, XVT_CHUNK_META, &info, sizeof(info), bytes, len);
}

static void put_formats(struct xvt_session *s, const struct xvt_vm *vm, const struct xvt_formats *f)
{
	struct xvt_formats_event e;
	size_t at = 0;

	put(s, vm, XVT_META_TEXT, 0, f->kernel, strlen(f->kernel));
	while (xvt_formats_next(f, &at, &e)) {
		if (xvt_fit_has(vm->passive->kernel.fit, e.id))
			put(s, vm, XVT_META_FORMAT, e.id, e.payload, e.payload_len);
	}
}

/* Returns the formats that are those of all events of the file, or NULL with a reason. */
static const struct xvt_formats *choose(struct xvt_session *s, struct xvt_passive_kernel *k,
					char *why, size_t size)
{
	if (k->claimed) {
		if (!k->several && k->now.build_id[0] &&
		    strcmp(k->now.build_id, k->claimed->build_id) != 0) {
			snprintf(why, size,
				 "kernel=%s is build %s, but its memory says that it is build %s",
				 k->claim, k->claimed->build_id, k->now.build_id);
			return NULL;
		}
		return k->claimed;
	}
	settle_boot(k);
	if (!k->mixed)
		return xvt_formats_cache_find(&s->sources.formats->cache, k->file.build_id, why,
					      size);
	snprintf(why, size,
		 k->boot_clock || k->several
			 ? "its memory does not say that one kernel wrote all of them"
			 : "what is read of its memory does not say which kernel it is; say it by "
			   "-r NAME=" XVT_FTRACE_PATH "FILE,kernel=BUILDID, and see "
			   "xvtrace-formats(1)");
	return NULL;
}

static void name_events(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	char why[TEXT_MAX], kernel[XVT_BUILD_ID_TEXT + 80];
	const struct xvt_formats *f = choose(s, k, why, sizeof(why));
	uint32_t unknown = 0;

	if (!f) {
		xvt_session_note_of_file(s, 1, vm, "its events have no names: %s", why);
		return;
	}
	snprintf(kernel, sizeof(kernel), "%s, build %s", f->release, f->build_id);
	if (!xvt_fit_check(k->fit, f, &unknown, why, sizeof(why))) {
		xvt_session_note_of_file(s, 1, vm,
					 "its events have no names: they are not of kernel %s: %s",
					 kernel, why);
		return;
	}
	put_formats(s, vm, f);
	xvt_session_note_of_file(s, 0, vm,
				 "the names of its events are those of kernel %s, which %s%s",
				 kernel, k->claimed ? "was stated by kernel=" : "its memory names",
				 k->claimed ? "; that their lengths fit is no proof" : "");
	if (unknown)
		xvt_session_note_of_file(
			s, 0, vm,
			"%u kinds of its events are of modules or probes, whose numbers "
			"are no kernel's: they have no names",
			unknown);
}

static bool has_events(const struct xvt_vm *vm)
{
	for (uint32_t i = 0; vm->rings && i < vm->region.g.ring_count; i++) {
		if (vm->rings[i] && vm->rings[i]->account.stats.events)
			return true;
	}
	return false;
}

void xvt_session_passive_names(struct xvt_session *s, bool end)
{
	for (size_t i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];
		struct xvt_passive_kernel *k = vm->passive ? &vm->passive->kernel : NULL;

		if (!k || !k->fit || !has_events(vm))
			continue;
		/* A search in one piece holds up no other machine when the recording is over. */
		if (end && k->in_vain < SEARCHES_MOST && vm->passive->file.map) {
			memset(&k->search, 0, sizeof(k->search));
			k->search.begun = xvt_clock_read();
			search_on(vm->passive, UINT64_MAX);
			take_search(s, vm);
		}
		name_events(s, vm);
		k->mixed = false;
		memset(&k->file, 0, sizeof(k->file));
	}
}

/* --- beginning and end of a machine --- */

int xvt_passive_kernel_begin(struct xvt_session *s, struct xvt_passive *p, char *why,
			     size_t why_size)
{
	struct xvt_passive_kernel *k = &p->kernel;

	if (!s->sources.formats) {
		s->sources.formats = calloc(1, sizeof(*s->sources.formats));
		if (s->sources.formats &&
		    xvt_formats_cache_read(&s->sources.formats->cache, s->sources.formats->why,
					   sizeof(s->sources.formats->why)))
			memset(&s->sources.formats->cache, 0, sizeof(s->sources.formats->cache));
	}
	k->fit = xvt_fit_new();
	if (!s->sources.formats || !k->fit) {
		snprintf(why, why_size, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	if (!k->claim[0])
		return 0;
	k->claimed = xvt_formats_cache_find(&s->sources.formats->cache, k->claim, why, why_size);
	if (!k->claimed && s->sources.formats->why[0])
		snprintf(why, why_size, "%s", s->sources.formats->why);
	return k->claimed ? 0 : -ENOENT;
}

void xvt_passive_kernel_end(struct xvt_passive *p)
{
	xvt_fit_free(p->kernel.fit);
	p->kernel.fit = NULL;
}

void xvt_session_formats_free(struct xvt_session *s)
{
	if (s->sources.formats)
		xvt_formats_cache_free(&s->sources.formats->cache);
	free(s->sources.formats);
	s->sources.formats = NULL;
}
