/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rules.h - which files a process has business with, and what it may do to them. A path that a rule
 * names is opened from the rule's own folder on, and nothing beneath it leads out of that folder.
 * Links on the way to that folder count as they are when the rule is made: a user who may replace
 * them later gains nothing.
 */
#ifndef XVT_RULES_H
#define XVT_RULES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum xvt_right {
	XVT_MAY_READ = 1,     /* a folder: list it */
	XVT_MAY_WRITE = 2,    /* what is there */
	XVT_MAY_MAKE = 4,     /* make it, or give it its name */
	XVT_MAY_REMOVE = 8,   /* remove it, or take its name away */
	XVT_MAY_CONNECT = 16, /* a socket */
	XVT_MAY_LOOK = 32,    /* at a link that the kernel makes, and at what it leads to */
	XVT_MAY_CHANGE = XVT_MAY_READ | XVT_MAY_WRITE | XVT_MAY_MAKE | XVT_MAY_REMOVE,
};

enum xvt_rule_kind {
	XVT_RULE_FILE = 0,
	XVT_RULE_TREE = 1,    /* the folder, and all beneath it */
	XVT_RULE_PATTERN = 2, /* of fnmatch(), no '*' for a '/' */
	XVT_RULE_PATTERN_TREE = XVT_RULE_PATTERN | XVT_RULE_TREE,
};

struct xvt_rule {
	unsigned int rights;
	enum xvt_rule_kind kind;
	char path[PATH_MAX];
	/* What no wildcard is in, without links: where it led when the rule was made. Of a file
	 * that may be removed, its last part may be a link. */
	char real[PATH_MAX];
};

struct xvt_rules {
	struct xvt_rule *v;
	size_t count, room;
};

/* Where a file lies that a rule names. */
struct xvt_place {
	char folder[PATH_MAX];
	char rest[PATH_MAX];
	uint64_t resolve; /* for openat2() */
};

/* Add a rule. A relative path is meant from the present folder; "@NAME": an abstract socket.
 * Returns 0 or -errno. */
int xvt_rules_add(struct xvt_rules *rules, enum xvt_rule_kind kind, unsigned int rights,
		  const char *path);
void xvt_rules_free(struct xvt_rules *rules);

/* Join the two (`path` alone if it is absolute), without "." and what is empty; ".." stays.
 * Returns 0 or -ENAMETOOLONG. */
int xvt_path_join(const char *folder, const char *path, char out[PATH_MAX]);

/* Returns whether a rule gives all these rights (0: any) to the joined path; fills *place. */
bool xvt_rules_find(const struct xvt_rules *rules, const char *path, unsigned int rights,
		    struct xvt_place *place);

/* Returns whether `path` is a folder on the way to a file that a rule names. */
bool xvt_rules_pass(const struct xvt_rules *rules, const char *path);

/* Fill *place with a path beneath a folder. */
void xvt_place_beneath(struct xvt_place *place, const char *folder, const char *rest);

/* Open it as open() does, but never wait. Returns a descriptor or -errno. */
int xvt_place_open(const struct xvt_place *place, int flags, mode_t mode);

/* Open the folder that it lies in, by O_PATH; *leaf: its name there. Returns a descriptor or
 * -errno. */
int xvt_place_parent(const struct xvt_place *place, const char **leaf);

/*
 * Open for reading what every user of this host may read: a file or folder with that mode, and with
 * folders on its way that all users may pass; of /proc only /proc/sys and what has no process's
 * number. Returns a descriptor, -errno or XVT_NOT_PUBLIC: also where not every user may know
 * whether there is such a file.
 */
#define XVT_NOT_PUBLIC (-4095) /* no errno */
int xvt_public_open(const char *path, int flags);

/* Returns whether every user may know whether there is a file of that path. */
bool xvt_public_place(const char *path);

#endif /* XVT_RULES_H */
