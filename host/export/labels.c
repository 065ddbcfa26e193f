// SPDX-License-Identifier: GPL-2.0
/* labels.c - see labels.h. */
#include "export/labels.h"

#include <stdlib.h>

#include "base/vec.h"

int xvt_labels_add(struct xvt_labels *l, const struct xvt_export *x,
		   const struct xvtrace_type *type)
{
	struct xvt_label *label;

	if (!l->made) {
		l->made = calloc(1, sizeof(*l->made));
		if (!l->made)
			return -ENOMEM;
		l->made->fd = -1;
	}
	if (xvt_grow_zeroed(&l->v, &l->room, type->number + 1u, sizeof(*l->v)))
		return -ENOMEM;
	l->made->used = 0;
	l->make(l->made, x, type);
	label = &l->v[type->number];
	label->text = malloc(l->made->used + 1);
	if (!label->text)
		return -ENOMEM;
	memcpy(label->text, l->made->buf, l->made->used);
	label->len = l->made->used;
	return 0;
}

void xvt_labels_fini(struct xvt_labels *l)
{
	for (size_t i = 0; i < l->room; i++)
		free(l->v[i].text);
	free(l->v);
	free(l->made);
}
