/* SPDX-License-Identifier: GPL-2.0 */
/*
 * snapshots.h - a recorder of a set keeps the files around a moment: when a condition holds
 * (flight/condition.h), and when a client asks. The set goes on in a next file some time after the
 * moment, and the files from some time before it on get a second name, in DIR/snapshots/
 * (trace/file_snapshot.h). All machines are cut at one moment of the host's time, and nothing is
 * copied.
 */
#ifndef XVT_SNAPSHOTS_H
#define XVT_SNAPSHOTS_H

#include "options/opt.h"
#include "record/recording.h"

struct xvt_armed;
struct xvt_flight;
struct xvt_flight_options;
struct xvt_snapshots;

struct xvt_snapshots_options {
	struct xvt_opt_list when; /* conditions */
	uint64_t before_ns;	  /* to keep, before the moment */
	uint64_t after_ns;
	uint64_t per_minute; /* snapshots at most, but for those that clients ask for */
	uint64_t most;	     /* kept: the oldest ones are removed */
};

#define XVT_SNAPSHOTS_MINUTE_MOST 60u

/* Check the conditions. Returns 0, or -ENOMEM or -EINVAL after an error message. */
int xvt_snapshots_check(const struct xvt_snapshots_options *opt);

/* Works by a timer after each pass of the recording. `rec` and `opt` must outlive it. Returns 0,
 * -ENOMEM, or -EINVAL after an error message. */
int xvt_snapshots_new(struct xvt_snapshots **out, struct xvt_recording *rec, const char *folder,
		      const struct xvt_snapshots_options *opt);
/* Machines that are kept armed, and what reads them, which must outlive it: each snapshot that
 * begins from now on has what they hold, and conditions on events hold for theirs. Before the
 * recorder gives up its rights. Returns 0, or -errno after an error message. */
int xvt_snapshots_read(struct xvt_snapshots *sn, struct xvt_flight *flight,
		       struct xvt_armed *machines, const struct xvt_flight_options *opt);
/* Call after the set is closed: an open snapshot ends with its last file. NULL: no effect. */
void xvt_snapshots_free(struct xvt_snapshots *sn);

/* Whether a condition is about crashes of this machine. sn NULL: none is. */
bool xvt_snapshots_wants_crash(const struct xvt_snapshots *sn, const char *machine);

/* Returns whether the regions of flight recorders are claimed for a search of them. sn may be
 * NULL. */
bool xvt_snapshots_look_at_armed(const struct xvt_snapshots *sn);

/*
 * A client asks for a snapshot of now. Returns its number, or 0 while another one is being made:
 * ask again. When xvt_snapshots_made() of the number is not -EAGAIN, it is there (0) or failed
 * (-errno); -ENODATA: many have been made since, and it is not known any more.
 */
uint64_t xvt_snapshots_ask(struct xvt_snapshots *sn, uint64_t now_ns);
int xvt_snapshots_made(const struct xvt_snapshots *sn, uint64_t number);
/* Folder of that snapshot. NULL: it is not known any more. */
const char *xvt_snapshots_path(const struct xvt_snapshots *sn, uint64_t number);

/* How often a condition held, and how many snapshots were made. */
uint64_t xvt_snapshots_held(const struct xvt_snapshots *sn);
uint64_t xvt_snapshots_count(const struct xvt_snapshots *sn);

#endif /* XVT_SNAPSHOTS_H */
