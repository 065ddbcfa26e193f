/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - the class of each event (system, name, fields), its values, and their text. A class
 * comes from text that a guest wrote, so each class is checked once when it is made, and each
 * record once when it is classified. After that no value can lie outside the record.
 *
 * format.c makes classes from formats.
 */
#ifndef XVT_DECODE_H
#define XVT_DECODE_H

#include "base/out.h"
#include "trace/read.h"

enum xvt_field_kind {
	XVT_FIELD_UINT, /* 1, 2, 4 or 8 bytes */
	XVT_FIELD_INT,
	XVT_FIELD_STRING, /* up to its first zero byte */
	XVT_FIELD_UINTS,  /* elem_size each */
	XVT_FIELD_INTS,
};

enum xvt_field_place {
	XVT_PLACE_FIXED,    /* at offset, size bytes */
	XVT_PLACE_TAIL,	    /* from offset to the end of the record */
	XVT_PLACE_DATA_LOC, /* at offset: u16 position in the record, u16 length, in bytes */
	XVT_PLACE_REL_LOC,  /* the same, with the position counted from the end of that word */
};

#define XVT_FIELD_F_CHOMP 1u /* string: without one newline at its end */
#define XVT_FIELD_F_NUL	  2u /* string: with zero bytes inside, but none at its end */

struct xvt_field {
	const char *name;
	uint8_t kind;
	uint8_t place;
	uint8_t elem_size;
	uint8_t flags;
	uint32_t offset;
	uint32_t size;
	const struct xvt_field *pid; /* of the name of a task: the field with its number; or NULL */
};

struct xvt_value {
	uint64_t u;	     /* UINT; INT: sign-extended */
	const uint8_t *data; /* STRING, UINTS, INTS */
	uint32_t count;	     /* STRING: bytes; UINTS, INTS: elements */
};

/* ftrace's own records whose print fmt does not describe them fully; see printk.c. */
enum xvt_special {
	XVT_SPECIAL_NONE,
	XVT_SPECIAL_BPRINT,
	XVT_SPECIAL_BPUTS,
	XVT_SPECIAL_KERNEL_STACK,
	XVT_SPECIAL_USER_STACK,
};

struct xvt_print;  /* a compiled print fmt; see print.h */
struct xvt_format; /* a format's place in the trace */

struct xvt_event_class {
	const char *system;
	const char *name;
	uint32_t field_count;
	struct xvt_field *fields;
	uint32_t min_len; /* shorter records are shown as bytes */
	bool ftrace;	  /* the record begins with flags, preempt count and pid */
	bool marker;	  /* show only the text in fields[text] */
	uint32_t text;	  /* index of a marker's text, or of a stack's callers */
	bool has_dynamic;
	uint8_t special;		 /* enum xvt_special */
	struct xvt_print *print;	 /* NULL: show fields as NAME=VALUE */
	bool names;			 /* `print` shows functions by their names */
	bool printks;			 /* and texts of the kernel by their addresses */
	const struct xvt_format *format; /* NULL: not made from a format */
	bool nameless;			 /* of ftrace events whose format the trace does not have */
	/* of sched_switch: indices of the fields with names of tasks; -1: none */
	int comm_field[2];
	int pid_field[2];
	void *arena; /* memory of all that the class points to */
	size_t arena_bytes;
	void *user; /* free for the caller */
};

/* A format that could not be read. The names are clean text. */
struct xvt_left_format {
	uint32_t vm;
	char system[64];
	char event[64];
	const char *why;
};

#define XVT_LEFT_FORMATS 32u /* that are kept; more are counted only */

/* The decoder of one VM. */
struct xvt_decoder;

/* Returns whether the caller needs this machine's events decoded. */
typedef bool (*xvt_wanted_fn)(void *arg, uint32_t vm);

struct xvt_decoders {
	struct xvt_trace *t;
	struct xvt_decoder **vm; /* by VM number; the last is for events without a VM */
	uint32_t count;
	/* Number of formats, symbols and names left out because of a limit (limits.h). */
	uint64_t left_out;
	/* Formats that could not be read. */
	struct xvt_left_format left_formats[XVT_LEFT_FORMATS];
	uint32_t left_format_count;
	/* Private to metadata.c: */
	xvt_wanted_fn wanted;
	void *wanted_arg;
	size_t bytes;
	size_t machine_bytes;
	size_t read_bytes; /* `bytes` and `left_out` when all META chunks were read */
	uint64_t read_left_out;
	uint64_t seed;
	struct xvt_chunk_buf buf;
};

