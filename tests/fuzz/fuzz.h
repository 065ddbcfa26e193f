/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fuzz.h - what the fuzz targets share: input as a stream of numbers, files in memory, the
 * commands of xvtrace run in this process without a word, and how a finding is told.
 *
 * A target is a source file with LLVMFuzzerTestOneInput(). libFuzzer, AFL++ and fuzz_main.c (a
 * plain main() that runs each file named) all drive the same function.
 */
#ifndef XVT_FUZZ_H
#define XVT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cmd.h"
#include "trace/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- input: reads as zeros behind its end --- */

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

uint8_t fuzz_u8(struct fuzz_input *in);
uint16_t fuzz_u16(struct fuzz_input *in);
uint32_t fuzz_u32(struct fuzz_input *in);
/* At most `want` bytes; *len says how many there were. */
const uint8_t *fuzz_bytes(struct fuzz_input *in, size_t want, size_t *len);

/* --- files in memory --- */

struct fuzz_file {
	int fd;
	char path[40]; /* opens it anew */
};

/* Once; the file is used again and again. */
void fuzz_file_new(struct fuzz_file *f, const char *name);
void fuzz_file_set(struct fuzz_file *f, const void *bytes, size_t len);

/* A sink that keeps a trace in memory; fails with -ENOSPC after `limit` bytes. */
struct fuzz_sink {
	struct xvt_sink sink;
	uint8_t *bytes;
	size_t len;
	size_t room;
	size_t limit;
};

void fuzz_sink_reset(struct fuzz_sink *s, size_t limit);

/* --- commands --- */

/* stdout and stderr of our code go to /dev/null; the fuzzers write to descriptor 2 itself. */
void fuzz_quiet(void);

/* Run a command as main() would: argv ends with NULL. An exit status above 2 is a finding. */
int fuzz_command(const struct xvt_command *cmd, const char *const *argv);

/* report, stat, verify, export of the trace in `f`, those whose bit is set in `which`. */
#define FUZZ_REPORT 0x01u
#define FUZZ_RAW    0x02u
#define FUZZ_STAT   0x04u
#define FUZZ_JSON   0x08u
#define FUZZ_VERIFY 0x10u
#define FUZZ_JSONL  0x20u
#define FUZZ_CTF    0x40u
#define FUZZ_VIEW   0x80u /* with filters */
void fuzz_read_trace(const struct fuzz_file *f, unsigned int which);

/* What our recorder wrote must be whole and in order, whatever the guest did. */
void fuzz_check_trace(const struct fuzz_file *f, bool must_end);

/* Tell and abort. */
void fuzz_finding(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif /* XVT_FUZZ_H */
