// SPDX-License-Identifier: GPL-2.0
/* folder.c - see folder.h. */
#include "export/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"

int xvt_folder_fail(struct xvt_folder *f, int err, const char *sub, const char *name)
{
	snprintf(f->x->failed, sizeof(f->x->failed), "%s%s%s%s%s", f->path, sub ? "/" : "",
		 sub ? sub : "", name ? "/" : "", name ? name : "");
	return err;
}

int xvt_folder_open(struct xvt_folder *f, struct xvt_export *x, const char *path)
{
	struct dirent *e;
	bool empty = true;
	DIR *d;

	*f = (struct xvt_folder){ .x = x, .path = path, .fd = -1, .made.folder = -1 };
	f->machines = xvtrace_info(x->trace)->machines;
	f->names = calloc((size_t)f->machines + 1, sizeof(*f->names));
	if (!f->names)
		return -ENOMEM;
	f->fd = xvt_output_folder(path, 0755, &f->made);
	if (f->fd < 0)
		return xvt_folder_fail(f, f->fd, NULL, NULL);
	d = fdopendir(dup(f->fd));
	if (!d)
		return xvt_folder_fail(f, -errno, NULL, NULL);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			empty = false;
	closedir(d);
	return empty ? 0 : xvt_folder_fail(f, -ENOTEMPTY, NULL, NULL);
}

void xvt_folder_close(struct xvt_folder *f)
{
	if (f->made.folder >= 0)
		xvt_made_remove(&f->made, f->fd);
	xvt_made_close(&f->made);
	if (f->fd >= 0)
		close(f->fd);
	free(f->names);
}

const char *xvt_folder_name(struct xvt_folder *f, uint32_t at)
{
	const struct xvtrace_machine *machine = xvtrace_machine(f->x->trace, at);
	char *name = f->names[at];

	if (name[0])
		return name;
	if (at == f->machines)
		snprintf(name, XVT_FOLDER_NAME_LEN, "unknown");
	else
		snprintf(name, XVT_FOLDER_NAME_LEN - 16, "%s", machine ? machine->name : "?");
	for (char *p = name; *p; p++)
		if (*p == '/' || (*p == '.' && p == name))
			*p = '_';
	for (uint32_t i = 0; i <= f->machines; i++)
		if (i != at && strcmp(f->names[i], name) == 0)
			snprintf(name + strlen(name), 16, "-%u", at);
	return name;
}

void xvt_folder_remove(struct xvt_folder *f, const char *path, bool is_dir)
{
	f->removed |= !unlinkat(f->fd, path, is_dir ? AT_REMOVEDIR : 0);
}

int xvt_folder_explain(struct xvt_folder *f, int err, const char *many)
{
	char *text = f->x->error.text;
	const size_t size = sizeof(f->x->error.text);

	if (err == -ENOTEMPTY && strcmp(f->x->failed, f->path) == 0)
		snprintf(text, size, "is not empty; name a directory that does not exist yet");
	else if (err == -EMLINK && !f->x->failed[0])
		snprintf(text, size, "%s", many);
	else if (err && f->x->failed[0])
		snprintf(text, size, "cannot write: %s%s", xvt_output_why(err),
			 f->removed ? "; all that was written is removed" : "");
	return err;
}
