// SPDX-License-Identifier: GPL-2.0
/*
 * set.c - see set.h. Each file is opened as a trace of its own, with all checks. The whole has the
 * list of their chunks, without those that a file says again at its begin, and loads a chunk by its
 * file. Numbers and offsets in it are moved after the load, in the private copy.
 */
#include "trace/set.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "trace/copy.h"
#include "trace/parts.h"
#include "trace/set_name.h"

/* A file of the set. */
struct xvt_set_part {
	struct xvt_trace *t;
	char name[XVT_SET_NAME_MAX];
	uint64_t begin; /* to be added to its offsets */
	uint64_t seq;	/* to its chunks' numbers */
	uint32_t ring;	/* to its rings' numbers */
	uint32_t *vms;	/* its machines' numbers in the whole */
	uint32_t vm_count;
	bool goes_on;	 /* it goes on where the file before ended */
	bool gap;	 /* files are missing before it */
	bool unreadable; /* a file before it cannot be read */
	size_t damage;	 /* places of its damage that the whole has */
};

/* ------------------------------------------------------------------ the list of files */

static int compare_numbers(const void *pa, const void *pb)
{
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	return a < b ? -1 : a > b;
}

int xvt_set_list(const char *folder, struct xvt_set_list *list)
{
	DIR *dir = opendir(folder);
	struct dirent *e;
	size_t room = 0;
	int err = 0;

	memset(list, 0, sizeof(*list));
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir))) {
		const uint32_t number = xvt_set_number(e->d_name);

		if (!number)
			continue;
		err = xvt_grow(&list->numbers, &room, list->count + 1, sizeof(number)) ? -ENOMEM
										       : 0;
		if (!err)
			list->numbers[list->count++] = number;
	}
	closedir(dir);
	if (!err && !list->count)
		err = -ENOENT;
	if (err)
		xvt_set_list_free(list);
	else
		qsort(list->numbers, list->count, sizeof(*list->numbers), compare_numbers);
	return err;
}

void xvt_set_list_free(struct xvt_set_list *list)
{
	free(list->numbers);
	memset(list, 0, sizeof(*list));
}

/* ------------------------------------------------------------------ numbers of the whole */

static uint32_t ring_of(const struct xvt_set_part *p, uint32_t ring)
{
	return ring < XVT_EVENT_RING_MASK - p->ring ? ring + p->ring : XVT_EVENT_RING_MASK;
}

static uint32_t vm_of(const struct xvt_set_part *p, uint32_t vm)
{
	return vm < p->vm_count ? p->vms[vm] : XVT_VM_NONE;
}

static uint32_t flags_of(const struct xvt_set_part *p, uint32_t ring_flags)
{
	return (ring_flags & ~XVT_EVENT_RING_MASK) | ring_of(p, ring_flags & XVT_EVENT_RING_MASK);
}

/* All of a file's chunks have a smaller number. */
static uint64_t numbers_of(const struct xvt_trace *t)
{
	return t->chunk_count ? t->chunks[t->chunk_count - 1].seq + 1 : 0;
}

/* In each element of an array of `size` bytes, the first word is a ring. */
static void move_rings(const struct xvt_set_part *p, uint8_t *at, size_t len, size_t size)
{
	uint32_t ring;

	for (; len >= size; at += size, len -= size) {
		memcpy(&ring, at, sizeof(ring));
		ring = ring_of(p, ring);
		memcpy(at, &ring, sizeof(ring));
	}
}

static void move_vm(const struct xvt_set_part *p, uint8_t *at)
{
	uint32_t vm;

	memcpy(&vm, at, sizeof(vm));
	vm = vm_of(p, vm);
	memcpy(at, &vm, sizeof(vm));
}

static void move_spans(const struct xvt_set_part *p, uint8_t *at, size_t len)
{
	for (; len >= sizeof(struct xvt_run_span); len -= sizeof(struct xvt_run_span)) {
		move_vm(p, at);
		at += sizeof(struct xvt_run_span);
	}
}

