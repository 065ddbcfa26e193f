/* SPDX-License-Identifier: GPL-2.0 */
/* set_name.h - the names of the files of a set: DIR/00000001.xvt and so on. */
#ifndef XVT_SET_NAME_H
#define XVT_SET_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XVT_SET_NAME	 "%08u.xvt" /* of a file, by its number */
#define XVT_SET_NAME_MAX 32u
/* A copy of one of them that is being made, for a recorder alone: no name of a file of the set. */
#define XVT_SET_COPY	 "compress.tmp"

/* Returns true if `path` names a folder: it is one, or it ends with a slash. */
bool xvt_set_is_folder(const char *path);

/* Returns the number in the name of a file of a set, or 0: it is no such name. */
uint32_t xvt_set_number(const char *name);

/* Writes the path of a file into `path`. Returns false if it is too long. */
bool xvt_set_path(const char *folder, uint32_t number, char *path, size_t size);

#endif /* XVT_SET_NAME_H */
