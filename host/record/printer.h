/* SPDX-License-Identifier: GPL-2.0 */
/*
 * printer.h - for `record --print`: a process that prints the events while they are recorded. The
 * process is `xvtrace report -f` of the output, so a slow reader of its lines never holds the
 * recorder up.
 */
#ifndef XVT_PRINTER_H
#define XVT_PRINTER_H

#include <sys/types.h>

struct xvt_printer {
	pid_t pid; /* 0: there is none */
	int pidfd; /* of base/child.h */
	int go;	   /* the end of a pipe on which it waits */
};

/* Before the recorder gives up its rights: make the process, which waits. Returns 0 or -errno. */
int xvt_printer_start(struct xvt_printer *p);
/* The output is there; `path` is its first file. */
void xvt_printer_go(struct xvt_printer *p, const char *path);
/* After the end of the recording: wait until all is printed, but not for long. Prints a warning if
 * it is not. */
void xvt_printer_end(struct xvt_printer *p, const char *output);

#endif /* XVT_PRINTER_H */
