// SPDX-License-Identifier: GPL-2.0
/* beside.c - see beside.h. */
#include "cli/beside.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cli/opt.h"
#include "trace/file_snapshot.h"
#include "trace/set_name.h"

static void find_flight(const char *folder, struct xvt_beside *b)
{
	struct stat st;

	if ((size_t)snprintf(b->flight, sizeof(b->flight), "%s/" XVT_SNAPSHOT_FLIGHT, folder) >=
		    sizeof(b->flight) ||
	    stat(b->flight, &st) || !S_ISREG(st.st_mode))
		b->flight[0] = '\0';
}

void xvt_beside_look(const char *path, struct xvt_beside *b)
{
	*b = (struct xvt_beside){ .flight = "" };
	if (xvt_set_is_folder(path))
		find_flight(path, b);
}

void xvt_beside_say_flight(const struct xvt_beside *b, const char *what)
{
	if (b->flight[0])
		xvt_note("the flight recorders of this snapshot are a trace of their own, which is "
			 "not included: 'xvtrace %s %s'",
			 what, b->flight);
}
