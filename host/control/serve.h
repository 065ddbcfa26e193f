/* SPDX-License-Identifier: GPL-2.0 */
/*
 * serve.h - the requests of clients to a recorder, over its control socket: version 1 of the
 * protocol that xvtrace-control(1) documents.
 */
#ifndef XVT_SERVE_H
#define XVT_SERVE_H

#include <limits.h>

#include "base/error.h"
#include "flight/snapshots.h"
#include "record/compress_idle.h"
#include "record/machines.h"
#include "record/recording.h"
#include "session/control.h"

#define XVT_CONTROL_VERSION 1u
#define XVT_CONTROL_FORMAT  "xvtrace-control/1"

enum xvt_request {
	XVT_REQUEST_NONE, /* not valid */
	XVT_REQUEST_STATUS,
	XVT_REQUEST_METRICS,
	XVT_REQUEST_ROTATE,
	XVT_REQUEST_RELOAD,
	XVT_REQUEST_SNAPSHOT,
	XVT_REQUEST_STOP,
	XVT_REQUEST_START,
	XVT_REQUEST_EVENTS,
};

/* Returns the request in a client's line, or XVT_REQUEST_NONE with the reason in `why`.
 * XVT_REQUEST_STOP, _START and _EVENTS have names of machines, or patterns; _EVENTS has events,
 * too. */
enum xvt_request xvt_request_parse(const char *line, struct xvt_error *why);

struct xvt_armed;

/* The argument of xvt_serve_ops. */
struct xvt_serve {
	struct xvt_recording *rec;
	const char *output;
	struct xvt_snapshots *snapshots;	 /* NULL: the output is one file */
	struct xvt_compress_idle *compress_idle; /* NULL: without --compress idle */
	const struct xvt_machine_options *machines;
	struct xvt_armed *armed;	 /* flight recorders; NULL: the output is one file */
	const struct xvt_follow *follow; /* NULL: without --follow */
	/* Called for each machine that a request has added. */
	void (*joined)(void *arg, struct xvt_vm *vm);
	bool no_sandbox;       /* there is no libseccomp */
	unsigned int lacks;    /* which walls: rights/isolate.h */
	char cwd[PATH_MAX];    /* the folder that it began in; "": unknown */
	char metrics_http[64]; /* where it serves its metrics by HTTP; "": nowhere */
	/* Reads the configuration again. Returns false after an error message. NULL: there is no
	 * configuration. */
	bool (*reload)(void *arg);
	void *arg;
	/* private to serve.c */
	struct xvt_timer before_pass; /* changes that clients ask for */
	struct xvt_timer tend;	      /* clients that do nothing, once a second */
};

extern const struct xvt_server_ops xvt_serve_ops;

/* Carry out what the clients of rec->control want changed, before each pass, and drop idle clients
 * of both servers. To be called once; `s` must outlive the recording. */
void xvt_serve_begin(struct xvt_serve *s);

/* Open the control socket, rec->control. path: of --control; NULL: one of its own, whose failure is
 * a warning. Returns 0, or -errno after an error message. */
int xvt_serve_clients(struct xvt_serve *s, const char *path);

/* Open the socket of --metrics-http, rec->http; NULL: none. Returns 0, or -errno after an error
 * message. */
int xvt_serve_collectors(struct xvt_serve *s, const char *address);

#endif /* XVT_SERVE_H */
