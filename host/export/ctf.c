// SPDX-License-Identifier: GPL-2.0
/*
 * ctf.c - Common Trace Format 1.8, laid out as LTTng does: compact event headers of 5
 * bits of id and 27 bits of time, or the extended form with 64. DIR/VM/kernel/ is a trace of its
 * own for each machine, with one stream file for each ring; all clocks carry one UUID, so a
 * reader merges them. Everything is aligned to bytes, little-endian.
 *
 * Streams are opened only while a packet is written: rings may outnumber file descriptors.
 */
#include "export/folder.h"
#include "export/lttng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"

#define CTF_MAGIC	0xc1fc1fc1u
#define PACKET_BYTES	(64u << 10) /* a packet of this length is closed */
#define COMPACT_ID_MAX	30u
#define COMPACT_TS_BITS 27

#define PACKETS_MAX	(64u << 20) /* bytes of all open packets */
/* Rings with events, each of which is a file: more files take the kernel minutes. */
#define STREAMS_MAX	65536u
/* The field that the text of an event is in whose fields are addresses; as in Perfetto's traces. */
#define TEXT_FIELD	"xvt_text"
/* LTTng has the kernel's trace of a machine in a folder of this name. */
#define KERNEL		"kernel"

/* The start of each packet; see packet_layout. */
struct __attribute__((packed)) packet_hdr {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size; /* bits */
	uint64_t packet_size;
	uint64_t packet_seq_num;
	uint64_t events_discarded;
	uint32_t cpu_id;
};

struct bytes {
	uint8_t *p;
	size_t used;
	size_t room;
};

struct stream {
	struct bytes packet; /* begins with room for the header */
	uint64_t first_ns;
	uint64_t last_ns; /* of the last event written */
	uint64_t packet_seq;
	uint64_t discarded;	    /* lost events so far */
	uint64_t discarded_written; /* `discarded` in the last packet written */
	uint32_t ring;
	uint32_t cpu;
	uint32_t vm; /* number of its machine */
	bool created;
	bool begun;
};

/*
 * A CTF event class: an event class of ours with a set of empty texts. babeltrace2 up to 2.0.4
 * shows, for an empty string, the string of an earlier event of the same CTF class, because it
 * reuses its events without clearing them. In a class where that text is always empty, there is no
 * such earlier event.
 */
struct variant {
	struct variant *next; /* next variant of the same class */
	const struct xvtrace_type *type;
	uint64_t empty; /* bit i: the text of field i is empty */
	uint32_t id;
	uint32_t number; /* in its class, from 1 */
	bool blank;	 /* last variant allowed: it writes an empty text as one blank */
	/* With LTTng's names: what they are, and bits of the fields that are written twice or less
	 * XVT_LTTNG_REALTIME. */
	const struct xvt_lttng_event *lttng;
	uint64_t twice;
	uint64_t from_realtime;
};

struct machine {
	const char *dir; /* below the output directory; NULL: not created yet */
	uint8_t uuid[16];
	struct variant **variants; /* by id */
	uint32_t variant_count;
	size_t variant_room;
};

struct ctf {
	struct xvt_export *x;
	const struct xvtrace_info *info;
	struct xvt_folder folder;
	struct stream *streams;	  /* by ring; the last is for unknown rings */
	struct machine *machines; /* by VM; the last is for unknown rings */
	uint32_t ring_count;
	uint32_t files; /* created so far, one for each ring with events */
	uint32_t vm_count;
	size_t open_bytes;	   /* memory of all open packets */
	struct variant **variants; /* by number of the type: its newest one */
	size_t type_room;
	struct xvtrace_value *values; /* of the event, by number of the field */
	size_t value_room;
	const char *text; /* of the event, if its type has addresses */
	size_t text_len;
};

/* -- bytes -------------------------------------------------------------------------- */

static int room_for(struct bytes *b, size_t more)
{
	return xvt_grow(&b->p, &b->room, b->used + more, 1);
}

