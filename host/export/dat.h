/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dat.h - private to the export of trace.dat. An event's way: dat.c finds the machine, CPU and
 * type, dat_types.c gives it a number and a format, dat_pages.c puts it into a page of its CPU, as
 * ftrace's ring buffer has it. The pages of all CPUs lie in one nameless file until the end,
 * because a trace.dat has those of each CPU in one piece; then dat_file.c writes the file of each
 * machine, in the layout of version 6 or by dat_v7.c, with what dat_describe.c says of the events.
 */
#ifndef XVT_EXPORT_DAT_H
#define XVT_EXPORT_DAT_H

#include "export/folder.h"

/* -- bytes, dat_bytes.c ------------------------------------------------------------- */

struct dat_bytes {
	uint8_t *p;
	size_t used;
	size_t room;
	bool failed; /* out of memory: some are missing */
};

void dat_put(struct dat_bytes *b, const void *p, size_t len);
void dat_put_str(struct dat_bytes *b, const char *text); /* without its zero byte */
void dat_printf(struct dat_bytes *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dat_u16(struct dat_bytes *b, uint16_t v);
void dat_u32(struct dat_bytes *b, uint32_t v);
void dat_u64(struct dat_bytes *b, uint64_t v);

/* -- pages, dat_pages.c -------------------------------------------------------------- */

#define DAT_PAGE	  4096u
#define DAT_PAGE_HEAD	  16u /* u64 time, u64 length and flags */
#define DAT_PAGE_DATA	  (DAT_PAGE - DAT_PAGE_HEAD)
#define DAT_BLOCK_PAGES	  16u
/* The longest record: what a page holds after the record's header and a number of lost events. */
#define DAT_RECORD_MAX	  (DAT_PAGE_DATA - 16u)
#define DAT_CLOCK	  "mono"
/* CPUs of Linux at most; a ring with a higher number gets one behind the machine's others. */
#define DAT_CPUS_OF_LINUX 8192u

struct dat_extent {
	uint64_t offset; /* in the spool, bytes */
	uint64_t len;
};

/* A CPU of a machine. */
struct dat_cpu {
	uint8_t *block; /* DAT_BLOCK_PAGES pages; NULL: none is open */
	uint32_t page;	/* the open page, or the next one */
	uint32_t used;	/* bytes of its data */
	uint32_t room;	/* bytes that records may use of it */
	bool open;
	uint64_t last_ns; /* of the last record */
	uint64_t missed;  /* events lost before the next page, or before the open one */
	bool missed_more; /* some of them were not counted */
	uint64_t lost;
	struct dat_extent *extents;
	size_t extent_count;
	size_t extent_room;
	uint32_t pieces;      /* with a packer: packed blocks in the extents */
	struct dat_cpu *next; /* of those with a block */
};

/*
 * Pages of all CPUs, in the order in which they were full. With a packer each block is packed when
 * it is full, as version 7 has it: two lengths, packed and not, and the packed bytes. Without one
 * the pages are there as they are.
 */
struct dat_spool {
	int fd;
	uint64_t len;
	struct xvt_packer *packer;
	uint8_t *packed;
	struct xvt_dat_thread *thread; /* packs, and writes what it packed; NULL: there is none */
	struct dat_cpu *open;	       /* CPUs with a block */
	size_t open_bytes;
};

/* Get the place of a record of `len` bytes, at most DAT_RECORD_MAX. Times of a CPU must not
 * decrease. Returns 0 or -errno. */
int dat_record(struct dat_spool *s, struct dat_cpu *c, uint64_t ns, size_t len, uint8_t **to);

/* Number of events that were lost before the next record; at_least: or more. */
void dat_lost(struct dat_cpu *c, uint64_t lost, bool at_least);

/* Write all open pages, and free their memory. Returns 0 or -errno. */
int dat_spool_flush(struct dat_spool *s);

/* Append what the spool has of the CPU to a file, and get how many bytes that is. Returns 0 or
 * -errno. */
int dat_spool_copy(struct dat_spool *s, const struct dat_cpu *c, int fd);
uint64_t dat_cpu_len(const struct dat_cpu *c);

void dat_spool_fini(struct dat_spool *s);

/* Pack so much of a CPU's block, and append it. Returns 0 or -errno. */
typedef int dat_pack(struct dat_spool *s, struct dat_cpu *c, const uint8_t *block, size_t len);

/* Have the thread do that. c->block is the thread's from here on, if it returns 0. Else the first
 * -errno of the thread. */
int dat_thread_give(struct xvt_dat_thread *t, dat_pack *pack, struct dat_spool *s,
		    struct dat_cpu *c, size_t len);
/* Wait until all of it is done. Returns 0 or the first -errno. */
int dat_thread_wait(struct xvt_dat_thread *t);

/* -- types, dat_types.c -------------------------------------------------------------- */

enum dat_how {
	DAT_COPY,  /* the record as the guest wrote it; its format is the guest's */
	DAT_AS,	   /* the same values in the record of another type, whose format it has */
	DAT_BUILD, /* from the values of its fields; its format is ours */
	DAT_REST,  /* the same format for all: name and bytes of the event */
};

struct dat_layout;

struct dat_type {
	bool known;
	uint8_t how;
	uint16_t id;
	struct dat_layout *as; /* of DAT_AS */
};

/* The number of a task that is not known. trace-cmd's profile ends on one below 0, and no task has
 * this one. */
#define DAT_NO_TASK INT32_MAX

/* The number of the event's task in its record. */
static inline int32_t dat_pid(const struct xvtrace_event *ev)
{
	/* A state has none: its CPUs are idle. */
	return ev->kind == XVTRACE_STATE ? 0 : ev->pid < 0 ? DAT_NO_TASK : ev->pid;
}

/* A format of a machine's file. */
struct dat_used {
	const struct xvtrace_type *type; /* NULL: that of DAT_REST */
	uint16_t id;
	bool copy;
};

struct dat_types {
	uint64_t *ids; /* bitmap of the numbers in use; NULL: none */
	uint32_t next; /* numbers from here down may be free */
	uint16_t rest; /* number of the type for all others; 0: not used yet */
	struct dat_used *used;
	size_t used_count;
	size_t used_room;
};

/* Choose the type's number in a machine's file. Returns 0 or -ENOMEM. */
int dat_type_new(struct dat_types *types, struct xvtrace_reader *reader,
		 const struct xvtrace_event *ev, struct dat_type *type);

/* -- one event by two names, dat_twin.c ------------------------------------------------ */

/* Give the type the number of another one that is the same event of the kernel, if there is one.
 * Returns 0 or -ENOMEM. */
int dat_twin(struct dat_types *types, struct xvtrace_reader *reader,
	     const struct xvtrace_type *event, struct dat_type *type);
/* As dat_build(), of DAT_AS. */
size_t dat_build_as(const struct xvtrace_event *ev, const struct dat_type *type,
		    uint8_t to[DAT_RECORD_MAX], bool *cut);

/* -- records, dat_types.c -------------------------------------------------------------- */

/* Make the record of an event that is not copied. Returns its length; sets *cut if not all of it
 * fits. */
size_t dat_build(const struct xvtrace_event *ev, const struct dat_type *type,
		 uint8_t to[DAT_RECORD_MAX], bool *cut);
/* The same for an event of any type, as DAT_REST. */
size_t dat_build_rest(const struct xvtrace_event *ev, uint16_t id, uint8_t to[DAT_RECORD_MAX],
		      bool *cut);
/* The number of DAT_REST. Returns 0 or -ENOMEM. */
int dat_rest(struct dat_types *types, uint16_t *id);

/* Write the formats as trace.dat has them: those of ftrace itself, and those of all systems. */
void dat_ftrace_formats(struct dat_bytes *b, struct dat_types *types,
			struct xvtrace_reader *reader);
void dat_formats(struct dat_bytes *b, struct dat_types *types, struct xvtrace_reader *reader);

/* -- files, dat_describe.c, dat_file.c, dat_v7.c
 * --------------------------------------------------------------- */

struct dat_machine {
	struct dat_types types;
	struct dat_cpu **cpus; /* by number in the file; NULL: without events */
	size_t cpu_count;
	size_t cpu_room;
	uint32_t cpus_of_vm; /* numbers of its own CPUs are below this */
	bool used;
};

struct dat {
	struct xvt_export *x;
	struct xvt_folder folder;
	struct dat_spool spool;	      /* its packer: of version 7; NULL: version 6 */
	struct dat_machine *machines; /* the last one is for unknown rings */
	uint32_t machine_count;	      /* without that */
	struct dat_cpu **rings;	      /* by ring; the last one is for unknown rings */
	uint32_t ring_count;
	struct dat_type *types; /* by number of the type */
	size_t type_room;
};

/* Numbers of options; some are those of sections, see dat_v7.c. */
enum {
	DAT_OPTION_DONE = 0,
	DAT_OPTION_CPUSTAT = 2,
	DAT_OPTION_TRACECLOCK = 4,
	DAT_OPTION_CPUCOUNT = 8,
	DAT_OPTION_VERSION = 9,
	DAT_OPTION_TRACEID = 11,
	DAT_OPTION_GUEST = 13,
};

/* The clock in use stands in brackets. */
extern const char dat_clocks[];

void dat_headers(struct dat_bytes *b);
void dat_symbols(struct dat_bytes *b, struct dat *d, uint32_t at, enum xvtrace_symbols what);
void dat_comms(struct dat_bytes *b, struct dat *d, uint32_t at);
void dat_option(struct dat_bytes *b, uint16_t id, const void *data, size_t len);
/* Put the options that both versions have, without DAT_OPTION_DONE. */
void dat_options(struct dat_bytes *b, const struct dat *d, uint32_t at);

/* Write the file of machine `at`, and remove it. Returns 0 or -errno. */
int dat_write_file(struct dat *d, uint32_t at);
void dat_remove_file(struct dat *d, uint32_t at);
/* Write it into an empty file, by the packer of its spool. Returns 0 or -errno. */
int dat_write_v7(struct dat *d, uint32_t at, int fd);

#endif /* XVT_EXPORT_DAT_H */
