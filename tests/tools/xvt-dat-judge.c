// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-dat-judge.c - is a trace.dat the same as JSON lines? Reads the file with libtracecmd, which
 * trace-cmd and KernelShark use, and compares each event in turn with the next line on standard
 * input: time, CPU, pid, name, and the bytes of each field. Lost events must be at their place.
 *
 *	xvtrace export --all --format jsonl --vm g1 t.xvt - | xvt-dat-judge g1.dat
 *
 * Prints the number of events; ends with 1 at the first difference, with 77 without libtracecmd.
 */
#include <stdio.h>

#ifdef XVT_TRACECMD
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <trace-cmd.h>

static char *line;
static size_t line_room;
static json_t *want;
static unsigned long long events;
static unsigned long long lost; /* of the JSON lines, by CPU, since the CPU's last event */
static unsigned long long lost_of[65536];

static int differ(const char *what)
{
	printf("event %llu: %s differs: %s", events, what, line ? line : "(no more lines)\n");
	return -1;
}

/* The line with all long numbers as texts "#N", because jansson refuses those above INT64_MAX. */
static char *quoted(void)
{
	char *to = malloc(4 * strlen(line) + 1), *end = to;
	bool in_text = false;

	for (const char *p = line; *p;) {
		const size_t digits = in_text ? 0 : strspn(p, "-0123456789");

		if (digits >= 19) {
			end += sprintf(end, "\"#%.*s\"", (int)digits, p);
			p += digits;
			continue;
		}
		if (*p == '\\')
			*end++ = *p++;
		else if (*p == '"')
			in_text = !in_text;
		*end++ = *p++;
	}
	*end = '\0';
	return to;
}

static void add_lost(void)
{
	json_t *fields = json_object_get(want, "fields"), *cause;
	const char *key;

	json_object_foreach(fields, key, cause) if (strcmp(key, "bad_bytes") != 0 &&
						    strcmp(key, "rolled_back") != 0)
		lost_of[json_integer_value(json_object_get(want, "cpu"))] +=
		(unsigned long long)json_integer_value(cause);
}

/* Whether the line is of the recorder, not an event of the guest's. */
static bool is_record(void)
{
	const char *name = json_string_value(json_object_get(want, "event"));

	return strcmp(json_string_value(json_object_get(want, "system")), "xvt") == 0 &&
	       (strcmp(name, "lost") == 0 || strcmp(name, "clock_sync") == 0 ||
		strcmp(name, "mark") == 0);
}

/* The next line that is an event; adds up losses on the way. */
static bool next_line(void)
{
	json_error_t error;

	for (;;) {
		char *text;

		json_decref(want);
		want = NULL;
		if (getline(&line, &line_room, stdin) <= 0) {
			free(line);
			line = NULL;
			return false;
		}
		text = quoted();
		want = json_loads(text, JSON_ALLOW_NUL, &error);
		free(text);
		if (!want)
			exit(differ("JSON"));
		if (!is_record())
			return true;
		if (strcmp(json_string_value(json_object_get(want, "event")), "lost") == 0)
			add_lost();
	}
}

static bool number_is(const json_t *value, const unsigned char *at, int size)
{
	const char *text = json_string_value(value);
	json_int_t n = json_integer_value(value);

	if (text)
		n = text[1] == '-' ? strtoll(text + 1, NULL, 10)
				   : (json_int_t)strtoull(text + 1, NULL, 10);
	return memcmp(&n, at, (size_t)size) == 0;
}

static bool list_is(const json_t *list, const unsigned char *at, int size)
{
	const size_t count = json_array_size(list);
	const size_t element = count ? (size_t)size / count : 1;

	if (!count)
		return size == 0;
	for (size_t i = 0; i < count; i++)
		if (!number_is(json_array_get(list, i), at + i * element, (int)element))
			return false;
	return true;
}

/* An invalid byte of a text is U+FFFD in JSON, and control characters above ASCII are the same. */
static bool text_is(const json_t *value, const unsigned char *at, int size)
{
	const char *p = json_string_value(value), *const end = p + json_string_length(value);
	int i = 0;

	for (; p < end && i < size; i++) {
		if (memcmp(p, "\xef\xbf\xbd", 3) == 0 && at[i] >= 0x80) {
			p += 3;
			continue;
		}
		if ((unsigned char)*p++ != at[i])
			return false;
	}
	/* The kernel's newline is left out of a marker's text. */
	return p == end &&
	       (i >= size || !at[i] || (at[i] == '\n' && (i + 1 >= size || !at[i + 1])));
}

static bool field_is(struct tep_format_field *f, const struct tep_record *record,
		     const json_t *value)
{
	const unsigned char *at = (unsigned char *)record->data + f->offset;
	int size = f->size ? f->size : record->size - f->offset;

	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		unsigned int loc;

		memcpy(&loc, at, sizeof(loc));
		size = (int)(loc >> 16);
		if (f->flags & TEP_FIELD_IS_RELATIVE)
			at += 4 + (loc & 0xffff);
		else
			at = (unsigned char *)record->data + (loc & 0xffff);
	}
	if (at + size > (unsigned char *)record->data + record->size)
		return false;
	if (json_is_string(value) && f->flags & (TEP_FIELD_IS_STRING | TEP_FIELD_IS_ARRAY))
		return text_is(value, at, size);
	if (json_is_array(value))
		return list_is(value, at, size);
	return number_is(value, at, size);
}

static int compare_fields(struct tep_event *event, const struct tep_record *record)
{
	const json_t *fields = json_object_get(want, "fields");
	struct tep_format_field *f = event->format.fields;
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)fields, key, value)
	{
		if (!f || strcmp(f->name, key) != 0 || !field_is(f, record, value))
			return differ(key);
		f = f->next;
	}
	return f ? differ(f->name) : 0;
}

static int compare(struct tracecmd_input *in, struct tep_record *record, int cpu, void *arg)
{
	struct tep_event *event = tep_find_event_by_record(tracecmd_get_tep(in), record);
	const json_t *pid = (events++, next_line()) ? json_object_get(want, "pid") : NULL;
	const char *name = json_string_value(json_object_get(want, "event"));

	(void)arg;
	if (!want)
		return differ("the end");
	if (record->ts != (unsigned long long)json_integer_value(json_object_get(want, "ts_ns")))
		return differ("the time");
	if (cpu != json_integer_value(json_object_get(want, "cpu")))
		return differ("the CPU");
	if (!event || !name || strcmp(event->name, name) != 0)
		return differ("the name");
	if (tep_data_pid(event->tep, record) != (pid ? (int)json_integer_value(pid) : INT32_MAX))
		return differ("the pid");
	if ((unsigned long long)record->missed_events != lost_of[cpu])
		return differ("the number of lost events before it");
	lost += lost_of[cpu];
	lost_of[cpu] = 0;
	return compare_fields(event, record);
}

int main(int argc, char **argv)
{
	struct tracecmd_input *in = argc == 2 ? tracecmd_open(argv[1], 0) : NULL;

	if (!in) {
		fprintf(stderr, "usage: xvt-dat-judge FILE.dat <JSON lines\n");
		return 2;
	}
	if (tracecmd_iterate_events(in, NULL, 0, compare, NULL) || next_line())
		return 1;
	tracecmd_close(in);
	printf("%llu events, %llu lost\n", events, lost);
	return 0;
}
#else
int main(void)
{
	fprintf(stderr, "xvt-dat-judge: built without libtracecmd\n");
	return 77;
}
#endif