static void put(struct bytes *b, const void *p, size_t len)
{
	if (len)
		memcpy(b->p + b->used, p, len);
	b->used += len;
}

/* Number of bytes of ASCII other than zero at the begin of a text. */
static size_t ascii(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < len && p[n] && p[n] < 0x80)
		n++;
	return n;
}

/*
 * Write text as valid UTF-8 without zero bytes, then one zero byte: at most 3 * len + 1 bytes.
 * Readers escape control characters of ASCII; babeltrace2 2.0.4 shows other unsafe characters as
 * they are, so those are escaped here.
 */
static void put_string(struct bytes *b, const uint8_t *p, size_t len)
{
	size_t i = ascii(p, len);

	put(b, p, i);
	while (i < len) {
		char other[XVT_ESCAPE_MOST];
		uint32_t code;
		size_t n = xvt_utf8_next(p + i, len - i, &code);

		if (code == 0xfffd && n == 1)
			put(b, "\xef\xbf\xbd", 3);
		else if (code >= 0x80 && xvt_text_unsafe(code))
			put(b, other, xvt_text_escape(other, code));
		else
			put(b, p + i, n);
		i += n;
	}
	put(b, "", 1);
}

/* -- machines and streams ----------------------------------------------------------- */

static int make_machine(struct ctf *x, uint32_t at)
{
	struct machine *m = &x->machines[at];
	char path[XVT_FOLDER_NAME_LEN + 16];

	m->dir = xvt_folder_name(&x->folder, at);
	memcpy(m->uuid, x->info->uuid, sizeof(m->uuid));
	for (int i = 0; i < 4; i++)
		m->uuid[12 + i] ^= (uint8_t)((at + 1) >> (8 * i));
	snprintf(path, sizeof(path), "%s/" KERNEL, m->dir);
	if (mkdirat(x->folder.fd, m->dir, 0755) || mkdirat(x->folder.fd, path, 0755))
		return xvt_folder_fail(&x->folder, -errno, m->dir, NULL);
	return 0;
}

/* Room for the path of any file in the folder. */
#define PATH_ROOM (XVT_FOLDER_NAME_LEN + 64)

static void stream_path(const struct ctf *x, const struct stream *s, char path[PATH_ROOM])
{
	const char *dir = x->machines[s->vm].dir;

	if (s->ring < x->ring_count)
		snprintf(path, PATH_ROOM, "%s/" KERNEL "/ring_%u", dir, s->ring);
	else
		snprintf(path, PATH_ROOM, "%s/" KERNEL "/ring_unknown", dir);
}

static void metadata_path(const struct ctf *x, uint32_t vm, char path[PATH_ROOM])
{
	snprintf(path, PATH_ROOM, "%s/" KERNEL "/metadata", x->machines[vm].dir);
}

static int write_packet(struct ctf *x, struct stream *s)
{
	struct machine *m = &x->machines[s->vm];
	char path[PATH_ROOM];
	struct packet_hdr h = {
		.magic = CTF_MAGIC,
		.timestamp_begin = s->first_ns,
		.timestamp_end = s->last_ns,
		.content_size = s->packet.used * 8,
		.packet_size = s->packet.used * 8,
		.packet_seq_num = s->packet_seq,
		.events_discarded = s->discarded,
		.cpu_id = s->cpu,
	};
	int fd, err;

	memcpy(h.uuid, m->uuid, sizeof(h.uuid));
	memcpy(s->packet.p, &h, sizeof(h));
	stream_path(x, s, path);
	if (!s->created && x->files++ == STREAMS_MAX)
		return -EMLINK;
	fd = openat(x->folder.fd, path,
		    O_WRONLY | O_CLOEXEC | O_APPEND | (s->created ? 0 : O_CREAT | O_EXCL), 0644);
	if (fd < 0)
		return xvt_folder_fail(&x->folder, -errno, path, NULL);
	err = xvt_write_all(fd, s->packet.p, s->packet.used);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		return xvt_folder_fail(&x->folder, err, path, NULL);
	s->created = true;
	s->begun = false;
	s->packet_seq++;
	s->discarded_written = s->discarded;
	return 0;
}

