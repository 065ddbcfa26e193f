/* SPDX-License-Identifier: GPL-2.0 */
/* business.h - which files a recorder has business with, and the opener that knows it. */
#ifndef XVT_BUSINESS_H
#define XVT_BUSINESS_H

#include "record/machines.h"
#include "rights/opener.h"

/* The options that decide it. */
struct xvt_business {
	const char *output;
	const char *clock_page; /* NULL: none */
	const struct xvt_machine_options *machines;
	const struct xvt_opt_list *qmp, *doorbells;
};

/* Start an opener, before anything is open. *opener stays NULL, perhaps after a warning, where
 * there can be none. `command` and `b` are for its messages. Returns 0, or -errno after an error
 * message: nothing is recorded without this wall because memory or descriptors are short. */
int xvt_business_begin(const char *command, const struct xvt_business *b,
		       struct xvt_opener **opener);

/* Tell it what the recorder needs. `config`, `control`: paths or NULL. `rules` gets the same, for
 * xvt_rules_free(). Returns 0 or -errno. */
int xvt_business_tell(struct xvt_opener *opener, const struct xvt_business *b,
		      const struct xvt_session *s, const char *config, const char *control,
		      struct xvt_rules *rules);

#endif /* XVT_BUSINESS_H */
