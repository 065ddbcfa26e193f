/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lttng.h - private to export/: names that LTTng's kernel tracer has for events and fields of the
 * kernel, so that programs for its traces find them.
 */
#ifndef XVT_EXPORT_LTTNG_H
#define XVT_EXPORT_LTTNG_H

#include "lib/xvtrace.h"

/* A field that LTTng calls by another name, or counts otherwise. */
struct xvt_lttng_field {
	const char *kernel;
	const char *name;
	const char *also;   /* a second field with the same value; NULL: none */
	bool from_realtime; /* a priority: LTTng counts from the lowest of real time, 100 */
};

/* An event of LTTng's. */
struct xvt_lttng_event {
	const char *system; /* of the kernel */
	const char *kernel;
	const char *name;
	const struct xvt_lttng_field *fields; /* the last one has no name; NULL: all are the same */
};

#define XVT_LTTNG_REALTIME 100u

#define XVT_LTTNG_NAME_LEN 160u

/*
 * Write LTTng's name of the event. Returns false if LTTng has none, if it means other values by
 * that name, or if the type has not the fields that the kernel's has. *event: how its fields are
 * called; NULL: as the kernel's.
 */
bool xvt_lttng_name(const struct xvtrace_type *type, char name[XVT_LTTNG_NAME_LEN],
		    const struct xvt_lttng_event **event);

/* NULL: the field is the same in both. event may be NULL. */
const struct xvt_lttng_field *xvt_lttng_field(const struct xvt_lttng_event *event,
					      const struct xvtrace_field *field);

#endif /* XVT_EXPORT_LTTNG_H */
