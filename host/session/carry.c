// SPDX-License-Identifier: GPL-2.0
/*
 * carry.c - metadata of a recording that goes on in further files. Each file needs all of it, and
 * the guests send it once. A copy of what was written is kept in a file without a name, which
 * takes no memory, and is copied into each further file.
 */
#define _GNU_SOURCE
#include "session/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

/* An entry of the file: this, and `len` bytes. */
struct entry {
	struct xvt_meta_info info;
	uint64_t len;
};

static bool is_carrying(const struct xvt_session *s)
{
	return s->sink->prepare && is_recording(s);
}

/* Opens the file: beside the trace, or where that cannot be, in memory. Returns 0 or -errno. */
static int open_carry(struct xvt_session *s)
{
	if (s->carry.open)
		return 0;
	s->carry.fd =
		s->opt.folder ? open(s->opt.folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
	if (s->carry.fd < 0)
		s->carry.fd = memfd_create("xvtrace-metadata", MFD_CLOEXEC);
	s->carry.open = s->carry.fd >= 0;
	return s->carry.open ? 0 : -errno;
}

static int keep(struct xvt_session *s, const struct xvt_meta_info *info, const void *bytes,
		size_t len)
{
	const struct entry e = { *info, len };
	int err = open_carry(s);

	if (!err)
		err = xvt_write_all_at(s->carry.fd, &e, sizeof(e), s->carry.used);
	if (!err)
		err = xvt_write_all_at(s->carry.fd, bytes, len, s->carry.used + sizeof(e));
	if (!err)
		s->carry.used += sizeof(e) + len;
	return err;
}

static void say_short(struct xvt_session *s, int err)
{
	if (!s->carry.told)
		xvt_session_note(s, 1, NULL, UINT32_MAX,
				 "metadata cannot be kept for the next files (%s): formats and "
				 "names are missing in them, and are in the files before",
				 strerror(-err));
	s->carry.told = true;
}

void xvt_session_put_meta(struct xvt_session *s, const struct xvt_meta_info *info,
			  const void *bytes, size_t len)
{
	int err = is_carrying(s) ? keep(s, info, bytes, len) : 0;

	xvt_trace_put(s->trace, XVT_CHUNK_META, info, sizeof(*info), bytes, len);
	xvt_session_note_format(s, info, bytes, len);
	if (err)
		say_short(s, err);
}

/*
 * Writes the entry at *at into the trace, and moves it to *to where entries before it were taken
 * out. An entry of a machine that is left out is taken out. Returns 0 or -errno.
 */
static int carry_one(struct xvt_session *s, uint64_t *at, uint64_t *to)
{
	struct entry e = { 0 };
	int err = xvt_read_all_at(s->carry.fd, &e, sizeof(e), *at);
	const uint64_t from = *at + sizeof(e);
	const struct xvt_vm *vm;
	void *bytes;

	if (err)
		return err;
	*at = from + e.len;
	vm = xvt_session_vm_by_id(s, e.info.vm);
	if (!vm || vm->files.left_out)
		return 0;
	bytes = malloc(e.len + 1);
	err = bytes ? xvt_read_all_at(s->carry.fd, bytes, e.len, from) : -ENOMEM;
	if (!err)
		xvt_trace_put(s->trace, XVT_CHUNK_META, &e.info, sizeof(e.info), bytes, e.len);
	if (!err && *to + sizeof(e) != from) {
		err = xvt_write_all_at(s->carry.fd, &e, sizeof(e), *to);
		if (!err)
			err = xvt_write_all_at(s->carry.fd, bytes, e.len, *to + sizeof(e));
	}
	*to += sizeof(e) + e.len;
	free(bytes);
	return err;
}

void xvt_session_put_carried(struct xvt_session *s)
{
	uint64_t at = 0, to = 0;
	int err = 0;

	while (at < s->carry.used && !err)
		err = carry_one(s, &at, &to);
	if (err)
		say_short(s, err);
	else if (to < s->carry.used && !ftruncate(s->carry.fd, (off_t)to))
		s->carry.used = to;
}

void xvt_session_carry_free(struct xvt_session *s)
{
	if (s->carry.open)
		close(s->carry.fd);
}
