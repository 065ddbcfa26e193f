/* SPDX-License-Identifier: GPL-2.0 */
/*
 * set_recording.h - a recording of one machine, "g1", into the files of a folder, or into one file:
 * what a recorder's modules are given. The passes are the test's own.
 */
#ifndef XVT_TEST_SET_RECORDING_H
#define XVT_TEST_SET_RECORDING_H

#include "base/time.h"
#include "record/recording.h"
#include "region_file.h"

struct set_recording {
	struct xvt_recording rec;
	struct region_file region;
	char folder[256]; /* without the '/' at its end; one file: its path */
};

/* Begins, into the run's directory/NAME. The region has two rings that no writer has used. */
void set_recording_begin(struct set_recording *r, const char *name, bool folder);
/* Ends the recording, and removes what it wrote. */
void set_recording_end(struct set_recording *r);

/* Makes a pass. */
void set_recording_pass(struct set_recording *r);
/* Makes passes until the file of this number is the present one. */
void set_recording_until(struct set_recording *r, uint32_t number);
/* Goes on in the next file. */
void set_recording_next(struct set_recording *r);

/* The VMM of the machine reports that its guest panicked. */
void set_recording_crash(struct set_recording *r);

#endif /* XVT_TEST_SET_RECORDING_H */
