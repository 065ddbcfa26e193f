// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-kshark.c - what KernelShark sees in trace.dat files, opened together as streams by its own
 * library: for each the events and the places with lost events, and whether the order of all of
 * them is that of time.
 *
 *	xvt-kshark FILE.dat...
 *	xvt-kshark --events FILE.dat...
 *
 * With --events a line for each event instead: TIME FILE CPU PID EVENT FIELD=VALUE..., the file
 * without its ending, and of the fields those that are numbers, in order of their names.
 *
 * Ends with 1 if times go back, with 77 without libkshark.
 */
#include <stdio.h>

#ifdef XVT_KSHARK
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>
#include <libkshark-tepdata.h>
#include <libkshark.h>

#define STREAMS 64

static int compare(const void *pa, const void *pb)
{
	return strcmp(*(char *const *)pa, *(char *const *)pb);
}

static const struct tep_format_field *find_field(const struct kshark_entry *entry, const char *name)
{
	struct tep_handle *tep = kshark_get_tep(kshark_get_stream_from_entry(entry));
	struct tep_event *event = tep ? tep_find_event(tep, entry->event_id) : NULL;

	return event ? tep_find_field(event, name) : NULL;
}

static void print_fields(const struct kshark_entry *entry)
{
	char **names = NULL;
	const int n = kshark_get_all_event_field_names(entry, &names);

	if (n > 0)
		qsort(names, (size_t)n, sizeof(*names), compare);
	for (int i = 0; i < n; i++) {
		const struct tep_format_field *field = find_field(entry, names[i]);
		const bool is_number =
			field && !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING |
						   TEP_FIELD_IS_DYNAMIC));
		int64_t value;

		/* The library reads a number of 8 bytes as if it had a sign. */
		if (is_number && kshark_read_event_field_int(entry, names[i], &value) == 0)
			printf(field->flags & TEP_FIELD_IS_SIGNED ? " %s=%" PRId64 : " %s=%" PRIu64,
			       names[i], value);
		free(names[i]);
	}
	free(names);
}

static void print_event(const struct kshark_entry *entry, const char *path)
{
	const char *base = strrchr(path, '/');
	char *name = kshark_get_event_name(entry);
	const char *system_end = name ? strchr(name, '/') : NULL;
	int len;

	base = base ? base + 1 : path;
	len = (int)(strlen(base) > 4 ? strlen(base) - 4 : strlen(base));
	printf("%" PRId64 " %.*s %d %d %s", entry->ts, len, base, entry->cpu, entry->pid,
	       system_end ? system_end + 1 : "?");
	free(name);
	print_fields(entry);
	putchar('\n');
}

int main(int argc, char **argv)
{
	const bool events_too = argc > 1 && strcmp(argv[1], "--events") == 0;
	char **const files = argv + 1 + events_too;
	const int count = argc - 1 - events_too;
	size_t events[STREAMS] = { 0 }, missed[STREAMS] = { 0 }, back = 0;
	struct kshark_context *ctx = NULL;
	struct kshark_entry **rows = NULL;
	ssize_t n;

	if (count < 1 || count > STREAMS || !kshark_instance(&ctx)) {
		fprintf(stderr, "usage: xvt-kshark [--events] FILE.dat...\n");
		return 2;
	}
	for (int i = 0; i < count; i++)
		if (kshark_open(ctx, files[i]) != i) {
			fprintf(stderr, "xvt-kshark: cannot open %s\n", files[i]);
			return 1;
		}
	n = kshark_load_all_entries(ctx, &rows);
	for (ssize_t i = 0; i < n; i++) {
		/* Entries of KernelShark's own have numbers below 0. */
		const bool is_event = rows[i]->event_id >= 0;

		++*(is_event ? &events[rows[i]->stream_id] : &missed[rows[i]->stream_id]);
		back += i && rows[i]->ts < rows[i - 1]->ts;
		if (events_too && is_event)
			print_event(rows[i], files[rows[i]->stream_id]);
	}
	for (ssize_t i = 0; i < n; i++)
		free(rows[i]);
	free(rows);
	for (int i = 0; i < count && !events_too; i++)
		printf("%zu %zu\n", events[i], missed[i]);
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
