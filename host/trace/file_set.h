/* SPDX-License-Identifier: GPL-2.0 */
/*
 * file_set.h - where a recording goes: one file, or the files of a folder, one after the other. The
 * files are numbered, DIR/00000001.xvt and so on, behind those that the folder has, so that their
 * names sort by time. Nothing that is in the folder is changed, and without xvt_file_set_keep()
 * nothing is removed but an unfinished copy (XVT_SET_COPY).
 */
#ifndef XVT_FILE_SET_H
#define XVT_FILE_SET_H

#include "trace/file_keep.h"
#include "trace/file_sink.h"

struct xvt_file_set;

/*
 * Opens the file, or makes the folder if there is none and the first of its files. Returns 0,
 * -EBUSY: another recorder writes into that folder, -EOVERFLOW: it has no number left, or -errno.
 * Errors are explained by xvt_file_set_why().
 */
int xvt_file_set_new(struct xvt_file_set **out, struct xvt_loop *loop, const char *path);
const char *xvt_file_set_why(int err);

struct xvt_sink *xvt_file_set_base(struct xvt_file_set *set);
/* Returns the path of the present file, and its number; 0: it is not of a folder. */
const char *xvt_file_set_path(const struct xvt_file_set *set);
uint32_t xvt_file_set_at(const struct xvt_file_set *set);
/* The same of the oldest file that is still written: those with lower numbers are finished. */
uint32_t xvt_file_set_oldest_open(const struct xvt_file_set *set);

/* In a folder: from here on, before a file begins, the oldest files are removed so that `keep`
 * holds. xvt_file_set_make_room() removes them at once, and changes nothing for later files.
 * xvt_file_set_removed(): how many were removed so far. */
void xvt_file_set_keep(struct xvt_file_set *set, const struct xvt_file_keep *keep);
void xvt_file_set_make_room(struct xvt_file_set *set, const struct xvt_file_keep *keep);
uint64_t xvt_file_set_removed(const struct xvt_file_set *set);

/* As the functions of file_sink.h, for the present file; patient for all that follow, too. */
void xvt_file_set_patient(struct xvt_file_set *set);
int xvt_file_set_push(struct xvt_file_set *set);
bool xvt_file_set_would_wait(const struct xvt_file_set *set);
void xvt_file_set_discard(struct xvt_file_set *set);
int xvt_file_set_close(struct xvt_file_set *set);

#endif /* XVT_FILE_SET_H */