static void move_note(const struct xvt_set_part *p, uint8_t *at, size_t len)
{
	struct xvt_note n;

	if (len < sizeof(n))
		return;
	memcpy(&n, at, sizeof(n));
	n.vm = n.vm == UINT32_MAX ? n.vm : vm_of(p, n.vm);
	n.ring = n.ring == UINT32_MAX ? n.ring : ring_of(p, n.ring);
	memcpy(at, &n, sizeof(n));
}

static void move_pieces(const struct xvt_set_part *p, uint8_t *at, size_t len)
{
	struct xvt_raw_piece piece;

	while (len >= sizeof(piece)) {
		memcpy(&piece, at, sizeof(piece));
		piece.ring = ring_of(p, piece.ring);
		memcpy(at, &piece, sizeof(piece));
		at += sizeof(piece);
		len -= sizeof(piece);
		if (piece.len % 8 || piece.len > len)
			return;
		at += piece.len;
		len -= piece.len;
	}
}

static void move_own(const struct xvt_set_part *p, uint8_t *at, size_t len)
{
	struct xvt_event_hdr h;

	while (len >= sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		h.ring_flags = flags_of(p, h.ring_flags);
		memcpy(at, &h, sizeof(h));
		if (xvt_pad8(h.len) > len - sizeof(h))
			return;
		at += sizeof(h) + xvt_pad8(h.len);
		len -= sizeof(h) + xvt_pad8(h.len);
	}
}

/* An ORDER, LATE or LOOSE chunk. A chunk whose parts do not fit its length is left: its reader says
 * so. */
static void move_order(const struct xvt_set_part *p, uint8_t *at, size_t len)
{
	struct xvt_order_source source;
	struct xvt_order_hdr h;
	uint64_t raws, lines, seq;

	if (len < sizeof(h))
		return;
	memcpy(&h, at, sizeof(h));
	at += sizeof(h);
	len -= sizeof(h);
	raws = h.nr_raws * sizeof(uint64_t);
	lines = h.nr_lines * sizeof(struct xvt_order_line);
	if (h.own_len + raws + lines + h.nr_sources * sizeof(source) > len)
		return;
	move_own(p, at, h.own_len);
	at += h.own_len;
	for (uint32_t i = 0; i < h.nr_raws; i++, at += sizeof(seq)) {
		memcpy(&seq, at, sizeof(seq));
		/* Never a chunk of another file. */
		seq = seq < numbers_of(p->t) ? seq + p->seq : UINT64_MAX;
		memcpy(at, &seq, sizeof(seq));
	}
	at += lines;
	for (uint32_t i = 0; i < h.nr_sources; i++, at += sizeof(source)) {
		memcpy(&source, at, sizeof(source));
		source.ring_flags = flags_of(p, source.ring_flags);
		memcpy(at, &source, sizeof(source));
	}
}

static void move(const struct xvt_set_part *p, uint16_t type, uint8_t *at, size_t len)
{
	if (xvt_chunk_of_events(type))
		move_order(p, at, len);
	else if (type == XVT_CHUNK_RAW)
		move_pieces(p, at, len);
	else if (type == XVT_CHUNK_SAMPLES)
		move_rings(p, at, len, sizeof(struct xvt_clock_sample));
	else if (type == XVT_CHUNK_NODE)
		move_rings(p, at, len, sizeof(struct xvt_clock_node));
	else if (type == XVT_CHUNK_LOOKS)
		move_rings(p, at, len, sizeof(struct xvt_clock_look));
	else if (type == XVT_CHUNK_HEADS)
		move_rings(p, at, len, sizeof(struct xvt_subbuf_head));
	else if (type == XVT_CHUNK_MARKS)
		move_rings(p, at, len, sizeof(struct xvt_mark_seen));
	else if (type == XVT_CHUNK_STATS && len >= XVT_RING_STATS_LEN_LEAST)
		move_rings(p, at, XVT_RING_STATS_LEN_LEAST, XVT_RING_STATS_LEN_LEAST);
	else if (type == XVT_CHUNK_RUNS)
		move_spans(p, at, len);
	else if (type == XVT_CHUNK_NOTE)
		move_note(p, at, len);
	else if (type == XVT_CHUNK_META && len >= sizeof(struct xvt_meta_info))
		move_vm(p, at);
}

