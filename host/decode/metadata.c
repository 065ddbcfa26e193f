// SPDX-License-Identifier: GPL-2.0
/*
 * metadata.c - see parts.h. The metadata of a trace's guests: formats, names of tasks, symbols
 * of the kernel and texts of its printk formats.
 */
#include "decode/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "decode/print.h"
#include "decode/format.h"

#define SYMBOL_LOADS_MAX 64u /* loads for one machine while switching generations */

void **xvt_table_slot(struct xvt_table *t, uint16_t key, bool make)
{
	void **page = t->page[key >> 8];

	if (!page && make)
		page = t->page[key >> 8] = calloc(256, sizeof(*page));
	return page ? &page[key & 255] : NULL;
}

void xvt_table_fini(struct xvt_table *t)
{
	for (size_t i = 0; i < 256; i++)
		free(t->page[i]);
}

/* -- memory ------------------------------------------------------------------------- */

bool xvt_decoder_charge(struct xvt_decoder *d, size_t bytes)
{
	struct xvt_decoders *all = d->all;

	if (bytes > all->machine_bytes - d->bytes || bytes > XVT_LIMIT_DECODE_BYTES - all->bytes) {
		all->left_out++;
		return false;
	}
	d->bytes += bytes;
	all->bytes += bytes;
	return true;
}

static void give_back(struct xvt_decoder *d, size_t bytes)
{
	d->bytes -= bytes;
	d->all->bytes -= bytes;
}

/*
 * Make room for one more element in an array that doubles, and charge it. Returns 0, -ENOSPC (the
 * element is left out) or -ENOMEM.
 */
static int grow(struct xvt_decoder *d, void **array, uint32_t count, uint32_t *room, size_t size,
		uint32_t first)
{
	uint32_t more = *room ? *room : first;
	void *grown;

	if (count < *room)
		return 0;
	if (!xvt_decoder_charge(d, more * size))
		return -ENOSPC;
	grown = realloc(*array, ((size_t)*room + more) * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room += more;
	return 0;
}

/* -- names of tasks ----------------------------------------------------------------- */

/* A seeded hash, because a guest that chooses its pids could otherwise make them collide. */
static uint32_t comm_slot(const struct xvt_decoder *d, int32_t pid)
{
	uint64_t h = ((uint32_t)pid ^ d->all->seed) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 30 ^ d->all->seed >> 7) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

static struct xvt_comm *find_comm(const struct xvt_decoder *d, int32_t pid)
{
	uint32_t at;

	if (!d->comm_room)
		return NULL;
	for (at = comm_slot(d, pid);; at++) {
		struct xvt_comm *c = &d->comms[at & (d->comm_room - 1)];

		if (!c->used || c->pid == pid)
			return c;
	}
}

static int grow_comms(struct xvt_decoder *d)
{
	struct xvt_comm *old = d->comms;
	uint32_t old_room = d->comm_room;
	uint32_t room = old_room ? old_room * 2 : 256;
	struct xvt_comm *grown;

	if (!xvt_decoder_charge(d, (room - old_room) * sizeof(*grown)))
		return -ENOSPC;
	grown = calloc(room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	d->comms = grown;
	d->comm_room = room;
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i].used)
			*find_comm(d, old[i].pid) = old[i];
	free(old);
	return 0;
}

void xvt_decoder_comm(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len)
{
	struct xvt_comm *c = find_comm(d, pid);

	if (!c || !c->used) {
		if (d->comm_count == XVT_LIMIT_COMMS ||
		    (d->comm_count * 2 >= d->comm_room && grow_comms(d)))
			return; /* leave this name out */
		c = find_comm(d, pid);
		c->used = true;
		c->pid = pid;
		d->comm_count++;
	}
	if (len > XVT_COMM_LEN - 1)
		len = XVT_COMM_LEN - 1;
	memset(c->name, 0, XVT_COMM_LEN);
	memcpy(c->name, name, len);
}

const char *xvt_comm(const struct xvt_decoder *d, int32_t pid)
{
	struct xvt_comm *c;

	if (pid == 0)
		return "<idle>";
	c = find_comm(d, pid);
	return c && c->used ? c->name : NULL;
}

/* -- generations -------------------------------------------------------------------- */

