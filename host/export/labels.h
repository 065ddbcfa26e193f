/* SPDX-License-Identifier: GPL-2.0 */
/* labels.h - text that all events of a type share, escaped once for each type and not each event.
 */
#ifndef XVT_EXPORT_LABELS_H
#define XVT_EXPORT_LABELS_H

#include <errno.h>

#include "export/export.h"

struct xvt_label {
	char *text;
	size_t len;
};

struct xvt_labels {
	/* Write the text of a type, of at most 32 KiB. */
	void (*make)(struct xvt_out *o, const struct xvt_export *x,
		     const struct xvtrace_type *type);
	struct xvt_label *v; /* by number of the type */
	size_t room;
	struct xvt_out *made; /* where they are made */
};

/* Make the text of a type that has none. Returns 0 or -ENOMEM. */
int xvt_labels_add(struct xvt_labels *l, const struct xvt_export *x,
		   const struct xvtrace_type *type);
void xvt_labels_fini(struct xvt_labels *l);

/* Write the text of the type. Returns 0 or -ENOMEM. */
static inline int xvt_labels_put(struct xvt_labels *l, struct xvt_out *o,
				 const struct xvt_export *x, const struct xvtrace_type *type)
{
	if ((type->number >= l->room || !l->v[type->number].text) && xvt_labels_add(l, x, type))
		return -ENOMEM;
	xvt_out_bytes(o, l->v[type->number].text, l->v[type->number].len);
	return 0;
}

#endif /* XVT_EXPORT_LABELS_H */