static int begin_packet(struct stream *s, uint64_t ns)
{
	s->packet.used = 0;
	if (room_for(&s->packet, sizeof(struct packet_hdr)))
		return -ENOMEM;
	s->packet.used = sizeof(struct packet_hdr);
	s->first_ns = s->last_ns = ns;
	s->begun = true;
	return 0;
}

/* Write and free all open packets, so that many rings do not hold a packet's memory each. */
static int write_open_packets(struct ctf *x)
{
	for (uint32_t i = 0; i <= x->ring_count; i++) {
		struct stream *s = &x->streams[i];
		int err;

		if (!s->packet.p)
			continue;
		err = s->begun ? write_packet(x, s) : 0;
		if (err)
			return err;
		free(s->packet.p);
		s->packet = (struct bytes){ 0 };
	}
	x->open_bytes = 0;
	return 0;
}

/* -- events ------------------------------------------------------------------------- */

static bool is_list(const struct xvtrace_field *f)
{
	return f->kind == XVTRACE_UINTS || f->kind == XVTRACE_INTS;
}

/* Get the values of an event, its text if fields are addresses, an upper limit of its length in
 * bytes, and the bits of its empty texts. Returns 0 or -ENOMEM. */
static int get_values(struct ctf *x, const struct xvtrace_event *ev, size_t *bound, uint64_t *empty)
{
	const unsigned int count = ev->type->fields;

	*bound = 64;
	*empty = 0;
	if (xvt_grow(&x->values, &x->value_room, count, sizeof(*x->values)))
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		const struct xvtrace_field *f = xvtrace_field(ev->type, i);
		struct xvtrace_value *v = &x->values[i];

		xvtrace_value(ev, f, v);
		*bound += 16 + v->count * (is_list(f) ? f->size : 3);
		if (i < 64 && f->kind == XVTRACE_STRING && !v->count)
			*empty |= 1ull << i;
	}
	if (ev->type->addresses) {
		x->text = xvtrace_event_text(ev, 0, &x->text_len);
		*bound += 16 + x->text_len * 3;
	}
	return 0;
}

/* i: the field's number, below 64 where the bits of the variant matter. */
static void put_field(struct bytes *b, const struct xvtrace_value *v, const struct variant *as,
		      unsigned int i)
{
	const struct xvtrace_field *f = v->field;
	const uint64_t bit = i < 64 ? 1ull << i : 0;
	uint64_t number = v->u;

	if (f->kind == XVTRACE_STRING && as->blank && !v->count) {
		put(b, " ", 2);
	} else if (f->kind == XVTRACE_STRING) {
		put_string(b, v->data, v->count);
	} else if (is_list(f)) {
		if (f->dynamic)
			put(b, &(uint32_t){ (uint32_t)v->count }, 4);
		put(b, v->data, v->count * f->size);
	} else {
		if (as->from_realtime & bit)
			number -= XVT_LTTNG_REALTIME;
		if (as->twice & bit)
			put(b, &number, f->size);
		put(b, &number, f->size);
	}
}

/* An empty text is one blank, for the reason given at struct variant. */
static void put_text(struct bytes *b, const char *text, size_t len)
{
	if (len)
		put_string(b, (const uint8_t *)text, len);
	else
		put(b, " ", 2);
}

static void put_header(struct stream *s, uint32_t id, uint64_t ns)
{
	struct bytes *b = &s->packet;

	if (id <= COMPACT_ID_MAX && ns - s->last_ns < 1u << COMPACT_TS_BITS) {
		uint32_t word = id | (uint32_t)(ns << 5);

		put(b, &word, sizeof(word));
		return;
	}
	put(b, &(uint8_t){ COMPACT_ID_MAX + 1 }, 1);
	put(b, &id, sizeof(id));
	put(b, &ns, sizeof(ns));
}

