/* SPDX-License-Identifier: GPL-2.0 */
/* business.h - which files a recorder has business with, and the opener that knows it. */
#ifndef XVT_BUSINESS_H
#define XVT_BUSINESS_H

#include "record/machines.h"
#include "rights/opener.h"

/* What it depends on. */
struct xvt_business {
	const char *output;
	const char *clock_page; /* NULL: none */
	const struct xvt_machine_options *machines;
	const struct xvt_opt_list *qmp, *doorbells;
};

/* Start an opener, before anything is open. Returns NULL, perhaps after a warning, where there is
 * none. `command` and `b` are for its messages. */
struct xvt_opener *xvt_business_begin(const char *command, const struct xvt_business *b);

/* Tell it what the recorder needs. `config`, `control`: paths or NULL. `rules` gets the same, for
 * xvt_rules_free(). Returns 0 or -errno. */
int xvt_business_tell(struct xvt_opener *opener, const struct xvt_business *b,
		      const struct xvt_session *s, const char *config, const char *control,
		      struct xvt_rules *rules);

#endif /* XVT_BUSINESS_H */
