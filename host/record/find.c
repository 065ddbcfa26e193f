// SPDX-License-Identifier: GPL-2.0
/* find.c - see find.h. */
#include "record/find.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/region.h"
#include "vmm/processes.h"

bool xvt_is_glob(const char *text)
{
	return strpbrk(text, "*?[");
}

int xvt_find_files(const char *pattern, void (*fn)(void *arg, const char *path), void *arg)
{
	glob_t found = { 0 };
	int err = glob(pattern, 0, NULL, &found), n = 0;
	struct stat st;
	size_t i;

	for (i = 0; !err && i < found.gl_pathc; i++) {
		if (lstat(found.gl_pathv[i], &st) || !S_ISREG(st.st_mode))
			continue;
		fn(arg, found.gl_pathv[i]);
		n++;
	}
	globfree(&found);
	return err == GLOB_NOSPACE ? -ENOMEM : err == GLOB_ABORTED ? -EACCES : n;
}

int xvt_find_regions(void (*fn)(void *arg, const char *path), void *arg)
{
	char pattern[PATH_MAX];
	const int len = snprintf(pattern, sizeof(pattern), "%s/" XVT_REGION_PREFIX "*",
				 xvt_host_region_dir());

	return (size_t)len < sizeof(pattern) ? xvt_find_files(pattern, fn, arg) : -ENAMETOOLONG;
}

void xvt_region_machine(const char *path, char name[XVT_NAME_LEN])
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	const size_t prefix = strlen(XVT_REGION_PREFIX);

	if (!strncmp(file, XVT_REGION_PREFIX, prefix) && file[prefix])
		file += prefix;
	snprintf(name, XVT_NAME_LEN, "%s", file);
}

bool xvt_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !strcmp(a, b) ||
	       (!stat(a, &sa) && !stat(b, &sb) && sa.st_ino == sb.st_ino && sa.st_dev == sb.st_dev);
}

void xvt_region_look(const char *path, struct xvt_region_look *look)
{
	struct xvt_host_region r;
	struct stat st;

	memset(look, 0, sizeof(*look));
	look->has_writer = xvt_file_has_writer(path);
	if (!stat(path, &st)) {
		const struct xvt_mapped_file file = { st.st_dev, st.st_ino };

		look->recorder = xvt_file_locker(&file);
		look->size = (uint64_t)st.st_size;
	}
	look->err = xvt_host_region_open(&r, path, false);
	if (look->err) {
		xvt_fail(&look->why, 0, "%s", xvt_host_region_open_why(look->err));
		return;
	}
	look->err = xvt_host_region_check(&r);
	if (look->err)
		xvt_fault_text(&r.fault, look->why.text, sizeof(look->why.text));
	look->kind = r.hdr.kind;
	look->relayed = !look->err && r.hdr.incompat & XVT_INCOMPAT_RELAYED;
	look->rings = look->err ? 0 : r.g.ring_count;
	look->generation = r.hdr.generation;
	look->ring_bytes = look->err ? 0 : (uint64_t)r.g.subbuf_count * r.g.subbuf_size;
	look->clock_id = r.hdr.clock_id;
	look->clock_hz = r.hdr.clock_hz;
	look->host_events = r.hdr.host_events;
	look->refused_other = !look->err && r.hdr.claim & XVT_CLAIM_REFUSED;
	xvt_host_region_close(&r);
}

#define TEXT_OF(table, i) ((i) < sizeof(table) / sizeof((table)[0]) ? (table)[i] : "?")

const char *xvt_region_kind_text(uint32_t kind)
{
	static const char *const kinds[] = { [XVT_KIND_BLANK] = "blank",
					     [XVT_KIND_LINUX] = "linux",
					     [XVT_KIND_USER] = "user",
					     [XVT_KIND_BARE] = "bare" };

	return TEXT_OF(kinds, kind);
}

const char *xvt_clock_id_text(uint32_t clock_id)
{
	static const char *const clocks[] = { [XVT_CLOCK_NONE] = "none",
					      [XVT_CLOCK_TSC] = "tsc",
					      [XVT_CLOCK_CNTVCT] = "cntvct",
					      [XVT_CLOCK_CALLER] = "caller",
					      [XVT_CLOCK_COUNTER] = "counter" };

	return TEXT_OF(clocks, clock_id);
}
