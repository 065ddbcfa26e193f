// SPDX-License-Identifier: GPL-2.0
/*
 * passive_names.c - names of the events of a guest of which only the ring of its kernel is read.
 * Their formats are those of the cache (formats/cache.h), if they are of the very build of that
 * kernel (passive_kernel.c). Records are compared with the formats, too, and one that does not fit
 * ends it.
 *
 * The formats go into the file as soon as the kernel is known, those of the events that the file
 * has alone: so a file whose recorder was killed has them. What is found out later may contradict
 * them: a boot of a kernel that is not known, a second build in the memory, a record that does not
 * fit. Then all names of the file are withdrawn. A file with events of two builds has none at its
 * end.
 *
 * The file also says which kernel that is, and how long the records are (XVT_META_KERNEL): so a
 * reader whose host has the formats can name events of a file that has none.
 */
#include "session/passive.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define LOOK_NS	       (SECOND_NS / 4)
/* Withdrawals after which the file gets its names at its end: a guest may boot for ever. */
#define WITHDRAWN_MOST 16u
#define TEXT_MAX       640u
/* Of a META chunk with lengths, which is too short to be compressed. */
#define EVENTS_MOST    100u

static void put(struct xvt_session *s, const struct xvt_vm *vm, uint32_t type, uint32_t id,
		const void *bytes, size_t len)
{
	const struct xvt_meta_info info = {
		vm->id, type, id, vm->region.hdr.generation + vm->passive->kernel.names.generation
	};

	/* Each file has its own. */
	xvt_trace_put(s->trace, XVT_CHUNK_META, &info, sizeof(info), bytes, len);
}

static void set_known(struct xvt_vm *vm, uint32_t id, bool known)
{
	vm->passive->kernel.names.has[id] = known;
	if (vm->metadata.types && id < XVT_TYPES)
		vm->metadata.types->known[id] = known;
}

/* --- what is known --- */

/* Returns whether all events of the file up to now are of one build, which k->now names. */
static bool is_one_build(const struct xvt_passive_kernel *k)
{
	return !k->mixed && !k->several && k->now.build_id[0] &&
	       (!k->file.build_id[0] || !strcmp(k->file.build_id, k->now.build_id));
}

/* Returns the formats that are those of all events of the file, or NULL with a reason. */
static const struct xvt_formats *choose(const struct xvt_session *s,
					const struct xvt_passive_kernel *k, struct xvt_error *why)
{
	if (k->claimed) {
		if (k->several || !k->now.build_id[0] || k->now.unproven ||
		    !strcmp(k->now.build_id, k->claimed->build_id))
			return k->claimed;
		xvt_fail(why, 0, "kernel=%s is build %s, but its memory says that it is build %s",
			 k->claim, k->claimed->build_id, k->now.build_id);
		return NULL;
	}
	if (is_one_build(k))
		return xvt_formats_cache_find(&s->sources.formats->cache, k->now.build_id, why);
	xvt_fail(why, 0,
		 k->boot_clock || k->several
			 ? "its memory does not say that one kernel wrote all of them"
			 : "what is read of its memory does not say which kernel it is; say it by "
			   "-r NAME=" XVT_FTRACE_PATH "FILE,kernel=BUILDID, and see "
			   "xvtrace-formats(1)");
	return NULL;
}

/* The same, and no record of the file contradicts them. */
static const struct xvt_formats *choose_fitting(const struct xvt_session *s,
						const struct xvt_passive_kernel *k,
						uint32_t *unknown, struct xvt_error *why)
{
	struct xvt_error reason;
	const struct xvt_formats *f = choose(s, k, why);

	if (!f || xvt_fit_check(k->fit, f, unknown, &reason))
		return f;
	xvt_fail(why, 0, "they are not of kernel %s, build %s: %s", f->release, f->build_id,
		 reason.text);
	return NULL;
}

/* --- in the file --- */

static bool has_no_proof(const struct xvt_passive_kernel *k)
{
	return k->now.unproven || k->file_unproven;
}

static bool is_unproven(const struct xvt_passive_kernel *k)
{
	return !k->claimed && has_no_proof(k);
}

/* What the memory says, whatever the user states. */
static struct xvt_meta_kernel what_is_known(const struct xvt_passive_kernel *k)
{
	struct xvt_meta_kernel m = { .flags = k->names.of ? XVT_KERNEL_F_NAMED : 0 };

