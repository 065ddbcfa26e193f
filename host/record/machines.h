/* SPDX-License-Identifier: GPL-2.0 */
/*
 * machines.h - the machines of a command line: -r and -d, each with a name or a pattern, or all
 * that this host has.
 */
#ifndef XVT_MACHINES_H
#define XVT_MACHINES_H

#include "base/error.h"
#include "options/opt.h"
#include "session/session.h"
#include "vmm/libvirt.h"
#include "xvt_abi.h"

/* Keeps machines that are found and not recorded: flight recorders (flight/armed.h). */
struct xvt_keeper {
	void *arg;
	/* Returns 1: it keeps this machine; 0: it does not; or -errno with the reason in `why`:
	 * neither can be done. uuid: of a domain; NULL: it is none. */
	int (*takes)(void *arg, const char *name, const char *path, const uint8_t *uuid,
		     uint32_t rings, struct xvt_error *why);
	bool (*has)(void *arg, const char *path);
	bool (*has_name)(void *arg, const char *name);
};

struct xvt_machine_options {
	struct xvt_opt_list regions;
	struct xvt_opt_list domains;
	struct xvt_opt_list trusted;	 /* machines whose guests' clock data are used */
	const char *libvirt_uri;	 /* NULL: libvirt's default */
	bool all;			 /* each machine of this host that has a region */
	bool follow;			 /* also those that come later, see follow.h */
	struct xvt_opt_list flight;	 /* patterns of names: kept armed, see armed.h */
	const struct xvt_keeper *keeper; /* no option: of those of `flight`; NULL: none */
};

/* A machine that a pattern, `all` or `follow` found. */
struct xvt_candidate {
	char name[XVT_NAME_LEN];
	const char *path;		 /* of its region */
	const struct xvt_domain *domain; /* NULL: none of libvirt */
	uint32_t rings;			 /* most to record; 0: the usual */
	bool asked;			 /* by -r or -d; else `all` */
	bool named;			 /* by them, and not by a pattern */
};

/* Tell if a trace has another name for this machine: one without blanks, ':' and letters that are
 * not ASCII. */
void xvt_machine_say_shown(const char *name);

/* Add a machine that was found. Returns 0; 1: the session has its region, or it is kept armed; or
 * -errno with the reason in `why`. */
int xvt_machine_add_found(struct xvt_session *s, const struct xvt_keeper *keeper,
			  const struct xvt_candidate *c, struct xvt_error *why);

/* Use the clock data of a machine that was added later, if --trust-guest-clock names it. */
void xvt_machine_trust(struct xvt_session *s, const struct xvt_machine_options *opt,
		       const char *name);

/* Call fn for each file that `opt` selects by -r or `all`, whether it is a region or not, and
 * whether it is there or not. Those of `all` are as of the newest xvt_regions_scan(). */
void xvt_machines_each_file(const struct xvt_machine_options *opt,
			    void (*fn)(void *arg, const struct xvt_candidate *c), void *arg);

/* Call fn for each path that -r gives, or a pattern. */
void xvt_machines_each_region(const struct xvt_machine_options *opt,
			      void (*fn)(void *arg, const char *path, bool pattern), void *arg);

/* Returns whether `opt` selects a domain that has a region; fills *c, which then points to
 * `domain`. */
bool xvt_machines_selects(const struct xvt_machine_options *opt, const struct xvt_domain *domain,
			  struct xvt_candidate *c);

/* Check the words of -r and -d, without a look at what they name. Returns 0, or -EINVAL or
 * -ENOMEM after an error message. */
int xvt_machines_check(const struct xvt_machine_options *opt);

/*
 * Add the machines to a session. A named machine that cannot be recorded is an error. A machine
 * that a pattern or `all` found is left out with a warning; if none is left, that is an error. A
 * machine that was found twice is added once. With `follow` the options are only checked: the
 * machines are added by xvt_follow_begin(). Returns an exit status, after an error message.
 */
int xvt_machines_add(struct xvt_session *s, const struct xvt_machine_options *opt);

#define XVT_REGION_HELP                                                                         \
	"a machine by the path of its region, or those of a pattern (-r '/dev/shm/x*'); again " \
	"for each; its first N rings (default 256)"
#define XVT_DOMAIN_HELP                                                                  \
	"a running libvirt domain, by name, UUID or pattern, with a shmem device named " \
	"xvtrace-*; "                                                                    \
	"again for each"
#define XVT_TRUST_HELP                                                                             \
	"believe what this machine's region says of its clocks, which the guest can write; again " \
	"for each"

/* Advice on a region that cannot be used, for `err` of xvt_host_region_check(): "; ...", or "". */
const char *xvt_region_hint(int err);

#endif /* XVT_MACHINES_H */