/* The newest variant of a type; NULL: no memory. */
static struct variant **newest_of(struct ctf *x, const struct xvtrace_type *type)
{
	if (xvt_grow_zeroed(&x->variants, &x->type_room, type->number + 1u, sizeof(*x->variants)))
		return NULL;
	return &x->variants[type->number];
}

/* Choose the names of the variant's type. */
static void name_variant(struct variant *v)
{
	char name[XVT_LTTNG_NAME_LEN];

	xvt_lttng_name(v->type, name, &v->lttng);
	for (unsigned int i = 0; v->lttng && i < v->type->fields; i++) {
		const struct xvt_lttng_field *f =
			xvt_lttng_field(v->lttng, xvtrace_field(v->type, i));

		v->twice |= (uint64_t)(f && f->also) << i;
		v->from_realtime |= (uint64_t)(f && f->from_realtime) << i;
	}
}

static struct variant *variant_of(struct ctf *x, struct machine *m, const struct xvtrace_event *ev,
				  uint64_t empty)
{
	struct variant *v, **newest = newest_of(x, ev->type);

	if (!newest)
		return NULL;
	for (v = *newest; v; v = v->next)
		if (v->empty == empty)
			return v;
	if (*newest && (*newest)->number == XVT_CTF_VARIANTS_MAX)
		return *newest;
	if (xvt_grow(&m->variants, &m->variant_room, m->variant_count + 1, sizeof(*m->variants)))
		return NULL;
	v = malloc(sizeof(*v));
	if (!v)
		return NULL;
	*v = (struct variant){ .next = *newest,
			       .type = ev->type,
			       .empty = empty,
			       .id = m->variant_count,
			       .number = *newest ? (*newest)->number + 1 : 1 };
	v->blank = v->number == XVT_CTF_VARIANTS_MAX;
	name_variant(v);
	*newest = v;
	m->variants[m->variant_count++] = v;
	return v;
}

/*
 * A packet's counter is the number of events lost before its end, and readers take differences. The
 * packet before a loss is closed first: then readers show the number at the right place.
 */
static int put_loss(struct ctf *x, struct stream *s, const struct xvtrace_event *ev)
{
	int err = 0;

	if (!ev->lost)
		return 0;
	if (!s->begun && !s->created)
		err = begin_packet(s, ev->ns);
	if (!err && s->begun)
		err = write_packet(x, s);
	s->discarded += ev->lost;
	return err;
}

/* A ring of the machine, of those that have events if there are any; NULL: it has none. */
static const struct xvtrace_ring *ring_of(const struct ctf *x,
					  const struct xvtrace_machine *machine)
{
	const struct xvtrace_ring *first = NULL;

	for (uint32_t i = 0; i < x->ring_count; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(x->x->trace, i);

		if (!ring || ring->machine != machine)
			continue;
		if (x->streams[i].begun || x->streams[i].created)
			return ring;
		first = first ? first : ring;
	}
	return first;
}

static struct stream *stream_of(struct ctf *x, const struct xvtrace_ring *ring)
{
	bool known = ring && ring->machine->number < x->vm_count;
	struct stream *s = &x->streams[known ? ring->number : x->ring_count];

	s->ring = known ? ring->number : x->ring_count;
	s->vm = known ? ring->machine->number : x->vm_count;
	s->cpu = known ? ring->cpu : 0;
	return s;
}

