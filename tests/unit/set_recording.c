// SPDX-License-Identifier: GPL-2.0
/* set_recording.c - see set_recording.h. */
#define _GNU_SOURCE
#include "set_recording.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/parts.h"
#include "suites.h"

void set_recording_begin(struct set_recording *r, const char *name, bool folder)
{
	struct xvt_session_options opt = { .mode = XVT_ENABLE_STOP,
					   .follow = true,
					   .stall_timeout_ns = 1000000,
					   .memory_bytes = 8 << 20 };
	char output[300];
	struct xvt_error why;

	memset(r, 0, sizeof(*r));
	snprintf(r->folder, sizeof(r->folder), "%s", scratch_path(name));
	snprintf(output, sizeof(output), "%s%s", r->folder, folder ? "/" : "");
	region_file_make(&r->region, "set-region");
	region_file_format(&r->region, 2);
	ck_assert_int_eq(xvt_loop_new(&r->rec.loop), 0);
	ck_assert_int_eq(xvt_file_set_new(&r->rec.sink, r->rec.loop, output), 0);
	opt.set_number = xvt_file_set_at(r->rec.sink);
	opt.folder = folder ? r->folder : NULL;
	ck_assert_int_eq(
		xvt_session_new(&r->rec.session, r->rec.loop, xvt_file_set_base(r->rec.sink), &opt),
		0);
	ck_assert_int_eq(xvt_session_add(r->rec.session, "g1", r->region.path, NULL, true, &why),
			 0);
	r->rec.command = "record";
	r->rec.quiet = true;
	r->rec.signal_fd = -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void set_recording_end(struct set_recording *r)
{
	ck_assert_int_eq(xvt_session_finish(r->rec.session), 0);
	ck_assert_int_eq(xvt_file_set_close(r->rec.sink), 0);
	xvt_loop_free(r->rec.loop);
	region_file_end(&r->region);
	nftw(r->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void set_recording_pass(struct set_recording *r)
{
	uint64_t sleep_ns;

	r->rec.session->passes.next_clock = 0;
	ck_assert_int_eq(xvt_session_pass(r->rec.session, &sleep_ns), 0);
	ck_assert_int_eq(xvt_file_set_push(r->rec.sink), 0);
	ck_assert_int_ge(xvt_loop_run(r->rec.loop, 1000000), 0);
}

void set_recording_until(struct set_recording *r, uint32_t number)
{
	while (xvt_file_set_at(r->rec.sink) < number)
		set_recording_pass(r);
	ck_assert_uint_eq(xvt_file_set_at(r->rec.sink), number);
}

void set_recording_next(struct set_recording *r)
{
	xvt_session_rotate(r->rec.session);
	set_recording_until(r, xvt_file_set_at(r->rec.sink) + 1);
}

void set_recording_crash(struct set_recording *r)
{
	const struct xvt_vmm_report report = { .event = XVT_VMM_PANICKED };

	xvt_session_vmm_report(xvt_session_find(r->rec.session, "g1"), &report);
}