/* Read all META chunks of the trace, which must stay open as long as *ds. Returns 0, -ENOMEM or a
 * read error. */
int xvt_decoders_new(struct xvt_decoders *ds, struct xvt_trace *t);
/* The same for wanted machines only; events of other machines are shown as bytes. */
int xvt_decoders_new_for(struct xvt_decoders *ds, struct xvt_trace *t, xvt_wanted_fn wanted,
			 void *arg);
void xvt_decoders_fini(struct xvt_decoders *ds);
/*
 * Several decoders of copies of a trace have classified a part of its events each. Returns whether
 * one of them surely has room for all that they have made, so that it leaves out nothing either.
 */
bool xvt_decoders_fit_in_one(const struct xvt_decoders *const *parts, size_t count);

/*
 * Lend a machine a format of its records in the chunks from first_seq on and before end_seq, which
 * is used where the trace has none of that type, or has withdrawn it. bytes: the payload of an
 * XVT_META_FORMAT, which stays as it is as long as *ds. Calls of a machine are in order of
 * first_seq, and these parts do not overlap. Before any record is classified. Returns 0 or -ENOMEM.
 */
int xvt_decoders_lend(struct xvt_decoders *ds, uint32_t vm, uint64_t first_seq, uint64_t end_seq,
		      uint16_t type, const uint8_t *bytes, uint32_t len);
/* And the text that xvt_kernel_text() gives where the trace has none. */
void xvt_decoders_lend_kernel(struct xvt_decoders *ds, uint32_t vm, const char *text);

/* The decoder of a ring's VM. */
static inline struct xvt_decoder *xvt_decoder_of_ring(struct xvt_decoders *ds, uint32_t ring)
{
	const uint32_t vm = xvt_ring_vm(ds->t, ring);

	return ds->vm[vm < ds->count - 1 ? vm : ds->count - 1];
}

/* The decoder of an event's VM. */
static inline struct xvt_decoder *xvt_decoder_of(struct xvt_decoders *ds,
						 const struct xvt_event *ev)
{
	return xvt_decoder_of_ring(ds, xvt_event_ring(ev));
}

/*
 * Returns the class of an event; NULL: out of memory. It also learns names of tasks, so call it for
 * each event in order of time.
 */
struct xvt_event_class *xvt_classify(struct xvt_decoder *d, const struct xvt_event *ev);

/* Returns whether xvt_classify() would give a class that is `nameless`. Learns nothing from the
 * record, and is cheaper. */
bool xvt_is_nameless(struct xvt_decoder *d, const struct xvt_event *ev);

/* The number in `size` bytes at p; size: 1, 2, 4 or 8. */
static inline uint64_t xvt_number(const uint8_t *p, uint32_t size, bool is_signed)
{
	uint64_t v = 0;
	uint32_t drop = 64 - 8 * size;

	/* A copy of constant length compiles to one load. */
	if (size == 4)
		memcpy(&v, p, 4);
	else if (size == 8)
		memcpy(&v, p, 8);
	else if (size == 2)
		memcpy(&v, p, 2);
	else
		v = *p;
	return is_signed ? (uint64_t)((int64_t)(v << drop) >> drop) : v;
}

/* The same as xvt_field_get() for UINT and INT, which are always XVT_PLACE_FIXED. */
static inline uint64_t xvt_field_number(const struct xvt_field *f, const struct xvt_event *ev)
{
	return xvt_number(ev->payload + f->offset, f->size, f->kind == XVT_FIELD_INT);
}

/* Get a field's value. ev: a record for which xvt_classify() returned this field's class. */
void xvt_field_get(const struct xvt_field *f, const struct xvt_event *ev, struct xvt_value *v);

/* Write the value as text: a number, a quoted string, or [numbers]; this is JSON as well. */
void xvt_field_put(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev);

/* Get the bytes of a field of any kind. Returns their number. */
uint32_t xvt_field_extent(const struct xvt_field *f, const struct xvt_event *ev,
			  const uint8_t **data);

static inline bool xvt_field_is_list(const struct xvt_field *f)
{
	return f->kind == XVT_FIELD_UINTS || f->kind == XVT_FIELD_INTS;
}

/* Element i of UINTS or INTS. */
uint64_t xvt_field_element(const struct xvt_field *f, const struct xvt_value *v, uint32_t i);

struct xvt_common {
	uint8_t flags;
	uint8_t preempt_count;
	int32_t pid; /* -1: not an ftrace record */
};