	if (k->two_builds || (k->file.build_id[0] && k->now.build_id[0] &&
			      strcmp(k->file.build_id, k->now.build_id) != 0)) {
		m.state = XVT_KERNEL_MIXED;
	} else if (is_one_build(k)) {
		m.state = has_no_proof(k) ? XVT_KERNEL_UNPROVEN : XVT_KERNEL_PROVEN;
		memcpy(m.build_id, k->now.build_id, strlen(k->now.build_id));
	}
	return m;
}

/* Say in the file what has changed since that was said last. */
static void put_kernel(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	const struct xvt_meta_kernel known = what_is_known(k);
	struct {
		struct xvt_meta_kernel kernel;
		struct xvt_kernel_event events[EVENTS_MOST];
	} m;
	const struct xvt_meta_info info = { vm->id, XVT_META_KERNEL, 0, 0 };
	bool changed = !k->names.said || memcmp(&known, &k->names.known, sizeof(known)) != 0;
	struct xvt_fit_lengths l;
	uint32_t at = 0, n;

	do {
		m.kernel = known;
		for (n = 0; n < EVENTS_MOST && xvt_fit_take(k->fit, &at, &l); n++)
			m.events[n] = (struct xvt_kernel_event){ l.id, l.least, l.most, 0 };
		if (n || changed)
			xvt_trace_put(s->trace, XVT_CHUNK_META, &info, sizeof(info), &m,
				      sizeof(m.kernel) + n * sizeof(m.events[0]));
		changed = false;
	} while (n == EVENTS_MOST);
	k->names.known = known;
	k->names.said = true;
}

static void note_names(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_formats *f)
{
	const struct xvt_passive_kernel *k = &vm->passive->kernel;
	const bool unproven = is_unproven(k);

	xvt_session_note_of_file(
		s, unproven, vm,
		"the names of its events are those of kernel %s, build %s, which %s%s", f->release,
		f->build_id, k->claimed ? "was stated by kernel=" : "its memory names",
		k->claimed ? "; that their lengths fit is no proof"
		: unproven ? "; a boot before may have left that there, so it is no proof"
			   : "");
}

static void put_names(struct xvt_session *s, struct xvt_vm *vm, const struct xvt_formats *f)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	struct xvt_formats_event e;
	size_t at = 0;

	if (!k->names.of)
		put(s, vm, XVT_META_TEXT, 0, f->kernel, strlen(f->kernel));
	if (!k->names.of || (is_unproven(k) && !k->names.unproven))
		note_names(s, vm, f);
	k->names.of = f;
	k->names.unproven = is_unproven(k);
	while (xvt_formats_next(f, &at, &e)) {
		if (k->names.has[e.id] || !xvt_fit_has(k->fit, e.id))
			continue;
		put(s, vm, XVT_META_FORMAT, e.id, e.payload, e.payload_len);
		set_known(vm, e.id, true);
	}
}

/* Says that the formats before do not hold. A reader that does not know it shows its event. */
static void put_no_name(struct xvt_session *s, struct xvt_vm *vm, uint32_t id)
{
	static const char head[] = XVT_META_WITHDRAWN "\0" XVT_META_WITHDRAWN_EVENT;
	char text[256];
	int len;

	memcpy(text, head, sizeof(head));
	len = snprintf(text + sizeof(head), sizeof(text) - sizeof(head),
		       "name: " XVT_META_WITHDRAWN_EVENT "\nID: %u\nformat:\n"
		       "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		       "print fmt: \"\"\n",
		       id);
	put(s, vm, XVT_META_FORMAT, id, text, sizeof(head) + (size_t)len + 1);
	set_known(vm, id, false);
}

static void withdraw_names(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;

	for (uint32_t id = 0; id < XVT_FIT_IDS; id++) {
		if (k->names.has[id])
			put_no_name(s, vm, id);
	}
	put(s, vm, XVT_META_TEXT, 0, "", 0);
	k->names.of = NULL;
	k->names.withdrawn++;
}

