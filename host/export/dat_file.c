// SPDX-License-Identifier: GPL-2.0
/* dat_file.c - see dat.h. A machine's trace.dat, and the layout of version 6. */
#include "export/dat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* -- the file ----------------------------------------------------------------------- */

static void put_begin(struct dat_bytes *b, struct dat *d, uint32_t at)
{
	struct dat_machine *m = &d->machines[at];

	dat_put(b, "\x17\x08\x44tracing6\0\0\x08", 14);
	dat_u32(b, DAT_PAGE);
	dat_headers(b);
	dat_ftrace_formats(b, &m->types, d->x->reader);
	dat_formats(b, &m->types, d->x->reader);
	dat_symbols(b, d, at, XVTRACE_KSYMS);
	dat_symbols(b, d, at, XVTRACE_PRINTKS);
	dat_comms(b, d, at);
	dat_u32(b, (uint32_t)m->cpu_count);
	dat_put(b, "options  ", 10);
	dat_options(b, d, at);
	dat_u16(b, DAT_OPTION_DONE);
	dat_put(b, "flyrecord", 10);
}

/* Where the pages of each CPU lie, the clock, and zeros up to the first page. */
static void put_places(struct dat_bytes *b, const struct dat_machine *m)
{
	static const uint8_t zeros[DAT_PAGE];
	const size_t len = b->used + m->cpu_count * 16 + 8 + strlen(dat_clocks);
	uint64_t offset = (len + DAT_PAGE - 1) / DAT_PAGE * DAT_PAGE;

	for (size_t i = 0; i < m->cpu_count; i++) {
		const uint64_t bytes = m->cpus[i] ? dat_cpu_len(m->cpus[i]) : 0;

		dat_u64(b, offset);
		dat_u64(b, bytes);
		offset += bytes;
	}
	dat_u64(b, strlen(dat_clocks));
	dat_put_str(b, dat_clocks);
	dat_put(b, zeros, (DAT_PAGE - b->used % DAT_PAGE) % DAT_PAGE);
}

static int write_v6(struct dat *d, uint32_t at, int fd)
{
	const struct dat_machine *m = &d->machines[at];
	struct dat_bytes b = { 0 };
	int err;

	put_begin(&b, d, at);
	put_places(&b, m);
	err = b.failed ? -ENOMEM : xvt_write_all(fd, b.p, b.used);
	for (size_t i = 0; i < m->cpu_count && !err; i++)
		if (m->cpus[i])
			err = dat_spool_copy(&d->spool, m->cpus[i], fd);
	free(b.p);
	return err;
}

#define NAME_ROOM (XVT_FOLDER_NAME_LEN + 8)

static void file_name(struct dat *d, uint32_t at, char name[NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s.dat", xvt_folder_name(&d->folder, at));
}

void dat_remove_file(struct dat *d, uint32_t at)
{
	char name[NAME_ROOM];

	file_name(d, at, name);
	xvt_folder_remove(&d->folder, name, false);
}

int dat_write_file(struct dat *d, uint32_t at)
{
	char name[NAME_ROOM];
	int fd, err;

	file_name(d, at, name);
	fd = openat(d->folder.fd, name, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return xvt_folder_fail(&d->folder, -errno, name, NULL);
	err = d->spool.packer ? dat_write_v7(d, at, fd) : write_v6(d, at, fd);
	if (close(fd) && !err)
		err = -errno;
	return err ? xvt_folder_fail(&d->folder, err, name, NULL) : 0;
}