static inline void xvt_common_get(const struct xvt_event_class *c, const struct xvt_event *ev,
				  struct xvt_common *common)
{
	common->flags = 0;
	common->preempt_count = 0;
	common->pid = -1;
	if (!c->ftrace || ev->hdr->len < 8)
		return;
	common->flags = ev->payload[2];
	common->preempt_count = ev->payload[3];
	memcpy(&common->pid, ev->payload + 4, sizeof(common->pid));
}

/* Go through the classes of the machine's formats, from *at == 0 on, and make those that no record
 * needed so far. Returns NULL at the end. Formats that cannot be read are left out. */
struct xvt_event_class *xvt_format_next(struct xvt_decoder *d, size_t *at);

/* Returns a copy of the text of the format that the class was made from, as tracefs has it; the
 * caller frees it. NULL: it has none, the file has changed, or out of memory. */
char *xvt_class_format(struct xvt_decoders *ds, const struct xvt_event_class *c);

/* Returns the name of a task, or NULL: unknown. */
const char *xvt_comm(const struct xvt_decoder *d, int32_t pid);
/* The same, and the time of the event that gave it this name; 0: it is of the metadata. */
const char *xvt_comm_since(const struct xvt_decoder *d, int32_t pid, uint64_t *since_ns);
/* Returns the name that the recorder gave to a thread (XVT_META_THREAD), or NULL: none. */
const char *xvt_thread(const struct xvt_decoder *d, int32_t tid);

/* Returns the name that the recorder gave to the task whose name this field has ("g1:vcpus"), as
 * xvt_comm() does; NULL: it gave it none, or the field has another text. */
const char *xvt_field_thread(const struct xvt_decoder *d, const struct xvt_field *f,
			     const struct xvt_event *ev);

/* Returns the process of a thread, and whether it is one of the kernel; 0: not known. */
int32_t xvt_process(const struct xvt_decoder *d, int32_t tid, bool *kernel);

/* Go through the names of tasks, from *at == 0 on. Returns false at the end. */
bool xvt_comm_next(const struct xvt_decoder *d, size_t *at, int32_t *pid, const char **name);
/* The same for threads that the recorder named (XVT_META_THREAD). */
bool xvt_thread_next(const struct xvt_decoder *d, size_t *at, int32_t *pid, const char **name);

/* The role of a thread of the host from since_ns on, as the recorder stated it. */
struct xvt_thread_role_at {
	int32_t tid;
	int32_t tgid; /* 0: not known */
	uint64_t since_ns;
	uint32_t role; /* enum xvt_thread_role, unchecked */
	uint32_t vm;
	uint32_t vcpu;
};

/* The role of a thread at that time. Returns false if the recorder did not state it. */
bool xvt_thread_role_at(struct xvt_decoder *d, int32_t tid, uint64_t ns,
			struct xvt_thread_role_at *role);
/* Go through all that was stated, by the threads' numbers and then in time, from *at == 0 on.
 * Returns false at the end. */
bool xvt_thread_role_next(struct xvt_decoder *d, size_t *at, struct xvt_thread_role_at *role);

/* What the machine said of its kernel (XVT_META_TEXT), or NULL: nothing. */
const char *xvt_kernel_text(const struct xvt_decoder *d);

/* Write the fields of an event by the guest's print fmt; `raw`: as NAME=VALUE. */
void xvt_print_fields(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event_class *c,
		      const struct xvt_event *ev, bool raw);

/* Returns the name of the kernel function at addr, its start in *base and its module (NULL: none)
 * in *module, or NULL; from the symbols that hold for an event of chunk `seq`. */
const char *xvt_ksym(struct xvt_decoder *d, uint64_t seq, uint64_t addr, uint64_t *base,
		     const char **module);

/* Returns true if the trace has kernel symbols of the machine, from any of its boots. */
bool xvt_has_ksyms(const struct xvt_decoder *d);

/*
 * Get a piece of the machine's symbols (XVT_META_KSYMS) or printk formats
 * (XVT_META_PRINTK_FORMATS), as the last boot that gave any has them: whole lines. It holds until
 * something else is read. Returns 0, -ENOENT for a number beyond the last, or a read error.
 */
int xvt_symbols_piece(struct xvt_decoder *d, uint32_t type, size_t number, const char **text,
		      size_t *len);

/* Returns the text at a kernel address, from printk_formats, or NULL. */
const char *xvt_printk_text(struct xvt_decoder *d, uint64_t seq, uint64_t addr);

#endif /* XVT_DECODE_H */
