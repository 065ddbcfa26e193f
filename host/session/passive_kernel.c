// SPDX-License-Identifier: GPL-2.0
/*
 * passive_kernel.c - which kernel a guest runs of which only the ring of its kernel is read. Two
 * things say it:
 *
 *   The guest's memory, if all of it is the file: each kernel writes, while it boots, a page for
 *   crash dumps that begins with its release, its build id and an address of its data
 *   (vmcoreinfo). One build in the whole memory is a proof. After a boot that was seen, pages that
 *   were there before it are none of the new kernel's. KASLR gives each boot other addresses; so
 *   a page with the same address may be the old one, or the same again.
 *
 *   The user (",kernel=..."), which is a claim. The memory, if it says anything, must agree.
 *
 * passive_names.c writes the names.
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
#define RELEASE	      "OSRELEASE="
#define BUILD_ID      "\nBUILD-ID="
#define PLACE	      "\nSYMBOL(init_uts_ns)=" /* moved by KASLR, unlike the release */
#define TEXT_MAX      640u

/* --- what the memory says --- */

/* The address in a page; 0: there is none yet, the kernel writes line by line. */
static uint64_t place_of(const char *text)
{
	const char *at = strstr(text, PLACE);
	char *end;
	uint64_t place;

	if (!at)
		return 0;
	place = strtoull(at + strlen(PLACE), &end, 16);
	return *end == '\n' ? place : 0;
}

/* Take the build id of a page that begins as that for crash dumps does. */
static bool read_page(const uint8_t *page, struct xvt_kernel_found *found)
{
	char text[320], *id;
	size_t len;

	if (memcmp(page, RELEASE, strlen(RELEASE)) != 0)
		return false;
	memcpy(text, page, sizeof(text) - 1); /* the guest may change it meanwhile */
	text[sizeof(text) - 1] = 0;
	id = strstr(text, BUILD_ID);
	if (!id || strncmp(text, RELEASE, strlen(RELEASE)) != 0)
		return false;
	*found = (struct xvt_kernel_found){ .place = place_of(id) };
	id += strlen(BUILD_ID);
	len = strspn(id, "0123456789abcdef");
	if (id[len] != '\n' || len >= sizeof(found->build_id))
		return false;
	id[len] = 0;
	snprintf(found->build_id, sizeof(found->build_id), "%s", id);
	return xvt_build_id_is(found->build_id);
}

static bool has_page(const struct xvt_kernel_pages *pages, const struct xvt_kernel_found *found)
{
	for (uint32_t i = 0; i < pages->n; i++) {
		if (pages->v[i].place == found->place &&
		    !strcmp(pages->v[i].build_id, found->build_id))
			return true;
	}
	return false;
}

static void take_found(struct xvt_kernel_pages *pages, const struct xvt_kernel_found *found)
{
	if (has_page(pages, found))
		return;
	if (pages->n < XVT_KERNEL_PAGES)
		pages->v[pages->n++] = *found;
	else
		pages->more = true;
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
				take_found(&k->search.pages, &found);
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
	struct xvt_error why;

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
	if (xvt_formats_cache_find(&s->sources.formats->cache, k->now.build_id, &why))
		xvt_session_note(s, 0, vm, UINT32_MAX,
				 "its memory says that its kernel is build %s, whose formats are "
				 "known",
				 k->now.build_id);
	else
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "its memory says that its kernel is build %s: %s", k->now.build_id,
				 why.text);
}

/*
 * What a search found that can be of the kernel which runs: before the first boot that was seen,
 * all; then those that were not there before the boot. A page without an address may be either.
 */
static void choose_pages(const struct xvt_passive_kernel *k, struct xvt_kernel_pages *to)
{
	const struct xvt_kernel_pages *all = &k->search.pages;

	*to = (struct xvt_kernel_pages){ .more = all->more };
	for (uint32_t i = 0; i < all->n; i++) {
		if (!k->boot_clock || (all->v[i].place && !has_page(&k->before, &all->v[i])))
			take_found(to, &all->v[i]);
	}
}

/* Returns the number of different builds, two at most. */
static unsigned int count_builds(const struct xvt_kernel_pages *pages)
{
	for (uint32_t i = 1; i < pages->n; i++) {
		if (strcmp(pages->v[i].build_id, pages->v[0].build_id) != 0)
			return 2;
	}
	return pages->more ? 2 : pages->n != 0;
}