uint32_t xvt_decoder_generation(const struct xvt_decoder *d, uint64_t chunk_seq)
{
	uint32_t lo = 0, hi = d->generation_count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (d->generations[mid].first_seq <= chunk_seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

/* Get the index of the generation of a META chunk. Returns 0, -ENOSPC or -ENOMEM. */
static int take_generation(struct xvt_decoder *d, uint32_t number, uint64_t seq, uint32_t *at)
{
	uint32_t n = d->generation_count;
	int err;

	if (!n || d->generations[n - 1].number != number) {
		err = grow(d, (void **)&d->generations, n, &d->generation_room,
			   sizeof(*d->generations), 4);
		if (err)
			return err;
		d->generations[d->generation_count++] = (struct xvt_generation){ number, seq };
	}
	*at = d->generation_count - 1;
	return 0;
}

/* -- formats ------------------------------------------------------------------------ */

static uint64_t hash_of(const uint8_t *p, size_t len)
{
	uint64_t h = len, w = 0;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, len);
	h = (h ^ w) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/* The parts of: system '\0' event '\0' text '\0'. */
struct format_text {
	const char *system;
	const char *text;
	uint16_t type; /* the ID in the text */
};

static bool read_format(const char *bytes, size_t len, struct format_text *f)
{
	size_t skip = strlen(bytes) + 1;
	unsigned long type;
	const char *id;

	if (skip < len)
		skip += strlen(bytes + skip) + 1;
	if (skip >= len)
		return false;
	f->system = bytes;
	f->text = bytes + skip;
	id = strncmp(f->text, "ID:", 3) == 0 ? f->text - 1 : strstr(f->text, "\nID:");
	type = id ? strtoul(id + 4, NULL, 10) : 0;
	f->type = (uint16_t)type;
	return type && type <= UINT16_MAX;
}

static char *copy_text(const uint8_t *p, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		return NULL;
	memcpy(text, p, len);
	text[len] = '\0';
	return text;
}

static struct xvt_formats *formats_of(struct xvt_decoder *d, uint16_t type)
{
	void **slot = xvt_table_slot(&d->formats, type, true);

	if (slot && !*slot && xvt_decoder_charge(d, sizeof(struct xvt_formats)))
		*slot = calloc(1, sizeof(struct xvt_formats));
	return slot ? *slot : NULL;
}

static int add_format(struct xvt_decoder *d, uint16_t type, const struct xvt_format *f)
{
	struct xvt_formats *all = formats_of(d, type);
	struct xvt_format *last;
	int err;

	if (!all)
		return 0;
	last = all->count ? &all->v[all->count - 1] : NULL;
	/* Repeated in the same boot, or by another boot of the same kernel. */
	if (last && (last->at.generation == f->at.generation || last->hash == f->hash))
		return 0;
	err = grow(d, (void **)&all->v, all->count, &all->room, sizeof(*all->v), 1);
	if (!err)
		all->v[all->count++] = *f;
	return err == -ENOSPC ? 0 : err;
}

static int take_format(struct xvt_decoder *d, const uint8_t *p, size_t len,
		       const struct xvt_meta_place *at)
{
	struct xvt_format f = { .at = *at, .hash = hash_of(p, len) };
	struct format_text text;
	char *bytes;
	int err = 0;

	if (len > XVT_LIMIT_FORMAT_BYTES) {
		d->all->left_out++;
		return 0;
	}
	bytes = copy_text(p, len);
	if (!bytes)
		return -ENOMEM;
	if (read_format(bytes, len, &text))
		err = add_format(d, text.type, &f);
	free(bytes);
	return err;
}

int xvt_decoder_add_class(struct xvt_decoder *d, struct xvt_event_class *c)
{
	if (d->class_count == d->class_room) {
		uint32_t room = d->class_room ? d->class_room * 2 : 64;
		void *grown = realloc(d->classes, room * sizeof(*d->classes));

		if (!grown)
			return -ENOMEM;
		d->classes = grown;
		d->class_room = room;
	}
	d->classes[d->class_count++] = c;
	return 0;
}

/* Read a format's text. Returns NULL if it has changed since the trace was opened. */
static char *load_format(struct xvt_decoder *d, const struct xvt_format *f,
			 struct format_text *text)
{
	const size_t head = sizeof(struct xvt_meta_info);
	struct xvt_chunk_buf *b = &d->all->buf;
	char *bytes;

	if (xvt_trace_load_at(d->all->t, f->at.offset, f->at.len, b) || b->len < head ||
	    hash_of(b->payload + head, b->len - head) != f->hash)
		return NULL;
	bytes = copy_text(b->payload + head, b->len - head);
	if (bytes && read_format(bytes, b->len - head, text))
		return bytes;
	free(bytes);
	return NULL;
}

struct xvt_event_class *xvt_decoder_format(struct xvt_decoder *d, struct xvt_format *f)
{
	struct format_text text;
	struct xvt_event_class *c;
	char *bytes;
	int err;

	if (xvt_likely(f->cls || f->failed))
		return f->cls;
	f->failed = true;
	bytes = load_format(d, f, &text);
	c = bytes ? calloc(1, sizeof(*c)) : NULL;
	err = c ? xvt_format_class(text.system, text.text, c) : -ENOMEM;
	free(bytes);
	if (!err &&
	    (!xvt_decoder_charge(d, sizeof(*c) + c->arena_bytes) || xvt_decoder_add_class(d, c))) {
		xvt_class_free(c);
		err = -ENOMEM;
	}
	if (err) {
		free(c);
		return NULL;
	}
	f->failed = false;
	f->cls = c;
	return c;
}

/* -- symbols ------------------------------------------------------------------------ */

static bool add_symbol(struct xvt_decoder *d, struct xvt_symbols *s, uint64_t addr,
		       const char *name)
{
	if (s->count == s->room) {
		size_t more = s->room ? s->room : 256;
		void *grown;

		if (!xvt_decoder_charge(d, more * sizeof(*s->v)))
			return false;
		s->bytes += more * sizeof(*s->v);
		grown = realloc(s->v, (s->room + more) * sizeof(*s->v));
		if (!grown)
			return false;
		s->v = grown;
		s->room += more;
	}
	s->v[s->count++] = (struct xvt_ksymbol){ addr, name };
	return true;
}

static int compare_symbols(const void *pa, const void *pb)
{
	const struct xvt_ksymbol *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Cut a text in place and mark the cut by "...". */
static void limit_text(char *text, size_t most)
{
	if (strnlen(text, most + 1) > most)
		memcpy(text + most - 3, "...", 4);
}

/* Add a line "ADDR TYPE NAME [MODULE]", which is cut after the name in place. */
static bool take_ksym(struct xvt_decoder *d, struct xvt_symbols *s, char *line)
{
	char *end;
	uint64_t addr = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return true;
	end[3 + strcspn(end + 3, " \t")] = '\0';
	limit_text(end + 3, XVT_LIMIT_SYMBOL_BYTES);
	return add_symbol(d, s, addr, end + 3);
}

/* Add a line '0xADDR : "TEXT"'; the text is unescaped in place. */
static bool take_printk(struct xvt_decoder *d, struct xvt_symbols *s, char *line)
{
	char *open = strchr(line, '"'), *close = strrchr(line, '"');
	char *to = open, *end;
	uint64_t addr = strtoull(line, &end, 0);

	if (end == line || !open || close == open)
		return true;
	*close = '\0';
	for (const char *p = open + 1; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
			*to++ = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
	limit_text(open, XVT_LIMIT_PRINTK_BYTES);
	return add_symbol(d, s, addr, open);
}

static bool take_lines(struct xvt_decoder *d, struct xvt_symbols *s, char *text)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!(s->type == XVT_META_KSYMS ? take_ksym(d, s, line) : take_printk(d, s, line)))
			return false;
	return true;
}

static void unload_symbols(struct xvt_decoder *d, struct xvt_symbols *s)
{
	for (size_t i = 0; i < s->text_count; i++)
		free(s->texts[i]);
	free(s->texts);
	free(s->v);
	s->texts = NULL;
	s->v = NULL;
	s->text_count = s->count = s->room = 0;
	give_back(d, s->bytes);
	s->bytes = 0;
}

static bool load_place(struct xvt_decoder *d, struct xvt_symbols *s,
		       const struct xvt_meta_place *at)
{
	const size_t head = sizeof(struct xvt_meta_info);
	struct xvt_chunk_buf *b = &d->all->buf;
	void *grown;
	char *text;

	if (xvt_trace_load_at(d->all->t, at->offset, at->len, b) || b->len < head)
		return true; /* the file has changed */
	if (!xvt_decoder_charge(d, b->len))
		return false;
	s->bytes += b->len;
	grown = realloc(s->texts, (s->text_count + 1) * sizeof(*s->texts));
	if (!grown)
		return false;
	s->texts = grown;
	text = copy_text(b->payload + head, b->len - head);
	if (!text)
		return false;
	s->texts[s->text_count++] = text;
	return take_lines(d, s, text);
}

/* Load the symbols that hold in generation g: its own, or those of the last generation before g
 * that has any, else of the first. */
static void load_symbols(struct xvt_decoder *d, struct xvt_symbols *s, uint32_t g)
{
	uint32_t end = s->place_count, from;

	while (end && s->places[end - 1].generation > g)
		end--;
	if (!end) { /* g is older than the first generation with symbols */
		while (end < s->place_count && s->places[end].generation == s->places[0].generation)
			end++;
		if (!end)
			return;
	}
	g = s->places[end - 1].generation;
	if (s->loads && s->generation == g)
		return;
	if (s->loads == SYMBOL_LOADS_MAX)
		return;
	s->loads++;
	s->generation = g;
	unload_symbols(d, s);
	for (from = end; from && s->places[from - 1].generation == g;)
		from--;
	for (; from < end; from++)
		if (!load_place(d, s, &s->places[from]))
			break;
	if (from < end) /* all or none: with a part, the nearest symbol could be wrong */
		unload_symbols(d, s);
	if (s->count)
		qsort(s->v, s->count, sizeof(*s->v), compare_symbols);
}

/* The last symbol at or below addr. */
static const struct xvt_ksymbol *find_symbol(struct xvt_decoder *d, struct xvt_symbols *s,
					     uint64_t seq, uint64_t addr)
{
	size_t lo = 0, hi;

	if (!s->place_count)
		return NULL;
	load_symbols(d, s, xvt_decoder_generation(d, seq));
	hi = s->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &s->v[lo - 1] : NULL;
}

const char *xvt_ksym(struct xvt_decoder *d, uint64_t seq, uint64_t addr, uint64_t *base)
{
	const struct xvt_ksymbol *s = find_symbol(d, &d->ksyms, seq, addr);

	/* An address far behind a symbol is not in its function. */
	if (!s || addr - s->addr > 1u << 20)
		return NULL;
	*base = s->addr;
	return s->name;
}

const char *xvt_printk_text(struct xvt_decoder *d, uint64_t seq, uint64_t addr)
{
	const struct xvt_ksymbol *s = find_symbol(d, &d->printks, seq, addr);

	return s && s->addr == addr ? s->name : NULL;
}

static int take_place(struct xvt_decoder *d, struct xvt_symbols *s, uint32_t type,
		      const struct xvt_meta_place *at)
{
	int err =
		grow(d, (void **)&s->places, s->place_count, &s->place_room, sizeof(*s->places), 1);

	s->type = type;
	if (!err)
		s->places[s->place_count++] = *at;
	return err == -ENOSPC ? 0 : err;
}

/* -- the trace's metadata ----------------------------------------------------------- */

static int take_meta(struct xvt_decoder *d, const struct xvt_meta_info *info,
		     const struct xvt_chunk_ref *ref, const uint8_t *p, size_t len)
{
	struct xvt_meta_place at = { .offset = ref->offset, .len = ref->len };
	int err;

	if (info->type == XVT_META_COMM) {
		xvt_decoder_comm(d, (int32_t)info->id, p, strnlen((const char *)p, len));
		return 0;
	}
	if (info->type != XVT_META_FORMAT && info->type != XVT_META_KSYMS &&
	    info->type != XVT_META_PRINTK_FORMATS)
		return 0;
	err = take_generation(d, info->generation, ref->seq, &at.generation);
	if (err)
		return err == -ENOSPC ? 0 : err;
	if (info->type == XVT_META_FORMAT)
		return take_format(d, p, len, &at);
	return take_place(d, info->type == XVT_META_KSYMS ? &d->ksyms : &d->printks, info->type,
			  &at);
}

/* Returns whether the chunk belongs to an unwanted machine. Reads only the chunk's begin, so a
 * compressed chunk counts as wanted here. */
static bool unwanted(const struct xvt_decoders *ds, const struct xvt_chunk_ref *ref)
{
	struct {
		struct xvt_chunk_hdr h;
		struct xvt_meta_info info;
	} head;

	return ds->wanted && ref->len >= sizeof(head.info) &&
	       xvt_trace_read_at(ds->t, &head, sizeof(head), ref->offset) == sizeof(head) &&
	       !head.h.flags && !ds->wanted(ds->wanted_arg, head.info.vm);
}

static int take_chunk(struct xvt_decoders *ds, size_t i)
{
	const struct xvt_chunk_ref ref = ds->t->chunks[i];
	struct xvt_chunk_buf *b = &ds->buf;
	struct xvt_meta_info info;
	uint32_t vm;
	int err;

	if (ref.type != XVT_CHUNK_META || unwanted(ds, &ref))
		return 0;
	err = xvt_trace_load(ds->t, i, b);
	if (err || b->len < sizeof(info))
		return err == -EBADMSG ? 0 : err;
	memcpy(&info, b->payload, sizeof(info));
	vm = info.vm < ds->count - 1 ? info.vm : ds->count - 1;
	if (ds->wanted && !ds->wanted(ds->wanted_arg, info.vm))
		return 0;
	return take_meta(ds->vm[vm], &info, &ref, b->payload + sizeof(info), b->len - sizeof(info));
}

static void free_formats(struct xvt_formats **page)
{
	for (size_t i = 0; page && i < 256; i++) {
		if (page[i])
			free(page[i]->v);
		free(page[i]);
	}
}

void xvt_decoder_free_meta(struct xvt_decoder *d)
{
	for (size_t i = 0; i < 256; i++)
		free_formats((struct xvt_formats **)d->formats.page[i]);
	xvt_table_fini(&d->formats);
	unload_symbols(d, &d->ksyms);
	unload_symbols(d, &d->printks);
	free(d->ksyms.places);
	free(d->printks.places);
	free(d->generations);
	free(d->comms);
}

static int new_decoders(struct xvt_decoders *ds)
{
	const uint32_t n = ds->t->vm_count;

	ds->count = n + 1;
	/* A part for each machine, so that one cannot use up the memory of the others. */
	ds->machine_bytes = XVT_LIMIT_DECODE_BYTES / (n ? n : 1);
	if (ds->machine_bytes > XVT_LIMIT_MACHINE_BYTES)
		ds->machine_bytes = XVT_LIMIT_MACHINE_BYTES;
	if (ds->machine_bytes < XVT_LIMIT_MACHINE_LEAST)
		ds->machine_bytes = XVT_LIMIT_MACHINE_LEAST;
	ds->vm = calloc(ds->count, sizeof(*ds->vm));
	if (!ds->vm)
		return -ENOMEM;
	for (uint32_t i = 0; i < ds->count; i++) {
		struct xvt_decoder *d = ds->vm[i] = calloc(1, sizeof(*d));

		if (!d)
			return -ENOMEM;
		d->all = ds;
	}
	return 0;
}

static int load_decoders(struct xvt_decoders *ds, struct xvt_trace *t, xvt_wanted_fn wanted,
			 void *arg)
{
	int err;

	memset(ds, 0, sizeof(*ds));
	ds->t = t;
	ds->wanted = wanted;
	ds->wanted_arg = arg;
	if (getrandom(&ds->seed, sizeof(ds->seed), GRND_NONBLOCK) != sizeof(ds->seed))
		ds->seed = (uintptr_t)ds;
	err = new_decoders(ds);
	for (size_t i = 0; i < t->chunk_count && !err; i++)
		err = take_chunk(ds, i);
	if (err)
		xvt_decoders_fini(ds);
	return err;
}

int xvt_decoders_new_for(struct xvt_decoders *ds, struct xvt_trace *t, xvt_wanted_fn wanted,
			 void *arg)
{
	int err = load_decoders(ds, t, wanted, arg);

	/* -ESTALE: the index was wrong, and the list of chunks is new. Repeat once. */
	return err == -ESTALE ? load_decoders(ds, t, wanted, arg) : err;
}

int xvt_decoders_new(struct xvt_decoders *ds, struct xvt_trace *t)
{
	return xvt_decoders_new_for(ds, t, NULL, NULL);
}
