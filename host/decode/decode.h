/* SPDX-License-Identifier: GPL-2.0 */
/*
 * decode.h - what is inside an event. Gives every event a class (system, name, fields) and
 * its values; prints it for people. All of a class comes from text that a guest wrote, so
 * each class is checked once when it is made, each record once when it is classified, and
 * after that no value can lie outside the record.
 *
 * Formats are turned into classes by format.c; nothing here knows libtraceevent.
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
	XVT_PLACE_DATA_LOC, /* at offset: u16 where from the record's start, u16 length */
	XVT_PLACE_REL_LOC,  /* the same, counted from the end of that word */
};

#define XVT_FIELD_F_CHOMP 1u /* a string: without one newline at its end */
#define XVT_FIELD_F_NUL	  2u /* a string: zero bytes inside it count, those at its end do not */

struct xvt_field {
	const char *name;
	uint8_t kind;
	uint8_t place;
	uint8_t elem_size;
	uint8_t flags;
	uint32_t offset;
	uint32_t size;
};

struct xvt_value {
	uint64_t u;	     /* UINT; INT: sign-extended */
	const uint8_t *data; /* the others */
	uint32_t count;	     /* STRING: bytes; UINTS, INTS: elements */
};

/* ftrace's own records that a print fmt does not say all of; printk.c */
enum xvt_special {
	XVT_SPECIAL_NONE,
	XVT_SPECIAL_BPRINT,
	XVT_SPECIAL_BPUTS,
	XVT_SPECIAL_KERNEL_STACK,
	XVT_SPECIAL_USER_STACK,
};

struct xvt_print; /* a compiled print fmt; print.c */

struct xvt_event_class {
	const char *system;
	const char *name;
	uint32_t field_count;
	struct xvt_field *fields;
	uint32_t min_len; /* of a record: shorter ones are shown raw */
	bool ftrace;	  /* the record begins with flags, preempt count and pid */
	bool marker;	  /* its only field that matters is a text: fields[text] */
	uint32_t text;
	bool has_dynamic;
	uint8_t special;	 /* enum xvt_special */
	struct xvt_print *print; /* NULL: fields as NAME=VALUE */
	/* sched_switch: what it teaches about names of tasks; -1: nothing */
	int comm_field[2];
	int pid_field[2];
	void *arena; /* holds all that is pointed to from here */
	size_t arena_bytes;
	void *user;	   /* for the program: an export's own description */
	uint32_t user_u32; /* the same */
};

/* One VM. */
struct xvt_decoder;

/* Does the caller want to know what events of this machine mean? */
typedef bool (*xvt_wanted_fn)(void *arg, uint32_t vm);

struct xvt_decoders {
	struct xvt_trace *t;
	struct xvt_decoder **vm; /* by VM number; the last is for events without a VM */
	uint32_t count;
	/* What was not taken in because it is too much (limits.h): formats, symbols, names. */
	uint64_t left_out;
	/* The rest is metadata.c's. */
	xvt_wanted_fn wanted;
	void *wanted_arg;
	size_t bytes;
	size_t machine_bytes;
	uint64_t seed;
	struct xvt_chunk_buf buf;
};

/* Looks through all META chunks of the trace, which stays open as long as *ds. Returns 0, -ENOMEM
 * or a read error. */
int xvt_decoders_new(struct xvt_decoders *ds, struct xvt_trace *t);
/* The same for some machines only; events of the others are shown as bytes. */
int xvt_decoders_new_for(struct xvt_decoders *ds, struct xvt_trace *t, xvt_wanted_fn wanted,
			 void *arg);
void xvt_decoders_fini(struct xvt_decoders *ds);

/* The decoder of an event's VM. */
struct xvt_decoder *xvt_decoder_of(struct xvt_decoders *ds, const struct xvt_event *ev);

/*
 * The class of an event; never fails but for lack of memory (NULL). Also learns names of
 * tasks, so call it on every event in order of time.
 */
struct xvt_event_class *xvt_classify(struct xvt_decoder *d, const struct xvt_event *ev);

/* size: 1, 2, 4 or 8 */
static inline uint64_t xvt_number(const uint8_t *p, uint32_t size, bool is_signed)
{
	uint64_t v = 0;
	uint32_t drop = 64 - 8 * size;

	/* A copy whose length the compiler knows is one load. */
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

/* A field's value in a record of this field's class (as xvt_classify() gave it). */
void xvt_field_get(const struct xvt_field *f, const struct xvt_event *ev, struct xvt_value *v);

/* The same as text: a number, a quoted string, or [numbers]; also what JSON wants. */
void xvt_field_put(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev);

/* Where a field's bytes are, whatever its kind. Returns how many. */
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

void xvt_common_get(const struct xvt_event_class *c, const struct xvt_event *ev,
		    struct xvt_common *common);

/* Name of a task, or NULL. */
const char *xvt_comm(const struct xvt_decoder *d, int32_t pid);

/* Its fields for people: by the guest's print fmt, or `raw`: NAME=VALUE. */
void xvt_print_fields(struct xvt_out *o, struct xvt_decoder *d, const struct xvt_event_class *c,
		      const struct xvt_event *ev, bool raw);

/* Name of the kernel function at addr (its start in *base), or NULL; as it was for an event of
 * chunk `seq`. */
const char *xvt_ksym(struct xvt_decoder *d, uint64_t seq, uint64_t addr, uint64_t *base);

/* Text at a kernel address, from printk_formats, or NULL. */
const char *xvt_printk_text(struct xvt_decoder *d, uint64_t seq, uint64_t addr);

#endif /* XVT_DECODE_H */
