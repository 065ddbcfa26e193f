/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parts.h - what decode.c and metadata.c know of each other: one machine's decoder.
 *
 * Metadata is looked through once, when a trace is opened. Of a format its type, its place in the
 * file and a hash are kept; its text is read when the first record needs it. So a trace may
 * have any number of formats and generations, and only those that are used take memory.
 */
#ifndef XVT_DECODE_PARTS_H
#define XVT_DECODE_PARTS_H

#include "decode/decode.h"
#include "decode/limits.h"

/* 16-bit keys in two levels: most guests use a few hundred of them. */
struct xvt_table {
	void **page[256];
};

/* Where a META chunk is. */
struct xvt_meta_place {
	uint64_t offset;
	uint32_t len;
	uint32_t generation; /* index in the decoder's */
};

/* One text of a type's format. */
struct xvt_format {
	struct xvt_meta_place at;
	uint64_t hash;
	struct xvt_event_class *cls;
	bool failed;
};

/* All of a type, in order of generations; no two neighbours are the same text. */
struct xvt_formats {
	uint32_t count;
	uint32_t room;
	struct xvt_format *v;
};

/* What a guest said between two of its boots. Events after `first_seq` belong to it. */
struct xvt_generation {
	uint32_t number;
	uint64_t first_seq;
};

struct xvt_ksymbol {
	uint64_t addr;
	const char *name;
};

/* Symbols of one generation, sorted by address; its last one's, until another is asked for. */
struct xvt_symbols {
	uint32_t type; /* XVT_META_KSYMS or XVT_META_PRINTK_FORMATS */
	struct xvt_meta_place *places;
	uint32_t place_count;
	uint32_t place_room;
	uint32_t loads;
	uint32_t generation; /* that is loaded, if any was */
	size_t bytes;	     /* charged for it */
	struct xvt_ksymbol *v;
	size_t count;
	size_t room;
	char **texts; /* that the names are in */
	size_t text_count;
};

#define XVT_COMM_LEN 16

struct xvt_comm {
	int32_t pid;
	bool used;
	char name[XVT_COMM_LEN];
};

/* Classes of the ring's own records, by id, and that of a LOST record as older recorders wrote it.
 */
#define XVT_BUILTIN_LOST_SHORT (XVT_ID_U64 + 1)
#define XVT_BUILTINS	       (XVT_ID_U64 + 2)

struct xvt_decoder {
	struct xvt_decoders *all;
	struct xvt_tep *tep;
	size_t bytes; /* that it takes, of XVT_LIMIT_MACHINE_BYTES */
	struct xvt_generation *generations;
	uint32_t generation_count;
	uint32_t generation_room;
	struct xvt_table formats;      /* struct xvt_formats by type */
	struct xvt_table raw_types;    /* ftrace records without a format */
	struct xvt_table raw_ids;      /* records of the programs' own ids */
	struct xvt_event_class *other; /* all that is too much to have a class of its own */
	struct xvt_event_class *builtin[XVT_BUILTINS];
	struct xvt_event_class **classes;
	uint32_t class_count;
	uint32_t class_room;
	struct xvt_symbols ksyms;
	struct xvt_symbols printks;
	struct xvt_comm *comms; /* open addressing, a power of two */
	uint32_t comm_count;
	uint32_t comm_room;
};

void **xvt_table_slot(struct xvt_table *t, uint16_t key, bool make);

static inline void *xvt_table_get(const struct xvt_table *t, uint16_t key)
{
	void **page = t->page[key >> 8];

	return page ? page[key & 255] : NULL;
}

void xvt_table_fini(struct xvt_table *t);

/* May the machine take so many bytes more? Then they are charged. Else something of it is left out,
 * and counted. */
bool xvt_decoder_charge(struct xvt_decoder *d, size_t bytes);

/* Learn a task's name. */
void xvt_decoder_comm(struct xvt_decoder *d, int32_t pid, const uint8_t *name, size_t len);

/* Number of the generation, or of the oldest, that a record of this chunk belongs to. */
uint32_t xvt_decoder_generation(const struct xvt_decoder *d, uint64_t chunk_seq);

/* The class that a format describes, made when it is asked for first; NULL: it describes none. */
struct xvt_event_class *xvt_decoder_format(struct xvt_decoder *d, struct xvt_format *f);

/* The decoder owns it from now on. Returns 0 or -ENOMEM. */
int xvt_decoder_add_class(struct xvt_decoder *d, struct xvt_event_class *c);

void xvt_decoder_free_meta(struct xvt_decoder *d);

#endif /* XVT_DECODE_PARTS_H */
