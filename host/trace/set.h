/* SPDX-License-Identifier: GPL-2.0 */
/*
 * set.h - the files of a folder as one trace (trace/file_set.h writes them). The files lie one
 * behind the other: offsets and numbers of chunks go on from file to file, and the numbers of
 * machines and rings in what is loaded are those of the whole. A machine is the same in all files
 * where it has the same name and UUID. A ring is the same in files that follow each other in one
 * recording, and another one where a file is missing, damaged or not ended, or where the next
 * recorder began.
 */
#ifndef XVT_TRACE_SET_H
#define XVT_TRACE_SET_H

#include <limits.h>

#include "base/error.h"
#include "trace/read.h"

/* The numbers of the files of a folder, sorted. */
struct xvt_set_list {
	uint32_t *numbers;
	size_t count;
};

/* Returns 0, -ENOENT if the folder has no such file, or -errno. */
int xvt_set_list(const char *folder, struct xvt_set_list *list);
void xvt_set_list_free(struct xvt_set_list *list);

/* Stores the paths of the traces in a folder, sets and files named *.xvt, the last names first.
 * Returns their number, at most `most`. */
size_t xvt_set_found(const char *folder, char found[][PATH_MAX], size_t most);

/* Says that a folder is no set, and what can be read in it, or in its folder of snapshots. */
#define XVT_SET_FOUND_SHOWN 3u
void xvt_set_why_none(const char *folder, struct xvt_error *why);

/*
 * Opens a file as xvt_trace_open() or, with by_index, xvt_trace_open_indexed(); or all files of a
 * folder. A file that cannot be read, and numbers that are missing between two files, are damage of
 * the whole. -EMFILE: the folder has more files than the process may open.
 */
int xvt_set_open(struct xvt_trace **out, const char *path, bool by_index, struct xvt_error *why);

/* Number of the file that has this chunk; 0 where there is one file only. */
size_t xvt_set_part(const struct xvt_trace *t, size_t chunk);
/* Does this file go on where the one before it ended? Else it is of another recording, or what lies
 * between them is missing. */
bool xvt_set_goes_on(const struct xvt_trace *t, size_t part);

#endif /* XVT_TRACE_SET_H */