static int put_event(struct ctf *x, const struct xvtrace_event *ev)
{
	const bool state = ev->kind == XVTRACE_STATE;
	/* A state is one of all its machine's CPUs, and stands once. */
	struct stream *s = stream_of(x, state ? ring_of(x, ev->machine) : ev->ring);
	uint8_t flags = (uint8_t)ev->flags;
	uint64_t ns = ev->ns;
	struct variant *v;
	int32_t pid = ev->pid;
	size_t had, bound;
	uint64_t empty;
	int err = 0;

	if (!x->machines[s->vm].dir)
		err = make_machine(x, s->vm);
	if (!err && ev->kind == XVTRACE_LOST)
		err = put_loss(x, s, ev);
	if (err || (ev->kind != XVTRACE_EVENT && !state && !x->x->all))
		return err;
	/* Time goes back only in a damaged file, but would make the stream unreadable. */
	if ((s->created || s->begun) && ns < s->last_ns) {
		ns = s->last_ns;
		x->x->moved++;
	}
	if (s->begun && s->packet.used >= PACKET_BYTES)
		err = write_packet(x, s);
	if (!err && x->open_bytes > PACKETS_MAX)
		err = write_open_packets(x);
	had = s->packet.room;
	if (!err && !s->begun)
		err = begin_packet(s, ns);
	if (!err)
		err = get_values(x, ev, &bound, &empty);
	if (!err)
		err = room_for(&s->packet, bound);
	if (err)
		return err;
	x->open_bytes += s->packet.room - had;
	v = variant_of(x, &x->machines[s->vm], ev, empty);
	if (!v)
		return -ENOMEM;
	put_header(s, v->id, ns);
	s->last_ns = ns;
	put(&s->packet, &pid, sizeof(pid));
	put(&s->packet, &ev->irq_flags, 1);
	put(&s->packet, &ev->preempt_count, 1);
	put(&s->packet, &flags, 1);
	if (x->x->bound)
		put(&s->packet, &ev->bound_ns, sizeof(ev->bound_ns));
	for (unsigned int i = 0; i < ev->type->fields; i++)
		put_field(&s->packet, &x->values[i], v, i);
	if (ev->type->addresses)
		put_text(&s->packet, x->text, x->text_len);
	return 0;
}

/* -- metadata ----------------------------------------------------------------------- */

static void put_uuid(struct xvt_out *o, const uint8_t *uuid)
{
	char text[XVT_UUID_TEXT];

	xvt_uuid_text(uuid, text);
	xvt_out_str(o, text);
}

/* Write a quoted TSDL string of plain ASCII. */
static void put_quoted(struct xvt_out *o, const char *text)
{
	xvt_out_char(o, '"');
	for (; *text; text++) {
		uint8_t c = (uint8_t)*text;

		if (c == '"' || c == '\\')
			xvt_out_char(o, '\\');
		xvt_out_char(o, c < ' ' || c >= 0x7f ? '?' : (char)c);
	}
	xvt_out_char(o, '"');
}

static char plain(char c)
{
	bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

	return ok ? c : '_';
}

/* Hash of a name as readers see it. */
static uint32_t hash_name(const char *name)
{
	uint32_t h = 2166136261u;

	for (; *name; name++)
		h = (h ^ (uint8_t)plain(*name)) * 16777619u;
	return h;
}

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (plain(*a) != plain(*b))
			return false;
	return *a == *b;
}

/* A type whose declaration is being written. */
struct declared {
	const struct variant *as;
	struct declared_name {
		uint32_t hash;
		bool again; /* a field before it has the same name */
	} names[];
};

/* Number of fields of a type, with the text that the export adds as the last one. */
static unsigned int declared_fields(const struct xvtrace_type *type)
{
	return type->fields + type->addresses;
}

/* Name of field i, as LTTng calls it. */
static const char *name_of(const struct variant *v, unsigned int i)
{
	const struct xvtrace_field *f = xvtrace_field(v->type, i);
	const struct xvt_lttng_field *lttng;

	if (i == v->type->fields)
		return TEXT_FIELD;
	lttng = xvt_lttng_field(v->lttng, f);
	return lttng ? lttng->name : f->name;
}

static struct declared *declare(const struct variant *v)
{
	const unsigned int count = declared_fields(v->type);
	struct declared *d = malloc(sizeof(*d) + count * sizeof(d->names[0]));

	if (!d)
		return NULL;
	d->as = v;
	for (unsigned int i = 0; i < count; i++) {
		const char *name = name_of(v, i);

		d->names[i].hash = hash_name(name);
		d->names[i].again = false;
		for (unsigned int j = 0; j < i && !d->names[i].again; j++)
			d->names[i].again = d->names[j].hash == d->names[i].hash &&
					    same_name(name_of(v, j), name);
	}
	return d;
}

