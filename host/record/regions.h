/* SPDX-License-Identifier: GPL-2.0 */
/*
 * regions.h - the files in the folder of regions that are machines without -r. All users may make
 * files there, so the owner decides: root, the user of this process, the users that libvirt runs
 * QEMU as, and another user whose own QEMU maps the file. Files of others cost the recorder a
 * limited part of its time. There is one folder, so this is one state for the process.
 */
#ifndef XVT_REGIONS_H
#define XVT_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "xvt_abi.h"

struct xvt_json;

/* Read which users are trusted. To be called before the sandbox, which has no rule for that. */
void xvt_regions_begin(void);
/* Whether the files of a user are machines. */
bool xvt_regions_trusts(uint32_t uid);

/* Scan the folder for most_ns, from where the scan before stopped; at least one file. Returns true
 * at its end: then xvt_regions_each() has what it found. */
bool xvt_regions_scan(uint64_t most_ns);

/* Call fn for each machine of the newest whole scan, by name. */
void xvt_regions_each(void (*fn)(void *arg, const char *path, const char name[XVT_NAME_LEN]),
		      void *arg);

/* Search for VMMs that map files of other users, for most_ns, if there are such files. now_ns: of
 * any clock. Returns true if another scan would find other machines. */
bool xvt_regions_search(uint64_t most_ns, uint64_t now_ns);

/* The file of that name may be another one now; NULL: all may. */
void xvt_regions_changed(const char *name);

/* Warn once of each user whose files are no machines. */
void xvt_regions_tell(void);
/* Add how many files are no machines, and of whom. */
void xvt_regions_status(struct xvt_json *to);

#endif /* XVT_REGIONS_H */