/* ------------------------------------------------------------------ what the whole has */

/* The file that has the byte at that offset of the whole. */
static struct xvt_set_part *part_at(const struct xvt_trace *t, uint64_t offset)
{
	const size_t n = XVT_COUNT_TO(t->parts, t->part_count, begin, offset);

	return &t->parts[n ? n - 1 : 0];
}

size_t xvt_set_part(const struct xvt_trace *t, size_t chunk)
{
	return t->parts ? (size_t)(part_at(t, t->chunks[chunk].offset) - t->parts) : 0;
}

bool xvt_set_goes_on(const struct xvt_trace *t, size_t part)
{
	return part < t->part_count && t->parts[part].goes_on;
}

/* Damage that was found in a file since the last call is damage of the whole. */
static void take_damage(struct xvt_trace *t, struct xvt_set_part *p)
{
	for (; p->damage < p->t->damage_count; p->damage++) {
		const struct xvt_damage *d =
			&p->t->damage[p->damage < XVT_DAMAGE_MAX ? p->damage : 0];

		xvt_trace_note_damage(t, p->begin + d->offset, d->len, d->why);
	}
}

/* A file says at its begin what the file before has, up to its first ROUND. */
static bool is_said_again(uint16_t type)
{
	return type == XVT_CHUNK_FILE || type == XVT_CHUNK_VM || type == XVT_CHUNK_RING ||
	       type == XVT_CHUNK_META || type == XVT_CHUNK_NODE || type == XVT_CHUNK_TIMEBASE;
}

static int add_chunks(struct xvt_trace *t, const struct xvt_set_part *p)
{
	bool again = p->goes_on;
	size_t i;

	for (i = 0; i < p->t->chunk_count; i++) {
		struct xvt_chunk_ref ref = p->t->chunks[i];

		again &= ref.type != XVT_CHUNK_ROUND;
		if (again && is_said_again(ref.type))
			continue;
		if (xvt_grow(&t->chunks, &t->chunk_room, t->chunk_count + 1, sizeof(ref)))
			return -ENOMEM;
		ref.offset += p->begin;
		ref.seq += p->seq;
		t->chunks[t->chunk_count++] = ref;
	}
	return 0;
}

/* The list of chunks, by the files' lists. Returns 0 or -ENOMEM. */
static int list_chunks(struct xvt_trace *t)
{
	size_t i;
	int err = 0;

	t->chunk_count = 0;
	t->walks++;
	for (i = 0; i < t->part_count && !err; i++) {
		struct xvt_set_part *p = &t->parts[i];

		if (i)
			p->seq = p[-1].seq + numbers_of(p[-1].t);
		err = add_chunks(t, p);
	}
	return err;
}

static bool same_vm(const struct xvt_trace_vm *a, const struct xvt_trace_vm *b)
{
	return a->known && b->known && a->info.kind == b->info.kind && !strcmp(a->name, b->name) &&
	       !memcmp(a->info.uuid, b->info.uuid, sizeof(a->info.uuid));
}

