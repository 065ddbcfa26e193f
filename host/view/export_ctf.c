// SPDX-License-Identifier: GPL-2.0
/*
 * export_ctf.c - Common Trace Format 1.8, laid out as LTTng does: compact event headers of 5
 * bits of id and 27 bits of time, or the extended form with 64. DIR/VM/ is a trace of its
 * own for each machine, with one stream file for each ring; all clocks carry one UUID, so a
 * reader merges them. Everything is aligned to bytes, little-endian.
 *
 * Streams are opened only while a packet is written: rings may outnumber file descriptors.
 */
#include "view/export.h"
#include "trace/names.h"
#include "decode/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CTF_MAGIC	0xc1fc1fc1u
#define PACKET_BYTES	(64u << 10) /* a packet of this length is closed */
#define PACKET_FIRST	1024u
#define COMPACT_ID_MAX	30u
#define COMPACT_TS_BITS 27

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
	const struct xvt_event_class *c;
	uint64_t empty; /* bit i: the text of field i is empty */
	uint32_t id;
	uint32_t number; /* in its class, from 1 */
	bool blank;	 /* last variant allowed: it writes an empty text as one blank */
};

struct machine {
	char dir[2 * XVT_NAME_LEN]; /* below the output directory; empty: not created yet */
	uint8_t uuid[16];
	struct variant **variants; /* by id */
	uint32_t variant_count;
	uint32_t variant_room;
};

struct ctf {
	struct xvt_view *v;
	const char *dir;
	int dir_fd;
	struct stream *streams;	  /* by ring; the last is for unknown rings */
	struct machine *machines; /* by VM; the last is for unknown rings */
	uint32_t ring_count;
	uint32_t files; /* created so far, one for each ring with events */
	uint32_t vm_count;
	uint64_t clamped;  /* events whose time went back */
	size_t open_bytes; /* memory of all open packets */
	char failed[512];  /* path that could not be written */
};

/* -- bytes -------------------------------------------------------------------------- */

static int room_for(struct bytes *b, size_t more)
{
	size_t room = b->room ? b->room : PACKET_FIRST;
	void *grown;

	if (more <= b->room - b->used)
		return 0;
	while (room - b->used < more)
		room *= 2;
	grown = realloc(b->p, room);
	if (!grown)
		return -ENOMEM;
	b->p = grown;
	b->room = room;
	return 0;
}

static void put(struct bytes *b, const void *p, size_t len)
{
	if (len)
		memcpy(b->p + b->used, p, len);
	b->used += len;
}

/*
 * Write text as valid UTF-8 without zero bytes, then one zero byte: at most 3 * len + 1 bytes.
 * Readers escape control
 * characters of ASCII; babeltrace2 2.0.4 shows other unsafe characters as they are, so those are
 * escaped here.
 */
