/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - one machine's decoder, shared by decode.c, metadata.c, symbols.c and tables.c.
 *
 * Metadata is read once, when a trace is opened. Of a format, only its type, its place in the file
 * and a hash are kept; its text is read again for the first record that needs it. A trace may have
 * any number of formats and generations, and only used formats take memory.
 */
#ifndef XVT_DECODE_PARTS_H
#define XVT_DECODE_PARTS_H

#include "base/vec.h"
#include "decode/decode.h"
#include "decode/limits.h"

/* A table of 16-bit keys in two levels: most guests use a few hundred keys. */
struct xvt_table {
	void **page[256];
};

/* The place of a META chunk. */
struct xvt_meta_place {
	uint64_t offset;
	uint32_t len;
	uint32_t generation; /* index in the decoder's generations */
};

/* A version of a type's format. */
struct xvt_format {
	struct xvt_meta_place at;
	const uint8_t *bytes; /* of a format that the trace does not have; NULL: it has it */
	uint64_t since_ns;    /* does not hold for earlier events of its boot */
	uint64_t hash;
	struct xvt_event_class *cls;
	struct xvt_event_class *unfit[2]; /* of records that it does not fit; [1]: too short ones */
	bool failed;
	bool withdrawn; /* it has no class, and those before do not hold; once it was used */
};

/* All versions of a type's format, in order of generations, and of time in each; neighbours differ.
 */
struct xvt_formats {
	uint32_t count;
	size_t room;
	struct xvt_format *v;
	/* The result of the last search, which holds for records of that generation and of times
	 * from since_ns on and below until_ns. */
	struct xvt_format *last;
	uint32_t generation;
	uint64_t since_ns;
	uint64_t until_ns;
};

/* A boot of a guest. Events in chunks from `first_seq` on belong to it. */
struct xvt_generation {
	uint32_t number;
	uint64_t first_seq;
};

/* Formats that the trace does not have, of a part of its events. */
struct xvt_lent_formats {
	uint64_t first_seq;  /* of records in chunks from here on */
	uint64_t end_seq;    /* and before this */
	struct xvt_table of; /* struct xvt_format by type */
};

struct xvt_ksymbol {
	uint64_t addr;
	uint64_t size; /* bytes; 0: unknown, up to the next symbol */
	const char *name;
	const char *module; /* NULL: of the kernel itself */
};

/* Symbols of one generation, sorted by address, loaded on demand. */
struct xvt_symbols {
	uint32_t type; /* XVT_META_KSYMS or XVT_META_PRINTK_FORMATS */
	struct xvt_meta_place *places;
	uint32_t place_count;
	size_t place_room;
	uint32_t loads;
	uint32_t generation; /* the loaded generation, if `loads` */
	size_t bytes;	     /* memory charged for the loaded symbols */
	struct xvt_ksymbol *v;
	size_t count;
	size_t room;
	char **texts; /* the texts into which the names point */
	size_t text_count;
};

/* Before the name of a thread there may be that of a machine: MACHINE:NAME. */
#define XVT_COMM_LEN   (XVT_NAME_LEN + 32)

#define XVT_COMM_FIELD 16u /* bytes of a task's name in the kernel's events */

struct xvt_comm {
	int32_t pid;
	bool used;
	bool fixed;	   /* by META_THREAD: another name of that number is ignored */
	bool kernel;	   /* of the kernel; with a tgid */
	bool has_field;	   /* `field` is the name as an event had it */
	int32_t tgid;	   /* 0: not known */
	uint64_t since_ns; /* time of the event that gave it this name; 0: none did */
	char name[XVT_COMM_LEN];
	uint8_t field[XVT_COMM_FIELD];
};

struct xvt_stated_thread {
	struct xvt_thread_role_at pub;
	uint32_t number; /* as they were stated */
};

/* Classes of the ring's own records by id, and the class of the shorter LOST record of older
 * recorders. */
#define XVT_BUILTIN_LOST_SHORT (XVT_ID_PANIC + 1)
#define XVT_BUILTINS	       (XVT_ID_PANIC + 2)