/* Finds the machine in the whole, or adds it. Returns 0 or -ENOMEM. */
static int add_vm(struct xvt_trace *t, const struct xvt_trace_vm *vm, uint32_t *number)
{
	struct xvt_trace_vm *grown;

	for (*number = 0; *number < t->vm_count; ++*number) {
		if (same_vm(&t->vms[*number], vm))
			return 0;
	}
	grown = realloc(t->vms, (t->vm_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->vms = grown;
	t->vms[t->vm_count] = *vm;
	t->vms[t->vm_count++].info.vm = *number;
	return 0;
}

static int add_vms(struct xvt_trace *t, struct xvt_set_part *p)
{
	uint32_t i;
	int err = 0;

	p->vms = calloc((size_t)p->t->vm_count + 1, sizeof(*p->vms));
	if (!p->vms)
		return -ENOMEM;
	p->vm_count = p->t->vm_count;
	for (i = 0; i < p->vm_count && !err; i++) {
		p->vms[i] = XVT_VM_NONE;
		if (p->t->vms[i].known)
			err = add_vm(t, &p->t->vms[i], &p->vms[i]);
	}
	return err;
}

static int add_rings(struct xvt_trace *t, const struct xvt_set_part *p)
{
	const uint32_t count = p->ring + p->t->ring_count;
	struct xvt_trace_ring *grown;
	uint32_t i;

	if (count > XVT_EVENT_RING_MASK)
		return -EOVERFLOW;
	if (count > t->ring_count) {
		grown = realloc(t->rings, count * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + t->ring_count, 0, (count - t->ring_count) * sizeof(*grown));
		t->rings = grown;
		t->ring_count = count;
	}
	for (i = 0; i < p->t->ring_count; i++) {
		struct xvt_trace_ring ring = p->t->rings[i];

		if (!ring.known)
			continue;
		ring.info.ring = p->ring + i;
		ring.info.vm = vm_of(p, ring.info.vm);
		t->rings[p->ring + i] = ring;
	}
	return 0;
}

static int add_lines(struct xvt_trace *t, const struct xvt_trace *of)
{
	size_t i;

	for (i = 0; i < of->timebase_count; i++) {
		const struct xvt_timebase *line = &of->timebase[i], *last;

		last = t->timebase_count ? &t->timebase[t->timebase_count - 1] : NULL;
		if (last && (line->base_clock <= last->base_clock || line->base_ns < last->base_ns))
			continue; /* said again, or of another boot of the host */
		if (xvt_grow(&t->timebase, &t->timebase_room, t->timebase_count + 1,
			     sizeof(*t->timebase)))
			return -ENOMEM;
		t->timebase[t->timebase_count++] = *line;
	}
	return 0;
}

/* Returns true if b begins where a ended, in the same recording. */
static bool follows(const struct xvt_trace *a, const struct xvt_trace *b)
{
	return b->info.set_number && b->info.set_number - 1 == a->info.set_number && a->ended &&
	       !a->damage_count && !memcmp(a->info.set, b->info.set, sizeof(a->info.set));
}

/* Adds a file behind the others. Returns 0, -ENOMEM or -EOVERFLOW (too many rings). */
static int add_part(struct xvt_trace *t, size_t i)
{
	struct xvt_set_part *p = &t->parts[i];
	const struct xvt_trace *of = p->t;
	int err;

	if (i) {
		const struct xvt_set_part *before = p - 1;

		p->goes_on = follows(before->t, of);
		p->ring = p->goes_on ? before->ring : t->ring_count;
	}
	if (p->gap)
		xvt_trace_note_damage(t, p->begin, 0, "files are missing before this one");
	if (p->unreadable)
		xvt_trace_note_damage(t, p->begin, 0, "a file before this one cannot be read");
	take_damage(t, p);
	err = add_vms(t, p);
	if (!err)
		err = add_rings(t, p);
	if (!err)
		err = add_lines(t, of);
	t->ended &= of->ended;
	t->end.events += of->end.events;
	t->end.late += of->end.late;
	t->tail_offset = p->begin + of->tail_offset;
	if (of->last_ns) {
		t->first_ns = of->first_ns < t->first_ns ? of->first_ns : t->first_ns;
		t->last_ns = of->last_ns > t->last_ns ? of->last_ns : t->last_ns;
	}
	return err;
}

/* ------------------------------------------------------------------ reading */

static ssize_t set_read_at(struct xvt_trace *t, void *bytes, size_t len, uint64_t offset)
{
	const struct xvt_set_part *p = part_at(t, offset);

	return xvt_trace_read_at(p->t, bytes, len, offset - p->begin);
}

static int set_load_at(struct xvt_trace *t, uint64_t offset, uint32_t len, struct xvt_chunk_buf *b)
{
	const struct xvt_set_part *p = part_at(t, offset);
	int err = xvt_trace_load_at(p->t, offset - p->begin, len, b);

	if (!err)
		move(p, ((const struct xvt_chunk_hdr *)b->bytes)->type, (uint8_t *)b->payload,
		     b->len);
	return err;
}

/* An index was wrong: the lists of all files are read from their chunks, so that it happens once.
 */
static int walk_all(struct xvt_trace *t)
{
	size_t i;
	int err = 0;

	for (i = 0; i < t->part_count && !err; i++) {
		struct xvt_set_part *p = &t->parts[i];
		const uint32_t rings = p->t->ring_count, vms = p->t->vm_count;

		if (!p->t->indexed)
			continue;
		err = xvt_trace_walk_again(p->t, p->t->size);
		p->t->ring_count = p->t->ring_count > rings ? rings : p->t->ring_count;
		p->t->vm_count = p->t->vm_count > vms ? vms : p->t->vm_count;
	}
	return err;
}

static int set_load(struct xvt_trace *t, size_t chunk, struct xvt_chunk_buf *b)
{
	struct xvt_chunk_ref *ref = &t->chunks[chunk];
	struct xvt_set_part *p = part_at(t, ref->offset);
	const size_t own = xvt_trace_chunk_at(p->t, ref->offset - p->begin);
	int err = xvt_trace_load(p->t, own, b);

	if (err == -ESTALE) {
		err = walk_all(t);
		if (!err)
			err = list_chunks(t);
		take_damage(t, p);
		return err ? err : -ESTALE;
	}
	ref->bad = p->t->chunks[own].bad;
	ref->checked = p->t->chunks[own].checked;
	take_damage(t, p);
	if (!err)
		move(p, ref->type, (uint8_t *)b->payload, b->len);
	return err;
}

/* Offsets of the whole mean nothing to a user: the file, and the offset in it. */
static void set_locate(const struct xvt_trace *t, struct xvt_damage *d)
{
	const struct xvt_set_part *p = part_at(t, d->offset);

	d->file = p->name;
	d->offset -= p->begin;
}

static void set_close(struct xvt_trace *t)
{
	size_t i;

	for (i = 0; i < t->part_count; i++) {
		xvt_trace_close(t->parts[i].t);
		free(t->parts[i].vms);
	}
	free(t->parts);
}

static int copy_part(struct xvt_set_part *to, const struct xvt_set_part *p)
{
	*to = *p;
	to->t = NULL;
	to->vms = malloc(p->vm_count * sizeof(*to->vms) + 1);
	if (!to->vms)
		return -ENOMEM;
	if (p->vm_count)
		memcpy(to->vms, p->vms, p->vm_count * sizeof(*to->vms));
	return xvt_trace_copy(&to->t, p->t);
}

static int set_copy(struct xvt_trace *copy, const struct xvt_trace *t)
{
	int err = 0;

	copy->parts = calloc(t->part_count + 1, sizeof(*copy->parts));
	if (!copy->parts)
		return -ENOMEM;
	while (copy->part_count < t->part_count && !err) {
		err = copy_part(&copy->parts[copy->part_count], &t->parts[copy->part_count]);
		copy->part_count++;
	}
	return err;
}

static void set_join(struct xvt_trace *t, const struct xvt_trace *copy)
{
	size_t i;

	for (i = 0; i < t->part_count; i++) {
		xvt_trace_join(t->parts[i].t, copy->parts[i].t);
		take_damage(t, &t->parts[i]);
	}
}

static const char *set_name(const struct xvt_trace *t, const char *file)
{
	size_t i;

	for (i = 0; i < t->part_count; i++) {
		if (strcmp(t->parts[i].name, file) == 0)
			return t->parts[i].name;
	}
	return NULL;
}

static const struct xvt_trace_ops set_ops = { set_read_at, set_load_at, set_load, set_locate,
					      set_close,   set_copy,	set_join, set_name };

/* ------------------------------------------------------------------ open */

/* A folder may have more files than a process usually opens. */
static void allow_files(void)
{
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

/* Opens a file of the folder as the next part. Returns 0, -ENODATA if it is empty, -EBADMSG if it
 * cannot be read, or -errno. */
static int open_part(struct xvt_trace *t, uint32_t number, bool by_index)
{
	struct xvt_set_part *p = &t->parts[t->part_count];
	char path[4096];
	struct xvt_error why;
	struct stat st;
	int err;

	if (!xvt_set_path(t->path, number, path, sizeof(path)))
		return -ENAMETOOLONG;
	snprintf(p->name, sizeof(p->name), XVT_SET_NAME, number);
	err = by_index ? xvt_trace_open_indexed(&p->t, path, &why)
		       : xvt_trace_open(&p->t, path, &why);
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		return err;
	if (err && !stat(path, &st) && st.st_size == 0)
		return -ENODATA;
	return err ? -EBADMSG : 0;
}

/*
 * A file without a byte is what a recorder leaves that is killed when it begins a file: nothing is
 * missing. The last part is of no file: it says what cannot be read behind the others.
 */
static int open_parts(struct xvt_trace *t, const struct xvt_set_list *list, bool by_index)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		struct xvt_set_part *p = &t->parts[t->part_count];
		int err = open_part(t, list->numbers[i], by_index);

		p->gap |= i && list->numbers[i] - 1 != list->numbers[i - 1];
		if (err && err != -EBADMSG && err != -ENODATA)
			return err;
		p->unreadable |= err == -EBADMSG;
		t->part_count += !err;
	}
	return t->part_count ? 0 : -EBADMSG;
}

static int open_folder(struct xvt_trace *t, bool by_index)
{
	struct xvt_set_list list;
	size_t i;
	int err = xvt_set_list(t->path, &list);

	if (err)
		return err;
	allow_files();
	t->parts = calloc(list.count + 1, sizeof(*t->parts));
	err = t->parts ? open_parts(t, &list, by_index) : -ENOMEM;
	xvt_set_list_free(&list);
	if (err)
		return err;
	t->info = t->parts[0].t->info;
	t->trace_id = t->parts[0].t->trace_id;
	t->ended = true;
	t->first_ns = UINT64_MAX;
	for (i = 0; i < t->part_count; i++) {
		t->parts[i].begin = t->size;
		t->size += xvt_pad8(t->parts[i].t->size);
	}
	for (i = 0; i < t->part_count && !err; i++)
		err = add_part(t, i);
	if (t->parts[t->part_count].unreadable)
		xvt_trace_note_damage(t, t->size, 0, "a file behind this one cannot be read");
	if (!err)
		err = list_chunks(t);
	if (t->first_ns == UINT64_MAX)
		t->first_ns = 0;
	return err;
}

static const char *why_not(int err)
{
	if (err == -EBADMSG)
		return "has no file that can be read; 'xvtrace verify' says why";
	if (err == -EMFILE)
		return "has more files than a process may open; raise 'ulimit -n', or read a part "
		       "of them from another folder";
	return strerror(-err);
}

int xvt_set_open(struct xvt_trace **out, const char *path, bool by_index, struct xvt_error *why)
{
	struct xvt_trace *t;
	int err = -ENOMEM;

	if (!xvt_set_is_folder(path))
		return by_index ? xvt_trace_open_indexed(out, path, why)
				: xvt_trace_open(out, path, why);
	*out = NULL;
	xvt_fail(why, 0, "%s", strerror(ENOMEM));
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->fd = -1;
	t->late_budget = XVT_LATE_BUDGET;
	t->raw_budget = XVT_RAW_BUDGET;
	t->ops = &set_ops;
	t->path = strdup(path);
	if (t->path)
		err = open_folder(t, by_index);
	if (err) {
		if (err == -ENOENT)
			xvt_set_why_none(path, why);
		else
			xvt_fail(why, 0, "%s", why_not(err));
		xvt_trace_close(t);
		return err;
	}
	*out = t;
	return 0;
}
