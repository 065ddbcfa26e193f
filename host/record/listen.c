// SPDX-License-Identifier: GPL-2.0
/* listen.c - see listen.h. */
#include "record/listen.h"

#include <string.h>

#include "vmm/qmp.h"

int xvt_listen_by_qmp(struct xvt_vmm **out, struct xvt_loop *loop, const struct xvt_opt_list *qmp,
		      const char *name, xvt_vmm_fn fn, void *arg, const char **path, char *why,
		      size_t why_size)
{
	const char *paths[XVT_OPT_LIST_MAX];
	const size_t len = strlen(name);
	size_t i, n = 0;

	*out = NULL;
	for (i = 0; i < qmp->n; i++) {
		if (!strncmp(qmp->v[i], name, len) && qmp->v[i][len] == '=')
			paths[n++] = qmp->v[i] + len + 1;
	}
	*path = n ? paths[0] : NULL;
	if (n < 2)
		return n ? xvt_qmp_listen(out, loop, *path, fn, arg, why, why_size) : 0;
	return xvt_qmp_listen_all(out, loop, paths, n, fn, arg, why, why_size);
}
