/* SPDX-License-Identifier: GPL-2.0 */
/* beside.h - what the host knows of a trace beside its bytes. */
#ifndef XVT_BESIDE_H
#define XVT_BESIDE_H

#include <limits.h>
#include <sys/types.h>

struct xvt_beside {
	/* The trace of flight recorders in a snapshot's folder, which is no file of the set; "":
	 * none. */
	char flight[PATH_MAX];
	/* The newest snapshot of the set; "": none. */
	char snapshot[PATH_MAX];
};

/* Look at the traces at these paths. To be called before they are opened. */
void xvt_beside_look(const char *const *paths, size_t count, struct xvt_beside *b);

/* Returns the process that writes the trace at `path`; 0: none, or unknown. */
pid_t xvt_beside_writer(const char *path);
/* Returns the recorder of the set in that folder; 0: none is at work, or unknown. */
pid_t xvt_beside_recorder(const char *folder);
/* xvt_beside_writer() of one of several traces. */
pid_t xvt_beside_writer_of(const char *const *paths, size_t count);

/* Print that there are more traces, for a command that does not read them. what: the command that
 * does. */
void xvt_beside_say(const struct xvt_beside *b, const char *what);

#endif /* XVT_BESIDE_H */