/*
 * Write field i's name after an underscore, which readers remove, so that no name is a keyword. A
 * name that equals that of an earlier field, as readers see it, gets its number appended.
 */
static void put_name(struct xvt_out *o, const struct declared *d, unsigned int i)
{
	xvt_out_char(o, '_');
	for (const char *p = name_of(d->as, i); *p; p++)
		xvt_out_char(o, plain(*p));
	if (d->names[i].again)
		xvt_out_printf(o, "_%u", i);
}

static void put_integer(struct xvt_out *o, uint32_t size, bool is_signed)
{
	xvt_out_printf(o, "integer { size = %u; align = 8; signed = %s; }", size * 8,
		       is_signed ? "true" : "false");
}

static void put_string_type(struct xvt_out *o, const struct declared *d, unsigned int i)
{
	xvt_out_str(o, "string { encoding = UTF8; } ");
	put_name(o, d, i);
}

static void put_field_type(struct xvt_out *o, const struct declared *d, unsigned int i)
{
	const struct xvtrace_field *f = xvtrace_field(d->as->type, i);
	const struct xvt_lttng_field *lttng = xvt_lttng_field(d->as->lttng, f);
	bool is_signed = f->kind == XVTRACE_INT || f->kind == XVTRACE_INTS;

	xvt_out_str(o, "\t\t");
	if (lttng && lttng->also) {
		put_integer(o, f->size, is_signed);
		xvt_out_printf(o, " _%s;\n\t\t", lttng->also);
	}
	if (f->kind == XVTRACE_STRING) {
		put_string_type(o, d, i);
	} else if (!is_list(f)) {
		put_integer(o, f->size, is_signed);
		xvt_out_char(o, ' ');
		put_name(o, d, i);
	} else if (!f->dynamic) {
		put_integer(o, f->size, is_signed);
		xvt_out_char(o, ' ');
		put_name(o, d, i);
		xvt_out_printf(o, "[%u]", f->elements);
	} else {
		put_integer(o, 4, false);
		xvt_out_str(o, " _");
		put_name(o, d, i);
		xvt_out_str(o, "_length;\n\t\t");
		put_integer(o, f->size, is_signed);
		xvt_out_char(o, ' ');
		put_name(o, d, i);
		xvt_out_str(o, "[ _");
		put_name(o, d, i);
		xvt_out_str(o, "_length ]");
	}
	xvt_out_str(o, ";\n");
}