static void put_string(struct bytes *b, const uint8_t *p, size_t len)
{
	size_t i = 0;

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

static int fail(struct ctf *x, int err, const char *sub, const char *name)
{
	snprintf(x->failed, sizeof(x->failed), "%s%s%s%s%s", x->dir, sub ? "/" : "", sub ? sub : "",
		 name ? "/" : "", name ? name : "");
	return err;
}

static int write_all(int fd, const void *p, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = write(fd, (const char *)p + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

/* -- machines and streams ----------------------------------------------------------- */

/* Create a machine's directory. A guest's name must not lead out of the output directory. */
static int make_machine(struct ctf *x, uint32_t at)
{
	struct machine *m = &x->machines[at];
	char *p;

	snprintf(m->dir, sizeof(m->dir), "%s",
		 at == x->vm_count ? "unknown" : xvt_vm_name(x->v->t, at));
	for (p = m->dir; *p; p++)
		if (*p == '/' || (*p == '.' && p == m->dir))
			*p = '_';
	for (uint32_t i = 0; i <= x->vm_count; i++)
		if (i != at && strcmp(x->machines[i].dir, m->dir) == 0)
			snprintf(m->dir + strlen(m->dir), 16, "-%u", at);
	memcpy(m->uuid, x->v->t->info.uuid, sizeof(m->uuid));
	for (int i = 0; i < 4; i++)
		m->uuid[12 + i] ^= (uint8_t)((at + 1) >> (8 * i));
	if (mkdirat(x->dir_fd, m->dir, 0755))
		return fail(x, -errno, m->dir, NULL);
	return 0;
}

static int write_packet(struct ctf *x, struct stream *s, uint32_t vm)
{
	struct machine *m = &x->machines[vm];
	bool known = s->ring < x->ring_count;
	char name[64], path[sizeof(m->dir) + sizeof(name)];
	struct packet_hdr h = {
		.magic = CTF_MAGIC,
		.timestamp_begin = s->first_ns,
		.timestamp_end = s->last_ns,
		.content_size = s->packet.used * 8,
		.packet_size = s->packet.used * 8,
		.packet_seq_num = s->packet_seq,
		.events_discarded = s->discarded,
		.cpu_id = known ? x->v->t->rings[s->ring].info.cpu : 0,
	};
	int fd, err;

	memcpy(h.uuid, m->uuid, sizeof(h.uuid));
	memcpy(s->packet.p, &h, sizeof(h));
	if (known)
		snprintf(name, sizeof(name), "ring_%u", s->ring);
	else
		snprintf(name, sizeof(name), "ring_unknown");
	snprintf(path, sizeof(path), "%s/%s", m->dir, name);
	if (!s->created && x->files++ == XVT_LIMIT_STREAMS)
		return -EMLINK;
	fd = openat(x->dir_fd, path,
		    O_WRONLY | O_CLOEXEC | O_APPEND | (s->created ? 0 : O_CREAT | O_EXCL), 0644);
	if (fd < 0)
		return fail(x, -errno, m->dir, name);
	err = write_all(fd, s->packet.p, s->packet.used);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		return fail(x, err, m->dir, name);
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
		uint32_t vm = xvt_ring_vm(x->v->t, i);
		int err;

		if (!s->packet.p)
			continue;
		err = s->begun ? write_packet(x, s, vm < x->vm_count ? vm : x->vm_count) : 0;
		if (err)
			return err;
		free(s->packet.p);
		s->packet = (struct bytes){ 0 };
	}
	x->open_bytes = 0;
	return 0;
}

/* -- events ------------------------------------------------------------------------- */

/* Upper limit of the event's length in bytes. */
static size_t bound(const struct xvt_event_class *c, const struct xvt_event *ev)
{
	size_t len = 64;

	for (uint32_t i = 0; i < c->field_count; i++) {
		struct xvt_value v;

		xvt_field_get(&c->fields[i], ev, &v);
		len += 8 + (size_t)v.count *
				   (xvt_field_is_list(&c->fields[i]) ? c->fields[i].elem_size : 3);
	}
	return len;
}

static void put_field(struct bytes *b, const struct xvt_field *f, const struct xvt_event *ev,
		      bool blank)
{
	struct xvt_value v;

	xvt_field_get(f, ev, &v);
	if (f->kind == XVT_FIELD_STRING && blank && !v.count) {
		put(b, " ", 2);
	} else if (f->kind == XVT_FIELD_STRING) {
		put_string(b, v.data, v.count);
	} else if (xvt_field_is_list(f)) {
		if (f->place != XVT_PLACE_FIXED)
			put(b, &v.count, sizeof(v.count));
		put(b, v.data, (size_t)v.count * f->elem_size);
	} else {
		put(b, &v.u, f->size);
	}
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

static uint64_t empty_texts(const struct xvt_event_class *c, const struct xvt_event *ev)
{
	uint64_t empty = 0;

	for (uint32_t i = 0; i < c->field_count && i < 64; i++) {
		const struct xvt_field *f = &c->fields[i];
		struct xvt_value v;

		if (f->kind != XVT_FIELD_STRING)
			continue;
		xvt_field_get(f, ev, &v);
		empty |= v.count ? 0 : 1ull << i;
	}
	return empty;
}

static struct variant *variant_of(struct machine *m, struct xvt_event_class *c,
				  const struct xvt_event *ev)
{
	struct variant *v, *newest = c->user;
	uint64_t empty = empty_texts(c, ev);

	if (newest && newest->number == XVT_LIMIT_VARIANTS && newest->empty != empty) {
		for (v = newest->next; v; v = v->next)
			if (v->empty == empty)
				return v;
		return newest;
	}
	for (v = newest; v; v = v->next)
		if (v->empty == empty)
			return v;
	if (m->variant_count == m->variant_room) {
		uint32_t room = m->variant_room ? m->variant_room * 2 : 64;
		void *grown = realloc(m->variants, room * sizeof(*m->variants));

		if (!grown)
			return NULL;
		m->variants = grown;
		m->variant_room = room;
	}
	v = malloc(sizeof(*v));
	if (!v)
		return NULL;
	*v = (struct variant){ .next = newest,
			       .c = c,
			       .empty = empty,
			       .id = m->variant_count,
			       .number = newest ? newest->number + 1 : 1 };
	v->blank = v->number == XVT_LIMIT_VARIANTS;
	c->user = v;
	m->variants[m->variant_count++] = v;
	return v;
}

/*
 * A packet's counter is the number of events lost before its end, and readers take differences. So
 * the packet before a loss is closed first: then readers show the number at the right place.
 */
static int put_loss(struct ctf *x, struct stream *s, uint32_t vm, const struct xvt_event *ev)
{
	struct xvt_lost lost;
	uint64_t sum;
	int err = 0;

	if (!xvt_lost_get(ev->hdr, ev->payload, &lost))
		return 0;
	sum = lost.overwritten + lost.dropped;
	for (int i = 0; i < XVT_LOST_CAUSES; i++)
		sum += lost.lost[i];
	if (!sum)
		return 0;
	if (!s->begun && !s->created)
		err = begin_packet(s, ev->hdr->host_ns);
	if (!err && s->begun)
		err = write_packet(x, s, vm);
	s->discarded += sum;
	return err;
}

static int put_event(struct ctf *x, const struct xvt_event *ev, struct xvt_event_class *c)
{
	uint32_t ring = xvt_event_ring(ev), vm = xvt_ring_vm(x->v->t, ring);
	uint8_t flags = (uint8_t)(ev->hdr->ring_flags >> 20 & 0x1f);
	uint64_t ns = ev->hdr->host_ns;
	struct xvt_common common;
	struct variant *v;
	struct stream *s;
	size_t had;
	int err = 0;

	if (vm >= x->vm_count) {
		vm = x->vm_count;
		ring = x->ring_count;
	}
	s = &x->streams[ring];
	s->ring = ring;
	if (!x->machines[vm].dir[0])
		err = make_machine(x, vm);
	if (!err && ev->hdr->id == XVT_ID_LOST)
		err = put_loss(x, s, vm, ev);
	if (err || (!xvt_is_event(ev->hdr) && !x->v->opts.all))
		return err;
	/* Time goes back only in a damaged file, but would make the stream unreadable. */
	if ((s->created || s->begun) && ns < s->last_ns) {
		ns = s->last_ns;
		x->clamped++;
	}
	if (s->begun && s->packet.used >= PACKET_BYTES)
		err = write_packet(x, s, vm);
	if (!err && x->open_bytes > XVT_LIMIT_PACKET_BYTES)
		err = write_open_packets(x);
	had = s->packet.room;
	if (!err && !s->begun)
		err = begin_packet(s, ns);
	if (!err)
		err = room_for(&s->packet, bound(c, ev));
	if (err)
		return err;
	x->open_bytes += s->packet.room - had;
	v = variant_of(&x->machines[vm], c, ev);
	if (!v)
		return -ENOMEM;
	put_header(s, v->id, ns);
	s->last_ns = ns;
	xvt_common_get(c, ev, &common);
	put(&s->packet, &common.pid, sizeof(common.pid));
	put(&s->packet, &common.flags, 1);
	put(&s->packet, &common.preempt_count, 1);
	put(&s->packet, &flags, 1);
	for (uint32_t i = 0; i < c->field_count; i++)
		put_field(&s->packet, &c->fields[i], ev, v->blank);
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

/* A class whose declaration is being written. */
struct declared {
	const struct xvt_event_class *c;
	uint32_t hashes[XVT_LIMIT_FORMAT_FIELDS];
	bool again[XVT_LIMIT_FORMAT_FIELDS]; /* a field before it has the same name */
};

static void declare(struct declared *d, const struct xvt_event_class *c)
{
	d->c = c;
	for (uint32_t i = 0; i < c->field_count; i++) {
		d->hashes[i] = hash_name(c->fields[i].name);
		d->again[i] = false;
		for (uint32_t j = 0; j < i && !d->again[i]; j++)
			d->again[i] = d->hashes[j] == d->hashes[i] &&
				      same_name(c->fields[j].name, c->fields[i].name);
	}
}

/*
 * Write field i's name after an underscore, which readers remove, so that no name is a keyword. A
 * name that equals that of an earlier field, as readers see it, gets its number appended.
 */
static void put_name(struct xvt_out *o, const struct declared *d, uint32_t i)
{
	xvt_out_char(o, '_');
	for (const char *p = d->c->fields[i].name; *p; p++)
		xvt_out_char(o, plain(*p));
	if (d->again[i])
		xvt_out_printf(o, "_%u", i);
}

static void put_integer(struct xvt_out *o, uint32_t size, bool is_signed)
{
	xvt_out_printf(o, "integer { size = %u; align = 8; signed = %s; }", size * 8,
		       is_signed ? "true" : "false");
}

static void put_field_type(struct xvt_out *o, const struct declared *d, uint32_t i)
{
	const struct xvt_field *f = &d->c->fields[i];

	xvt_out_str(o, "\t\t");
	if (f->kind == XVT_FIELD_STRING) {
		xvt_out_str(o, "string { encoding = UTF8; } ");
		put_name(o, d, i);
	} else if (!xvt_field_is_list(f)) {
		put_integer(o, f->size, f->kind == XVT_FIELD_INT);
		xvt_out_char(o, ' ');
		put_name(o, d, i);
	} else if (f->place == XVT_PLACE_FIXED) {
		put_integer(o, f->elem_size, f->kind == XVT_FIELD_INTS);
		xvt_out_char(o, ' ');
		put_name(o, d, i);
		xvt_out_printf(o, "[%u]", f->size / f->elem_size);
	} else {
		put_integer(o, 4, false);
		xvt_out_str(o, " _");
		put_name(o, d, i);
		xvt_out_str(o, "_length;\n\t\t");
		put_integer(o, f->elem_size, f->kind == XVT_FIELD_INTS);
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
	const struct xvt_event_class *c = v->c;
	struct declared d;
	char name[512];

	declare(&d, c);

	snprintf(name, sizeof(name), "%s:%s", c->system, c->name);
	xvt_out_str(o, "event {\n\tname = ");
	put_quoted(o, name);
	xvt_out_printf(o, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", v->id);
	for (uint32_t i = 0; i < c->field_count; i++)
		put_field_type(o, &d, i);
	xvt_out_str(o, "\t};\n};\n\n");
}

/* The clock counts CLOCK_MONOTONIC; its offset makes it the time of day, as LTTng does. */
static void put_clock(struct xvt_out *o, const struct xvt_file_info *info)
{
	uint64_t offset = info->realtime_ns > info->base_ns ? info->realtime_ns - info->base_ns : 0;

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
	"\t\tint32_t _pid;\n"
	"\t\tuint8_t _common_flags;\n"
	"\t\tuint8_t _common_preempt_count;\n"
	"\t\tuint8_t _xvt_flags;\n"
	"\t};\n"
	"};\n\n";

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

static void put_metadata(struct xvt_out *o, const struct ctf *x, uint32_t vm)
{
	const struct machine *m = &x->machines[vm];
	const struct xvt_trace *t = x->v->t;
	char host[XVT_NAME_LEN + 1] = "";

	memcpy(host, t->info.host_name, sizeof(t->info.host_name));
	xvt_out_str(o, "/* CTF 1.8 */\n\n");
	put_types(o);
	xvt_out_str(o, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	put_uuid(o, m->uuid);
	xvt_out_str(o, "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
		       "\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n"
		       "\t};\n};\n\nenv {\n\thostname = ");
	put_quoted(o, xvt_vm_name(t, vm));
	xvt_out_str(o, ";\n\tdomain = \"kernel\";\n\ttracer_name = \"xvtrace\";\n"
		       "\ttracer_major = 0;\n\ttracer_minor = 1;\n\trecorded_on = ");
	put_quoted(o, host);
	xvt_out_str(o, ";\n};\n\n");
	put_clock(o, &t->info);
	put_clock_types(o);
	xvt_out_str(o, packet_layout);
	for (uint32_t i = 0; i < m->variant_count; i++)
		put_variant(o, m->variants[i]);
}

static int write_metadata(struct ctf *x, uint32_t vm)
{
	static struct xvt_out out;
	const char *dir = x->machines[vm].dir;
	char path[sizeof(x->machines[vm].dir) + 16];

	snprintf(path, sizeof(path), "%s/metadata", dir);
	out.used = 0;
	out.err = 0;
	out.fd = openat(x->dir_fd, path, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
	if (out.fd < 0)
		return fail(x, -errno, dir, "metadata");
	put_metadata(&out, x, vm);
	if (xvt_out_close(&out))
		return fail(x, out.err, dir, "metadata");
	return 0;
}

/* -- all of it ---------------------------------------------------------------------- */

static int open_dir(struct ctf *x)
{
	struct dirent *e;
	bool empty = true;
	DIR *d;

	if (mkdir(x->dir, 0755) && errno != EEXIST)
		return fail(x, -errno, NULL, NULL);
	x->dir_fd = open(x->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->dir_fd < 0)
		return fail(x, -errno, NULL, NULL);
	d = fdopendir(dup(x->dir_fd));
	if (!d)
		return fail(x, -errno, NULL, NULL);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			empty = false;
	closedir(d);
	return empty ? 0 : fail(x, -ENOTEMPTY, NULL, NULL);
}

static int write_events(struct ctf *x)
{
	struct xvt_event ev;
	struct xvt_event_class *c;
	struct xvt_decoder *d;
	int got, err;

	while ((got = xvt_view_next(x->v, &ev, &c, &d)) > 0) {
		err = put_event(x, &ev, c);
		if (err)
			return err;
	}
	return got;
}

static int finish(struct ctf *x)
{
	for (uint32_t i = 0; i <= x->ring_count; i++) {
		struct stream *s = &x->streams[i];
		uint32_t vm = xvt_ring_vm(x->v->t, i);
		int err;

		if (vm > x->vm_count)
			vm = x->vm_count;
		/* A loss after the last event is written as a packet without events. */
		if (!s->begun && s->discarded != s->discarded_written &&
		    begin_packet(s, s->last_ns))
			return -ENOMEM;
		err = s->begun ? write_packet(x, s, vm) : 0;
		if (err)
			return err;
	}
	for (uint32_t vm = 0; vm <= x->vm_count; vm++) {
		int err = x->machines[vm].dir[0] ? write_metadata(x, vm) : 0;

		if (err)
			return err;
	}
	return 0;
}

int xvt_export_ctf(struct xvt_view *v, const char *dir)
{
	struct ctf x = {
		.v = v,
		.dir = dir,
		.dir_fd = -1,
		.ring_count = v->t->ring_count,
		.vm_count = v->t->vm_count,
	};
	int err = -ENOMEM;

	x.streams = calloc((size_t)x.ring_count + 1, sizeof(*x.streams));
	x.machines = calloc((size_t)x.vm_count + 1, sizeof(*x.machines));
	if (x.streams && x.machines) {
		err = open_dir(&x);
		if (!err)
			err = write_events(&x);
		if (!err)
			err = finish(&x);
	}
	if (err == -ENOTEMPTY)
		xvt_error(dir, "is not empty; name a directory that does not exist yet");
	else if (err == -EMLINK && !x.failed[0])
		xvt_error(v->t->path,
			  "more than %u rings have events, and CTF has a file for each; "
			  "choose machines with --vm",
			  XVT_LIMIT_STREAMS);
	else if (err && x.failed[0])
		xvt_error(x.failed, "cannot write: %s", strerror(-err));
	else if (err)
		xvt_error(v->t->path, "%s", strerror(-err));
	else if (x.clamped && !v->opts.quiet && !v->t->damage_count)
		xvt_warn(v->t->path, "%llu events were out of order and got the time before them",
			 (unsigned long long)x.clamped);
	for (uint32_t i = 0; x.streams && i <= x.ring_count; i++)
		free(x.streams[i].packet.p);
	for (uint32_t i = 0; x.machines && i <= x.vm_count; i++) {
		for (uint32_t k = 0; k < x.machines[i].variant_count; k++)
			free(x.machines[i].variants[k]);
		free(x.machines[i].variants);
	}
	free(x.streams);
	free(x.machines);
	if (x.dir_fd >= 0)
		close(x.dir_fd);
	return err;
}
