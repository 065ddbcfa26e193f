// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-kshark.c - what KernelShark sees in trace.dat files, opened together as streams by its own
 * library: for each the events and the places with lost events, and whether the order of all of
 *them is that of time.
 *
 *	xvt-kshark FILE.dat...
 *
 * Ends with 77 without libkshark.
 */
#include <stdio.h>

#ifdef XVT_KSHARK
#include <inttypes.h>
#include <stdlib.h>

#include <libkshark.h>

#define STREAMS 64

int main(int argc, char **argv)
{
	size_t events[STREAMS] = { 0 }, missed[STREAMS] = { 0 }, back = 0;
	struct kshark_context *ctx = NULL;
	struct kshark_entry **rows = NULL;
	ssize_t n;

	if (argc < 2 || argc > STREAMS || !kshark_instance(&ctx)) {
		fprintf(stderr, "usage: xvt-kshark FILE.dat...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		if (kshark_open(ctx, argv[i]) != i - 1) {
			fprintf(stderr, "xvt-kshark: cannot open %s\n", argv[i]);
			return 1;
		}
	n = kshark_load_all_entries(ctx, &rows);
	for (ssize_t i = 0; i < n; i++) {
		/* Entries of KernelShark's own have numbers below 0. */
		++*(rows[i]->event_id < 0 ? &missed[rows[i]->stream_id]
					  : &events[rows[i]->stream_id]);
		back += i && rows[i]->ts < rows[i - 1]->ts;
		free(rows[i]);
	}
	free(rows);
	for (int i = 1; i < argc; i++)
		printf("%zu %zu\n", events[i - 1], missed[i - 1]);
	kshark_free(ctx);
	return n < 0 || back;
}
#else
int main(void)
{
	fprintf(stderr, "xvt-kshark: built without libkshark\n");
	return 77;
}
#endif