/* Bring the file's names to what is known. Returns true if it has some; or false with a reason. */
static bool write_names(struct xvt_session *s, struct xvt_vm *vm, uint32_t *unknown,
			struct xvt_error *why)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	const struct xvt_formats *f = choose_fitting(s, k, unknown, why);

	k->names.changes = xvt_fit_changes(k->fit);
	k->names.evidence = k->evidence;
	if (k->names.of && k->names.of != f)
		withdraw_names(s, vm);
	if (f)
		put_names(s, vm, f);
	put_kernel(s, vm);
	return f;
}

void xvt_passive_names_pass(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	const uint64_t now = xvt_clock_read();
	const bool had = k->names.of;
	struct xvt_error why = { "" };
	uint32_t unknown;

	/* Names that do not hold go at once, new ones come a few times in a second. */
	if (!k->fit || !xvt_fit_changes(k->fit) ||
	    (k->names.changes == xvt_fit_changes(k->fit) && k->names.evidence == k->evidence) ||
	    (k->names.evidence == k->evidence && earlier(now, k->names.next_clock)))
		return;
	k->names.next_clock = now + ticks(s, LOOK_NS);
	if (!had && k->names.withdrawn >= WITHDRAWN_MOST) {
		k->names.changes = xvt_fit_changes(k->fit);
		k->names.evidence = k->evidence;
		put_kernel(s, vm);
		return;
	}
	if (!write_names(s, vm, &unknown, &why) && had)
		xvt_session_note(s, 1, vm, UINT32_MAX,
				 "the names of its events in this file are withdrawn: %s",
				 why.text);
}

void xvt_passive_names_to_json(struct xvt_json *j, const struct xvt_vm *vm)
{
	const struct xvt_formats *f = vm->passive->kernel.names.of;
	char text[XVT_BUILD_ID_TEXT + sizeof(f->release) + 16];

	if (!f) {
		xvt_json_add_null(j, "names_of");
		return;
	}
	snprintf(text, sizeof(text), "%s, build %s", f->release, f->build_id);
	xvt_json_add_text(j, "names_of", text);
}

/* --- the end of a file --- */

static void end_names(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_error why = { "" };
	uint32_t unknown = 0;

	if (!write_names(s, vm, &unknown, &why))
		xvt_session_note_of_file(s, 1, vm, "its events have no names: %s", why.text);
	else if (unknown)
		xvt_session_note_of_file(
			s, 0, vm,
			"%u kinds of its events are of modules or probes, whose numbers "
			"are no kernel's: they have no names",
			unknown);
}

/* What is known of the next file's events. Those that are still to be written may be of a kernel
 * before the newest boot. */
static void begin_next(struct xvt_session *s, struct xvt_vm *vm)
{
	struct xvt_passive_kernel *k = &vm->passive->kernel;
	uint32_t id;

	k->evidence++; /* of a file that has no names yet */
	k->names.before = k->names.of;
	k->names.of = NULL;
	k->names.withdrawn = 0;
	k->names.said = false;
	xvt_fit_take_again(k->fit);
	if (k->names.before) {
		memset(k->names.has, 0, XVT_FIT_IDS);
	} else {
		/* Names of the next file hold for that alone, also where the files are read as one.
		 */
		for (id = 0; id < XVT_FIT_IDS; id++) {
			if (xvt_fit_has(k->fit, (uint16_t)id))
				put_no_name(s, vm, id);
		}
		k->names.generation++;
	}
	if (k->boot_clock && xvt_host_clock_ns(&s->clock, k->boot_clock) >= s->merge.watermark)
		return;
	k->mixed = k->two_builds = k->file_unproven = false;
	memset(&k->file, 0, sizeof(k->file));
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

		if (!vm->passive || !vm->passive->kernel.fit)
			continue;
		/* A search in one piece holds up no other machine when the recording is over. */
		if (end && has_events(vm))
			xvt_passive_kernel_last(s, vm);
		if (has_events(vm))
			end_names(s, vm);
		if (!end)
			begin_next(s, vm);
	}
}

void xvt_session_passive_carry(struct xvt_session *s)
{
	struct xvt_error why;
	uint32_t unknown;

	for (size_t i = 0; i < s->nr_vms; i++) {
		struct xvt_vm *vm = s->vms[i];

		/* Where the file before had none, what comes before the first round would be taken
		 * for a repetition. */
		if (vm->passive && vm->passive->kernel.names.before && !vm->files.left_out)
			write_names(s, vm, &unknown, &why);
	}
}
