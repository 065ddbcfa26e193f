// SPDX-License-Identifier: GPL-2.0
/* labels.c - see labels.h. */
#include "export/labels.h"

#include <stdlib.h>

int xvt_labels_add(struct xvt_labels *l, const struct xvt_export *x,
		   const struct xvtrace_type *type)
{
	static struct xvt_out o = { .fd = -1 };
	struct xvt_label *label;

	if (type->number >= l->room) {
		unsigned int room = type->number < 64 ? 128 : type->number * 2;
		void *grown = realloc(l->v, room * sizeof(*l->v));

		if (!grown)
			return -ENOMEM;
		l->v = grown;
		memset(l->v + l->room, 0, (room - l->room) * sizeof(*l->v));
		l->room = room;
	}
	o.used = 0;
	l->make(&o, x, type);
	label = &l->v[type->number];
	label->text = malloc(o.used + 1);
	if (!label->text)
		return -ENOMEM;
	memcpy(label->text, o.buf, o.used);
	label->len = o.used;
	return 0;
}

void xvt_labels_fini(struct xvt_labels *l)
{
	for (unsigned int i = 0; i < l->room; i++)
		free(l->v[i].text);
	free(l->v);
}