static void put_variant(struct xvt_out *o, const struct variant *v)
{
	const struct xvtrace_type *type = v->type;
	struct declared *d = declare(v);
	const struct xvt_lttng_event *lttng;
	char name[512];

	if (!d) {
		o->err = -ENOMEM;
		return;
	}
	if (!xvt_lttng_name(type, name, &lttng))
		snprintf(name, sizeof(name), "%s:%s", type->system, type->name);
	xvt_out_str(o, "event {\n\tname = ");
	put_quoted(o, name);
	xvt_out_printf(o, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", v->id);
	for (unsigned int i = 0; i < type->fields; i++)
		put_field_type(o, d, i);
	if (type->addresses) {
		xvt_out_str(o, "\t\t");
		put_string_type(o, d, type->fields);
		xvt_out_str(o, ";\n");
	}
	xvt_out_str(o, "\t};\n};\n\n");
	free(d);
}

/* The clock counts CLOCK_MONOTONIC; its offset makes it the time of day, as LTTng does. */
static void put_clock(struct xvt_out *o, const struct xvtrace_info *info)
{
	uint64_t offset =
		info->begin_wall_ns > info->begin_ns ? info->begin_wall_ns - info->begin_ns : 0;

	xvt_out_str(o, "clock {\n\tname = \"monotonic\";\n\tuuid = \"");
	put_uuid(o, info->uuid);
	xvt_out_printf(o,
		       "\";\n\tdescription = \"CLOCK_MONOTONIC of the host\";\n"
		       "\tfreq = 1000000000;\n\toffset_s = %llu;\n\toffset = %llu;\n};\n\n",
		       (unsigned long long)(offset / 1000000000),
		       (unsigned long long)(offset % 1000000000));
}

static const char packet_layout[] =
	"struct packet_context {\n"
	"\tuint64_clock_t timestamp_begin;\n"
	"\tuint64_clock_t timestamp_end;\n"
	"\tuint64_t content_size;\n"
	"\tuint64_t packet_size;\n"
	"\tuint64_t packet_seq_num;\n"
	"\tuint64_t events_discarded;\n"
	"\tuint32_t cpu_id;\n"
	"};\n\n"
	"struct event_header {\n"
	"\tenum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct {\n\t\t\tuint27_clock_t timestamp;\n\t\t} compact;\n"
	"\t\tstruct {\n\t\t\tuint32_t id;\n\t\t\tuint64_clock_t timestamp;\n\t\t} extended;\n"
	"\t} v;\n"
	"} align(8);\n\n"
	"stream {\n"
	"\tid = 0;\n"
	"\tevent.header := struct event_header;\n"
	"\tpacket.context := struct packet_context;\n"
	"\tevent.context := struct {\n"
	"\t\tint32_t _tid;\n"
	"\t\tuint8_t _common_flags;\n"
	"\t\tuint8_t _common_preempt_count;\n"
	"\t\tuint8_t _xvt_flags;\n";
static const char bound_layout[] = "\t\tuint64_t _bound_ns;\n";
static const char layout_end[] = "\t};\n};\n\n";

static void put_types(struct xvt_out *o)
{
	static const uint32_t sizes[] = { 1, 4, 8 };

	xvt_out_str(o, "typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		xvt_out_str(o, "typealias ");
		put_integer(o, sizes[i], false);
		xvt_out_printf(o, " := uint%u_t;\n", sizes[i] * 8);
	}
	xvt_out_str(o, "typealias ");
	put_integer(o, 4, true);
	xvt_out_str(o, " := int32_t;\n\n");
}

static void put_clock_types(struct xvt_out *o)
{
	xvt_out_str(o, "typealias integer { size = 27; align = 1; signed = false; "
		       "map = clock.monotonic.value; } := uint27_clock_t;\n"
		       "typealias integer { size = 64; align = 8; signed = false; "
		       "map = clock.monotonic.value; } := uint64_clock_t;\n\n");
}

/* Viewers choose the meaning of names by the tracer and its version: these are LTTng 2.13's. */
#define LTTNG_ENV                                                                         \
	"\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n"                                \
	"\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n\ttracer_minor = 13;\n" \
	"\ttracer_patchlevel = 0;\n"

static void put_metadata(struct xvt_out *o, const struct ctf *x, uint32_t vm)
{
	const struct xvtrace_machine *machine = xvtrace_machine(x->x->trace, vm);
	const struct machine *m = &x->machines[vm];

	xvt_out_str(o, "/* CTF 1.8 */\n\n");
	put_types(o);
	xvt_out_str(o, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	put_uuid(o, m->uuid);
	xvt_out_str(o, "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
		       "\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n"
		       "\t};\n};\n\nenv {\n\thostname = ");
	put_quoted(o, machine ? machine->name : "?");
	xvt_out_str(o, ";\n" LTTNG_ENV "\trecorded_by = \"xvtrace\";\n\trecorded_on = ");
	put_quoted(o, x->info->host_name);
	if (machine && machine->ftrace)
		xvt_out_str(o, ";\n\tevents_discarded_are = \"at least\"");
	xvt_out_str(o, ";\n};\n\n");
	put_clock(o, x->info);
	put_clock_types(o);
	xvt_out_str(o, packet_layout);
	if (x->x->bound)
		xvt_out_str(o, bound_layout);
	xvt_out_str(o, layout_end);
	for (uint32_t i = 0; i < m->variant_count; i++)
		put_variant(o, m->variants[i]);
}

static int write_metadata(struct ctf *x, uint32_t vm)
{
	static struct xvt_out out;
	char path[PATH_ROOM];

	metadata_path(x, vm, path);
	out.used = 0;
	out.err = 0;
	out.fd = openat(x->folder.fd, path, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
	if (out.fd < 0)
		return xvt_folder_fail(&x->folder, -errno, path, NULL);
	put_metadata(&out, x, vm);
	if (xvt_out_close(&out))
		return xvt_folder_fail(&x->folder, out.err, path, NULL);
	return 0;
}

/* -- all of it ---------------------------------------------------------------------- */

static int write_events(struct ctf *x)
{
	const struct xvtrace_event *ev;
	int got, err;

	while ((got = xvt_export_next(x->x, &ev)) > 0) {
		err = put_event(x, ev);
		if (err)
			return err;
	}
	return got;
}

static int finish(struct ctf *x)
{
	for (uint32_t i = 0; i <= x->ring_count; i++) {
		struct stream *s = &x->streams[i];
		int err;

		/* A loss after the last event is written as a packet without events. */
		if (!s->begun && s->discarded != s->discarded_written &&
		    begin_packet(s, s->last_ns))
			return -ENOMEM;
		err = s->begun ? write_packet(x, s) : 0;
		if (err)
			return err;
	}
	for (uint32_t vm = 0; vm <= x->vm_count; vm++) {
		int err = x->machines[vm].dir ? write_metadata(x, vm) : 0;

		if (err)
			return err;
	}
	return 0;
}

static void remove_all(struct ctf *x)
{
	char path[PATH_ROOM];

	for (uint32_t i = 0; i <= x->ring_count; i++)
		if (x->machines[x->streams[i].vm].dir) {
			stream_path(x, &x->streams[i], path);
			xvt_folder_remove(&x->folder, path, false);
		}
	for (uint32_t vm = 0; vm <= x->vm_count; vm++) {
		if (!x->machines[vm].dir)
			continue;
		metadata_path(x, vm, path);
		xvt_folder_remove(&x->folder, path, false);
		snprintf(path, sizeof(path), "%s/" KERNEL, x->machines[vm].dir);
		xvt_folder_remove(&x->folder, path, true);
		xvt_folder_remove(&x->folder, x->machines[vm].dir, true);
	}
}

int xvt_export_ctf(struct xvt_export *export, const char *dir)
{
	struct ctf x = {
		.x = export,
		.info = xvtrace_info(export->trace),
	};
	char many[128];
	int err = xvt_folder_open(&x.folder, export, dir);

	x.ring_count = x.info->rings;
	x.vm_count = x.info->machines;
	x.streams = calloc((size_t)x.ring_count + 1, sizeof(*x.streams));
	x.machines = calloc((size_t)x.vm_count + 1, sizeof(*x.machines));
	if (!err && !(x.streams && x.machines))
		err = -ENOMEM;
	if (!err)
		err = write_events(&x);
	if (!err)
		err = finish(&x);
	if (err && x.streams && x.machines)
		remove_all(&x);
	for (uint32_t i = 0; x.streams && i <= x.ring_count; i++)
		free(x.streams[i].packet.p);
	for (uint32_t i = 0; x.machines && i <= x.vm_count; i++) {
		for (uint32_t k = 0; k < x.machines[i].variant_count; k++)
			free(x.machines[i].variants[k]);
		free(x.machines[i].variants);
	}
	free(x.variants);
	free(x.values);
	free(x.streams);
	free(x.machines);
	snprintf(many, sizeof(many),
		 "more than %u rings have events, and CTF has a file for each; "
		 "choose machines with --vm",
		 STREAMS_MAX);
	xvt_folder_explain(&x.folder, err, many);
	xvt_folder_close(&x.folder);
	return err;
}
