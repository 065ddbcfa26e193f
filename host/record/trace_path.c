// SPDX-License-Identifier: GPL-2.0
/* trace_path.c - see trace_path.h. */
#include "record/trace_path.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "options/opt.h"
#include "trace/format.h"
#include "trace/set.h"
#include "trace/set_name.h"

const char *xvt_trace_path(const char *command, int count, char **args)
{
	if (count == 1)
		return args[0];
	if (count > 1)
		xvt_error(command, "give one trace; 'xvtrace %s --help' shows how", command);
	else if (!access(XVT_TRACE_DEFAULT, F_OK))
		return XVT_TRACE_DEFAULT;
	else
		xvt_error(command, "give one trace: this folder has no " XVT_TRACE_DEFAULT
				   ", which 'xvtrace "
				   "record' writes and which is read by default");
	return NULL;
}

size_t xvt_trace_paths(const char *command, int count, char **args, const char *const **paths)
{
	static const char *alone;

	if (count > 1) {
		*paths = (const char *const *)args;
		return (size_t)count;
	}
	alone = xvt_trace_path(command, count, args);
	*paths = &alone;
	return alone ? 1 : 0;
}

static bool is_folder_of_trace(const char *path)
{
	struct xvt_set_list files;

	if (!xvt_set_is_folder(path) || xvt_set_list(path, &files))
		return false;
	xvt_set_list_free(&files);
	return true;
}

static bool begins_as_trace(const char *path)
{
	uint32_t magic = 0;
	struct stat st;
	FILE *f;

	/* To open a FIFO would wait for its writer. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fread(&magic, sizeof(magic), 1, f) != 1)
		magic = 0;
	fclose(f);
	return magic == XVT_CHUNK_MAGIC;
}

bool xvt_is_trace_path(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (strcmp(path, "-") == 0)
		return false; /* standard output, whatever a file of that name holds */
	return (dot && strcmp(dot, ".xvt") == 0) || is_folder_of_trace(path) ||
	       begins_as_trace(path);
}