/*
 * After a boot without KASLR a page of the kernel before is the same as its page of this boot. That
 * the ring names the same address of the kernel's code as before the boot makes it likely that it
 * is this kernel again, but is no proof.
 */
static bool may_be_same_again(const struct xvt_passive *p)
{
	const struct xvt_passive_kernel *k = &p->kernel;

	return k->boot_clock && k->text && xvt_ftrace_map_text(&p->map) == k->text &&
	       count_builds(&k->search.pages) == 1;
}

/* The whole memory was searched. */
static void take_search(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	struct xvt_kernel_pages pages;
	struct xvt_kernel_found found = { 0 };

	choose_pages(k, &pages);
	if (pages.n) {
		found = pages.v[0];
		found.unproven = k->boot_clock && !k->before_known;
	} else if (may_be_same_again(vm->passive)) {
		found = k->search.pages.v[0];
		found.unproven = true;
	}
	k->latest = k->search.pages;
	memset(&k->search, 0, sizeof(k->search));
	k->next_clock = xvt_clock_read() + ticks(s, SEARCH_GAP_NS);
	if (!found.build_id[0]) {
		k->in_vain++;
		return;
	}
	k->in_vain = 0;
	if (!k->text_now)
		k->text_now = xvt_ftrace_map_text(&vm->passive->map);
	k->evidence += strcmp(k->now.build_id, found.build_id) || found.unproven != k->now.unproven;
	/* A page that was left by a boot before gives way to that of the kernel that runs. */
	if (count_builds(&pages) > 1 || (k->now.build_id[0] && !k->now.unproven &&
					 strcmp(k->now.build_id, found.build_id) != 0)) {
		k->evidence += !k->several;
		k->several = true;
	}
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
	const bool differs = k->file.build_id[0] && k->now.build_id[0] &&
			     strcmp(k->file.build_id, k->now.build_id) != 0;

	if (k->several || !k->now.build_id[0] || differs)
		k->mixed = true;
	k->two_builds |= differs;
	if (k->now.build_id[0])
		k->file = k->now;
	k->file_unproven |= k->now.unproven;
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
	settle_boot(k);
	k->before = k->latest;
	k->before_known = k->now.build_id[0] && !k->now.unproven && !k->several && !k->latest.more;
	k->text = k->text_now;
	k->text_now = 0;
	k->evidence++;
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

void xvt_passive_kernel_last(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive *p = vm->passive;

	if (p->kernel.in_vain >= SEARCHES_MOST || !p->file.map)
		return;
	memset(&p->kernel.search, 0, sizeof(p->kernel.search));
	p->kernel.search.begun = xvt_clock_read();
	search_on(p, UINT64_MAX);
	take_search(s, vm);
}

/* --- beginning and end of a machine --- */

int xvt_passive_kernel_begin(struct xvt_session *s, struct xvt_passive *p, struct xvt_error *why)
{
	struct xvt_passive_kernel *k = &p->kernel;

	if (!s->sources.formats) {
		s->sources.formats = calloc(1, sizeof(*s->sources.formats));
		if (s->sources.formats &&
		    xvt_formats_cache_read(&s->sources.formats->cache, &s->sources.formats->why))
			memset(&s->sources.formats->cache, 0, sizeof(s->sources.formats->cache));
	}
	k->fit = xvt_fit_new();
	k->names.has = calloc(XVT_FIT_IDS, 1);
	if (!s->sources.formats || !k->fit || !k->names.has)
		return xvt_fail(why, -ENOMEM, "%s", strerror(ENOMEM));
	if (!k->claim[0])
		return 0;
	k->claimed = xvt_formats_cache_find(&s->sources.formats->cache, k->claim, why);
	if (!k->claimed && s->sources.formats->why.text[0])
		xvt_fail(why, 0, "%s", s->sources.formats->why.text);
	return k->claimed ? 0 : -EINVAL; /* not of the machine's file */
}

void xvt_passive_kernel_end(struct xvt_passive *p)
{
	xvt_fit_free(p->kernel.fit);
	p->kernel.fit = NULL;
	free(p->kernel.names.has);
	p->kernel.names.has = NULL;
}

void xvt_session_formats_free(struct xvt_session *s)
{
	if (s->sources.formats)
		xvt_formats_cache_free(&s->sources.formats->cache);
	free(s->sources.formats);
	s->sources.formats = NULL;
}
