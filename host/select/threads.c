// SPDX-License-Identifier: GPL-2.0
/* threads.c - see threads.h. */
#include "select/threads.h"

#include <sys/stat.h>

/* Each thread takes memory as another reader, and the reading of a file has its end in the disk's
 * or the memory's speed: more are for a caller that asks for them. */
#define THREADS_USUAL 8u

/* A trace of two million events, which are worth a second thread (lib/counting_parts.c), has more
 * than 2 bytes for each, compressed or not. To start a thread takes as long as to read 5,000
 * events. */
#define BYTES_LEAST   (4u << 20)

/* Of a folder it is not known: its files are large. */
static uint64_t bytes_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	return S_ISDIR(st.st_mode) ? BYTES_LEAST : (uint64_t)st.st_size;
}

struct xvt_workers *xvt_threads_start(struct xvtrace_threads *threads, uint64_t wanted,
				      const char *const *paths, size_t count)
{
	struct xvt_workers *w = NULL;
	uint64_t bytes = 0;

	*threads = (struct xvtrace_threads){ .count = 1, .run = xvt_workers_run };
	for (size_t i = 0; i < count && bytes < BYTES_LEAST; i++)
		bytes += bytes_of(paths[i]);
	if (!wanted) {
		wanted = xvt_workers_cpus();
		wanted = wanted < THREADS_USUAL ? wanted : THREADS_USUAL;
	}
	if (bytes < BYTES_LEAST || wanted < 2 || xvt_workers_start(&w, (unsigned int)wanted))
		return NULL;
	threads->count = (unsigned int)wanted;
	threads->run_arg = w;
	return w;
}

void xvt_threads_background(struct xvtrace_background *background, struct xvt_workers *w)
{
	*background = (struct xvtrace_background){ .slots = w ? XVT_WORKERS_JOBS : 0,
						   .begin = xvt_workers_begin,
						   .wait = xvt_workers_wait,
						   .run_arg = w };
}