struct xvt_decoder {
	struct xvt_decoders *all;
	uint32_t vm;
	size_t bytes; /* memory charged, of the machine's part */
	struct xvt_generation *generations;
	uint32_t generation_count;
	size_t generation_room;
	uint32_t last_generation; /* of last_seq, which was looked up last */
	uint64_t last_seq;
	struct xvt_table formats;      /* struct xvt_formats by type */
	struct xvt_lent_formats *lent; /* by first_seq; used for types without a format */
	uint32_t lent_count;
	size_t lent_room;
	struct xvt_table raw_types;    /* ftrace records without a format */
	struct xvt_table raw_ids;      /* records of the programs' own ids */
	struct xvt_event_class *other; /* for records beyond the limit of memory */
	struct xvt_event_class *builtin[XVT_BUILTINS];
	struct xvt_event_class **classes;
	uint32_t class_count;
	size_t class_room;
	uint64_t next_since_ns; /* of the next format: XVT_META_SINCE */
	struct xvt_symbols ksyms;
	struct xvt_symbols printks;
	struct xvt_comm *comms; /* hash table, open addressing; its size is a power of two */
	uint32_t comm_count;
	uint32_t comm_room;
	struct xvt_stated_thread *threads;
	uint32_t thread_count;
	size_t thread_room;
	bool threads_unsorted;
	bool has_threads;			 /* some are `fixed` */
	char kernel[XVT_LIMIT_KERNEL_BYTES + 1]; /* what it said of itself; empty: nothing */
};

/* Returns the slot of a key; NULL: absent, or out of memory with `make`. */
void **xvt_table_slot(struct xvt_table *t, uint16_t key, bool make);

static inline void *xvt_table_get(const struct xvt_table *t, uint16_t key)
{
	void **page = t->page[key >> 8];

	return page ? page[key & 255] : NULL;
}

void xvt_table_fini(struct xvt_table *t);

/* Charge the machine for `bytes` more bytes. Returns false beyond the limit, and counts one item as
 * left out. */
bool xvt_decoder_charge(struct xvt_decoder *d, size_t bytes);
void xvt_decoder_give_back(struct xvt_decoder *d, size_t bytes);

/*
 * Make room for one more element behind `count`, and charge it; else as xvt_grow(). Returns 0,
 * -ENOSPC (the element is left out) or -ENOMEM.
 */
int xvt_decoder_grow(struct xvt_decoder *d, void *array, size_t count, size_t *room, size_t size);

/* Returns a copy of the bytes with a zero byte behind them; NULL: out of memory. */
char *xvt_decoder_text(const uint8_t *p, size_t len);

/* Learn a task's name, from an event of that time or, with 0, from metadata. */
void xvt_decoder_comm(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len,
		      uint64_t ns);
/* The same of an event's field, in which zero bytes may follow the name. Cheap for the name that
 * the task has. */
void xvt_decoder_task(struct xvt_decoder *d, int32_t pid, const uint8_t *field, uint64_t ns);
/* The same for good: only another call of this one changes it. */
void xvt_decoder_thread(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len);
/* The process of a thread that has a name. */
void xvt_decoder_process(struct xvt_decoder *d, int32_t tid, int32_t tgid, bool kernel);
void xvt_decoder_thread_role(struct xvt_decoder *d, const struct xvt_thread_role_at *role);

/* Index of the generation to which a record of this chunk belongs; before the first: 0. */
uint32_t xvt_decoder_generation(const struct xvt_decoder *d, uint64_t chunk_seq);

/* Get the index of the generation of a META chunk. Returns 0, -ENOSPC or -ENOMEM. */
int xvt_decoder_take_generation(struct xvt_decoder *d, uint32_t number, uint64_t seq, uint32_t *at);

/* Note the place of a META chunk with symbols of this type. Returns 0 or -ENOMEM. */
int xvt_symbols_take(struct xvt_decoder *d, struct xvt_symbols *s, uint32_t type,
		     const struct xvt_meta_place *at);
void xvt_symbols_unload(struct xvt_decoder *d, struct xvt_symbols *s);

/* The class of a format, made at the first call; NULL: the format is invalid, or out of memory. */
struct xvt_event_class *xvt_decoder_format(struct xvt_decoder *d, struct xvt_format *f);

/* The lent format of a record of that type; NULL: none. */
struct xvt_format *xvt_decoder_lent(const struct xvt_decoder *d, uint64_t chunk_seq, uint16_t type);

/* Hand the class over to the decoder, which frees it. Returns 0 or -ENOMEM. */
int xvt_decoder_add_class(struct xvt_decoder *d, struct xvt_event_class *c);

#endif /* XVT_DECODE_PARTS_H */
