// SPDX-License-Identifier: GPL-2.0
/* opt.c - see opt.h. The parser of all commands, which knows no command. */
#include "options/opt.h"

#include "base/letters.h"
#include "base/log.h"
#include "base/number.h"
#include "base/out.h"
#include "base/user.h"
#include "base/vec.h"
#include "options/version.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool is_list(const struct xvt_opt *o)
{
	return o->type == XVT_OPT_LIST || o->type == XVT_OPT_WORDS;
}

static const struct xvt_opt *find_long(const struct xvt_opt *opts, const char *name, size_t len)
{
	for (const struct xvt_opt *o = opts; o->name; o++)
		if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const struct xvt_opt *find_letter(const struct xvt_opt *opts, char letter)
{
	for (const struct xvt_opt *o = opts; o->name; o++)
		if (o->letter && o->letter == letter)
			return o;
	return NULL;
}

/* The option at the begin of a text, as "--NAME" or "-X"; *len: its length. NULL: there is none. */
static const struct xvt_opt *option_at(const struct xvt_opt *opts, const char *text, size_t *len)
{
	static const char in_names[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	if (strncmp(text, "--", 2) == 0) {
		*len = 2 + strspn(text + 2, in_names);
		return find_long(opts, text + 2, *len - 2);
	}
	*len = 2;
	return text[0] == '-' && text[1] && !strspn(text + 2, in_names) ? find_letter(opts, text[1])
									: NULL;
}

/* Write a text with its options as keys. */
static void write_keys(const struct xvt_opt *opts, const char *text, char *out, size_t size)
{
	size_t used = 0, len;
	const char *at;

	for (at = text; *at && used + 1 < size; at += len) {
		const bool begins = at == text || strchr(" (", at[-1]);
		const struct xvt_opt *o = begins ? option_at(opts, at, &len) : NULL;
		int n = 1;

		if (o) {
			n = snprintf(out + used, size - used, "%s", o->name);
		} else {
			len = 1;
			out[used] = *at;
		}
		used = used + (size_t)n < size ? used + (size_t)n : size - 1;
	}
	out[used] = '\0';
}

static const struct xvt_opt_file *errors_of;

void xvt_opt_errors_of(const struct xvt_opt_file *file)
{
	errors_of = file;
}

/* Value number `i` of an option, or the last one there is. NULL: no line has it. */
static const struct xvt_opt_place *place_of(const char *option, size_t i)
{
	const struct xvt_opt_place *place = NULL;
	size_t k, found = 0;

	for (k = 0; errors_of && k < errors_of->count && found <= i; k++) {
		if (strcmp(errors_of->places[k].opt->name, option) != 0)
			continue;
		place = &errors_of->places[k];
		found++;
	}
	return place;
}

bool xvt_opt_has_line(const char *option)
{
	return place_of(option, SIZE_MAX);
}

/* value: NULL: the error is about the option as such. */
__attribute__((format(printf, 4, 0))) static void say_error(const char *option,
							    const struct xvt_opt_value *value,
							    const char *what, const char *format,
							    va_list args)
{
	const struct xvt_opt_place *place = place_of(option, value ? value->i : SIZE_MAX);
	char why[1024], keys[1024];

	vsnprintf(why, sizeof(why), format, args);
	if (!place) {
		xvt_error(what, "%s", why);
		return;
	}
	write_keys(errors_of->opts, why, keys, sizeof(keys));
	xvt_error(errors_of->path, "line %u: %s%s%s: %s", place->line, option, value ? " " : "",
		  value ? value->text : "", keys);
}

void xvt_opt_error(const char *option, const char *why_format, ...)
{
	char what[64];
	va_list args;

	snprintf(what, sizeof(what), "--%s", option);
	va_start(args, why_format);
	say_error(option, NULL, what, why_format, args);
	va_end(args);
}

void xvt_opt_error_of(const struct xvt_opt_value *value, const char *why_format, ...)
{
	va_list args;

	va_start(args, why_format);
	say_error(value->option, value, value->what ? value->what : value->text, why_format, args);
	va_end(args);
}

void xvt_opt_help(const struct xvt_command *cmd)
{
	const struct xvt_opt *o;

	printf("usage: xvtrace %s %s%s\n%s\n", cmd->name, cmd->opts[0].name ? "[OPTION]... " : "",
	       cmd->args, cmd->brief);
	if (cmd->opts[0].name)
		printf("\n");
	for (o = cmd->opts; o->name; o++) {
		char left[80];
		int len = o->letter
				  ? snprintf(left, sizeof(left), "  -%c, --%s", o->letter, o->name)
				  : snprintf(left, sizeof(left), "      --%s", o->name);

		if (o->group)
			printf("%s%s:\n", o == cmd->opts ? "" : "\n", o->group);
		if (o->type != XVT_OPT_BOOL)
			snprintf(left + len, sizeof(left) - (size_t)len, " %s",
				 o->metavar ? o->metavar : "VALUE");
		if (strlen(left) > 29)
			printf("%s\n%30s%s", left, "", o->help);
		else
			printf("%-30s%s", left, o->help);
		if (o->usual)
			printf(" (default %s)", o->usual);
		printf("\n");
	}
	if (cmd->opts[0].group)
		printf("\nAbout this command:\n");
	printf("%-30s%s\n", "  -h, --help", "show this");
	printf("%-30s%s\n", "  -V, --version", "show the version, and what this is built with");
	if (cmd->more_help)
		cmd->more_help();
	printf("\nSee also: man xvtrace-%s; the same page is xvtrace-%s.*.md, in docs/ of the "
	       "sources "
	       "and in share/doc/xvtrace/ where this is installed\n",
	       cmd->name, cmd->name);
}

/* A command line, or a file of options, being parsed. */
struct parse {
	const struct xvt_command *cmd; /* of a file: the table only */
	struct xvt_opt_file *file;     /* NULL: a command line */
	unsigned int line;	       /* of the file */
	void *out;
	uint64_t given[(XVT_OPT_MAX + 63) / 64]; /* a bit for each row of the table */
};

/* The text before an option's name in a message. */
static const char *dashes(const struct parse *p)
{
	return p->file ? "" : "--";
}

__attribute__((format(printf, 2, 3))) static int usage_error(const struct parse *p,
							     const char *format, ...)
{
	char what[64], why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (p->file) {
		xvt_error(p->file->path, "line %u: %s", p->line, why);
		return XVT_OPT_WRONG;
	}
	snprintf(what, sizeof(what), "%s", p->cmd->name);
	xvt_error(what, "%s; 'xvtrace %s --help' lists the options", why, p->cmd->name);
	return XVT_OPT_WRONG;
}

/* A number as a value is written. Returns the text. */
static const char *write_number(const struct xvt_opt *o, uint64_t n, char *text, size_t size)
{
	static const char units[] = "\0KMG";
	unsigned int unit = 0;
	int len;

	if (o->type == XVT_OPT_SIZE) {
		for (; unit < 3 && n && n % 1024 == 0; unit++)
			n /= 1024;
		snprintf(text, size, "%" PRIu64 "%.1s", n, units + unit);
	} else if (o->type == XVT_OPT_TIME) {
		len = snprintf(text, size, "%" PRIu64 ".%09u", n / 1000000000,
			       (unsigned int)(n % 1000000000));
		while (text[len - 1] == '0')
			text[--len] = '\0';
		if (text[len - 1] == '.')
			text[len - 1] = '\0';
	} else if (o->type == XVT_OPT_ENDS) {
		snprintf(text, size, "%" PRId64, (int64_t)n);
	} else {
		snprintf(text, size, "%" PRIu64, n);
	}
	return text;
}

static int no_memory(const struct parse *p)
{
	xvt_error(p->file ? p->file->path : p->cmd->name, "out of memory for its options");
	return XVT_OPT_NO_MEMORY;
}

int xvt_opt_exit_status(int parsed)
{
	if (parsed == XVT_OPT_SHOWN)
		return XVT_EXIT_OK;
	return parsed == XVT_OPT_NO_MEMORY ? XVT_EXIT_FAIL : XVT_EXIT_USAGE;
}

static int parse_size(const char *text, uint64_t *value)
{
	const char *end;
	const int err = xvt_parse_bytes(text, &end, value);
	bool has_unit;

	if (err)
		return err;
	has_unit = strchr("KkMmGg", end[-1]);
	return !*end || (has_unit && (!strcmp(end, "iB") || !strcmp(end, "B"))) ? 0 : -EINVAL;
}

int xvt_parse_seconds(const char *text, uint64_t *ns)
{
	const char *end;
	uint64_t unit = 100000000, fraction = 0;
	int err = xvt_parse_u64(text, &end, ns);

	if (err)
		return err;
	if (text[0] == '0' && (text[1] | 32) == 'x')
		return -EINVAL; /* 0x10.5 would be half a hexadecimal number */
	if (*end == '.') {
		end++;
		if (*end < '0' || *end > '9')
			return -EINVAL;
		for (; *end >= '0' && *end <= '9'; end++, unit /= 10)
			fraction += (uint64_t)(*end - '0') * unit;
	}
	if (*end)
		return -EINVAL;
	if (*ns > (UINT64_MAX - fraction) / 1000000000)
		return -ERANGE;
	*ns = *ns * 1000000000 + fraction;
	return 0;
}

int xvt_parse_span(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t less; /* than a second */
		uint64_t times;
	} units[] = { { "", 1, 1 },	 { "ns", 1000000000, 1 }, { "us", 1000000, 1 },
		      { "ms", 1000, 1 }, { "s", 1, 1 },		  { "min", 1, 60 },
		      { "h", 1, 3600 } };
	const size_t digits = strspn(text, "0123456789.");
	char number[32];
	int err;

	if (digits >= sizeof(number))
		return -ERANGE;
	memcpy(number, text, digits);
	number[digits] = '\0';
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].name) != 0)
			continue;
		err = xvt_parse_seconds(number, ns);
		if (err)
			return err;
		*ns /= units[i].less;
		return __builtin_mul_overflow(*ns, units[i].times, ns) ? -ERANGE : 0;
	}
	return -EINVAL;
}

/* Returns false for a repeated option that can have only one value. */
static bool first_time(struct parse *p, const struct xvt_opt *o)
{
	size_t at = (size_t)(o - p->cmd->opts);
	uint64_t *word = &p->given[at / 64 % (sizeof(p->given) / 8)], bit = 1ull << at % 64;
	bool first = !(*word & bit);

	*word |= bit;
	return first || is_list(o) || (o->type == XVT_OPT_BOOL && !p->file);
}

/* Note where the file has a value. */
static int note_place(struct parse *p, const struct xvt_opt *o)
{
	struct xvt_opt_file *f = p->file;

	if (!f)
		return 0;
	if (xvt_grow(&f->places, &f->room, f->count + 1, sizeof(*f->places)))
		return no_memory(p);
	f->places[f->count++] = (struct xvt_opt_place){ o, p->line };
	return 0;
}

static int add_word(struct parse *p, const struct xvt_opt *o, const char *value)
{
	struct xvt_opt_list *list = (struct xvt_opt_list *)((char *)p->out + o->offset);

	if (list->n == XVT_OPT_LIST_MAX)
		return usage_error(p, "%s%s: given more than %d times", dashes(p), o->name,
				   XVT_OPT_LIST_MAX);
	list->v[list->n++] = value;
	return note_place(p, o);
}

/* The comma behind the first word; a set of letters, as in [a,b], has none that parts words. */
static char *next_comma(char *words)
{
	for (char *c = words; *c; c++) {
		char *end = *c == '[' && c[1] ? strchr(c + 2, ']') : NULL;

		c = end ? end : c;
		if (*c == ',')
			return c;
	}
	return NULL;
}

/* Command lines and files are parted where they lie: the words live as long as they. */
static int add_words(struct parse *p, const struct xvt_opt *o, const char *value)
{
	char *word = (char *)value, *comma;
	int err = 0;

	for (; word && !err; word = comma ? comma + 1 : NULL) {
		comma = next_comma(word);
		if (comma)
			*comma = '\0';
		if (!*word && (comma || word != value))
			return usage_error(p, "%s%s: an empty word beside a comma", dashes(p),
					   o->name);
		err = add_word(p, o, word);
	}
	return err;
}

static int parse_ends(const char *text, int64_t *value)
{
	const bool last = text[0] == '-';
	const char *end;
	uint64_t n;
	int err = xvt_parse_u64(text + last, &end, &n);

	if (err || *end || !n)
		return err ? err : -EINVAL;
	if (n > INT64_MAX)
		return -ERANGE;
	*value = last ? -(int64_t)n : (int64_t)n;
	return 0;
}

/* Which of the words "a|b|c" it is. */
static int parse_choice(const char *words, const char *text, unsigned int *value)
{
	const size_t len = strlen(text);
	unsigned int i = 0;

	for (const char *word = words; word; word = strchr(word, '|'), i++) {
		word += *word == '|';
		if (len == strcspn(word, "|") && !strncmp(word, text, len)) {
			*value = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* "a|b|c" as "a, b or c". */
static void write_choices(const char *words, char *out, size_t size)
{
	size_t used = 0, len;

	out[0] = '\0';
	for (const char *word = words; *word && used < size; word += len + !!word[len]) {
		len = strcspn(word, "|");
		used += (size_t)snprintf(out + used, size - used, "%s%.*s",
					 word == words	     ? ""
					 : strchr(word, '|') ? ", "
							     : " or ",
					 (int)len, word);
	}
}

/* The number in a text, which a row's type has. Returns 0, -EINVAL or -ERANGE. */
static int parse_number(const struct xvt_opt *o, const char *text, uint64_t *value)
{
	const char *end;
	int err;

	if (o->type == XVT_OPT_SIZE)
		return parse_size(text, value);
	if (o->type == XVT_OPT_TIME)
		return xvt_parse_span(text, value);
	err = xvt_parse_u64(text, &end, value);
	if (!err && (*end || (o->type == XVT_OPT_COUNT && !*value)))
		err = -EINVAL;
	return err;
}

static const char *number_wanted(const struct xvt_opt *o)
{
	switch (o->type) {
	case XVT_OPT_SIZE:
		return "a size such as 4096, 64K, 16M or 1G";
	case XVT_OPT_TIME:
		return "seconds such as 2 or 0.5, or a time such as 5ms, 250us or 1.5s";
	case XVT_OPT_ENDS:
		return "a number such as 20, or -20 for the last 20";
	case XVT_OPT_COUNT:
		return "a number from 1 on";
	default:
		return "a number";
	}
}

/* The value of a row that is no list. Returns 0, -EINVAL or -ERANGE. */
static int convert(const struct xvt_opt *o, const char *value, void *out)
{
	void *field = (char *)out + o->offset;

	switch (o->type) {
	case XVT_OPT_BOOL:
		*(bool *)field = !value || strcmp(value, "yes") == 0;
		return 0;
	case XVT_OPT_STRING:
		*(const char **)field = value;
		return 0;
	case XVT_OPT_CHOICE:
		return parse_choice(o->metavar, value, field);
	case XVT_OPT_ENDS:
		return parse_ends(value, field);
	default:
		return parse_number(o, value, field);
	}
}

/* least, most. Returns 0 or an error that is printed. */
static int check_limits(const struct parse *p, const struct xvt_opt *o, const char *value)
{
	const uint64_t n = o->least || o->most ? *(uint64_t *)((char *)p->out + o->offset) : 0;
	const bool small = n && n < o->least;
	char limit[32];

	if (!small && (!o->most || n <= o->most))
		return 0;
	write_number(o, small ? o->least : o->most, limit, sizeof(limit));
	return usage_error(p, "%s%s %s: it is at %s %s", dashes(p), o->name, value,
			   small ? "least" : "most", limit);
}

static int set_value(struct parse *p, const struct xvt_opt *o, const char *value)
{
	char words[256];
	int err;

	if (!first_time(p, o))
		return usage_error(p, "%s%s: given twice", dashes(p), o->name);
	if (is_list(o))
		return o->type == XVT_OPT_LIST ? add_word(p, o, value) : add_words(p, o, value);
	err = convert(o, value, p->out);
	if (err == -ERANGE)
		return usage_error(p, "%s%s %s: too large", dashes(p), o->name, value);
	if (err && o->type == XVT_OPT_CHOICE) {
		write_choices(o->metavar, words, sizeof(words));
		return usage_error(p, "%s%s %s: it is %s", dashes(p), o->name, value, words);
	}
	if (err)
		return usage_error(p, "%s%s %s: not %s", dashes(p), o->name, value,
				   number_wanted(o));
	err = check_limits(p, o, value);
	return err ? err : note_place(p, o);
}

const char *xvt_opt_named(const struct xvt_opt_list *list, size_t n, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!strncmp(list->v[i], name, len) && list->v[i][len] == '=')
			return list->v[i];
	}
	return NULL;
}

void xvt_opt_set_defaults(const struct xvt_opt *opts, void *out, bool file)
{
	for (const struct xvt_opt *o = opts; o->name; o++) {
		const char *value = file && o->in_file ? o->in_file : o->usual;

		if (value)
			convert(o, value, out);
	}
}

/* Options by the names of trace-cmd, perf, LTTng, babeltrace2, grep and journalctl. */
static const struct {
	const char *theirs;
	const char *ours; /* an option or argument that the command must have; or a command */
} foreign[] = {
	{ "-F", "--filter" },
	{ "--grep", "--filter" },
	{ "--time", "--from and --to" },
	{ "--since", "--from" },
	{ "--until", "--to" },
	{ "-C", "--cpu" },
	{ "--cpus", "--cpu" },
	{ "--vcpu", "--cpu" },
	{ "--tid", "--pid" },
	{ "--tids", "--pid" },
	{ "-p", "--pid" },
	{ "-P", "--pid" },
	{ "--comms", "--comm" },
	{ "--task", "--comm" },
	{ "--comm", "--task" },
	{ "--guest", "--vm" },
	{ "--machine", "--vm" },
	{ "-v", "-e '!GLOB'" },
	{ "--tail", "-n -N" },
	{ "--head", "-n" },
	{ "--reltime", "--relative" },
	{ "--deltatime", "--delta" },
	{ "--clock-date", "--wall" },
	{ "--date", "--wall" },
	{ "--no-color", "--color never" },
	{ "--output-format", "--format" },
	{ "-f", "--format" },
	{ "-A", "-r or -d" },
	{ "--count", "xvtrace summary" },
	{ "--stat", "xvtrace summary" },
	{ "--last", "--from -D" },
	{ "--last", "xvtrace trim" },
	{ "--from", "xvtrace trim" },
	{ "--to", "xvtrace trim" },
	{ "--around", "xvtrace trim" },
	{ "--vm", "xvtrace trim" },
	{ "-i", "FILE" },
	{ "--input", "FILE" },
	{ "-o", "OUT" },
	{ "--output", "OUT" },
};

/* Whether the command has the option or the argument that a row of the table begins with; or reads
 * a trace, which another command reads in that way. */
static bool has_ours(const struct xvt_command *cmd, const char *ours)
{
	size_t len;

	if (*ours == 'x')
		return strstr(cmd->args, "[FILE.xvt");
	if (*ours != '-')
		return strstr(cmd->args, ours);
	return option_at(cmd->opts, ours, &len);
}

static int no_such_option(const struct parse *p, const char *name)
{
	const struct xvt_command *cmd = p->cmd;

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		const char *ours = foreign[i].ours;

		if (strcmp(foreign[i].theirs, name) != 0 || !has_ours(cmd, ours))
			continue;
		if (*ours == '-')
			return usage_error(p, "%s: no such option; xvtrace calls it %s", name,
					   ours);
		if (*ours == 'x')
			return usage_error(p, "%s: no such option; see '%s'", name, ours);
		return usage_error(p, "%s: no such option; it is an argument: xvtrace %s %s", name,
				   cmd->name, cmd->args);
	}
	return usage_error(p, "%s: no such option", name);
}

/* --NAME, --NAME=VALUE, --NAME VALUE. Returns words used up beyond the first, or less than 0. */
static int parse_long(struct parse *p, int argc, char **argv, int at)
{
	const struct xvt_command *cmd = p->cmd;
	const char *name = argv[at] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct xvt_opt *o = find_long(cmd->opts, name, len);
	char whole[128];
	int used;

	if (!o) {
		snprintf(whole, sizeof(whole), "--%.*s", (int)len, name);
		return no_such_option(p, whole);
	}
	if (o->type == XVT_OPT_BOOL) {
		if (equals)
			return usage_error(p, "--%s: takes no value", o->name);
		return set_value(p, o, NULL);
	}
	if (equals)
		return set_value(p, o, equals + 1);
	if (at + 1 >= argc)
		return usage_error(p, "--%s: needs %s", o->name,
				   o->metavar ? o->metavar : "a value");
	used = set_value(p, o, argv[at + 1]);
	return used ? used : 1;
}

/* -x, -xVALUE, -x VALUE, -xyz. Returns words used up beyond the first, or less than 0. */
static int parse_letters(struct parse *p, int argc, char **argv, int at)
{
	const struct xvt_command *cmd = p->cmd;
	int used;

	for (const char *c = argv[at] + 1; *c; c++) {
		const struct xvt_opt *o = find_letter(cmd->opts, *c);

		if (!o)
			return no_such_option(p, (const char[]){ '-', *c, '\0' });
		if (o->type == XVT_OPT_BOOL) {
			set_value(p, o, NULL);
			continue;
		}
		if (c[1])
			return set_value(p, o, c + 1);
		if (at + 1 >= argc)
			return usage_error(p, "-%c: needs %s", *c,
					   o->metavar ? o->metavar : "a value");
		used = set_value(p, o, argv[at + 1]);
		return used ? used : 1;
	}
	return 0;
}

/* Options that each command has beside its own. */
static bool show_about(const struct xvt_command *cmd, const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		xvt_opt_help(cmd);
	else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		xvt_version_print();
	else
		return false;
	return true;
}

int xvt_opt_parse(const struct xvt_command *cmd, int argc, char **argv, void *out, int *rest)
{
	/* Arguments in order of appearance; written back to the end of argv. */
	char **args = calloc((size_t)argc + 1, sizeof(*args));
	struct parse p = { .cmd = cmd, .out = out };
	int nargs = 0, dashes = argc, used, i;

	if (!args)
		return no_memory(&p);
	xvt_opt_set_defaults(cmd->opts, out, false);
	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			dashes = i + 1;
			break;
		}
		if (show_about(cmd, argv[i])) {
			free(args);
			return XVT_OPT_SHOWN;
		}
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			args[nargs++] = argv[i];
			continue;
		}
		used = argv[i][1] == '-' ? parse_long(&p, argc, argv, i)
					 : parse_letters(&p, argc, argv, i);
		if (used < 0) {
			free(args);
			return used;
		}
		i += used;
	}
	/* The words behind "--" stay where they are, at the very end. */
	for (i = 0; i < nargs; i++)
		argv[dashes - nargs + i] = args[i];
	free(args);
	if (rest)
		*rest = dashes;
	return dashes - nargs;
}

/* --- the same options in a file --- */

#define FILE_BYTES_MAX (1u << 20)

/* What is wrong with whose file it is; NULL: nothing. */
static const char *untrusted(FILE *f)
{
	struct stat st;

	if (fstat(fileno(f), &st))
		return strerror(errno);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) /* /dev/null */
		return NULL;
	if (!S_ISREG(st.st_mode))
		return "it is no regular file";
	if (st.st_uid && st.st_uid != xvt_user())
		return "another user than root and this one owns it";
	if (st.st_mode & S_IWOTH ||
	    (st.st_mode & S_IWGRP && st.st_gid && st.st_gid != xvt_user_group()))
		return "other users may write it; chmod go-w";
	return NULL;
}

/* Control characters would do something in a terminal or a log that shows a value. */
static bool has_controls(const char *text)
{
	for (; *text; text++) {
		if (((unsigned char)*text < ' ' && !strchr("\t\r\n", *text)) || *text == 0x7f)
			return true;
	}
	return false;
}

/* Opens a file that a link may stand in for no more than a FIFO: both could be put there while a
 * recorder runs, which then reads it again by rights of its own. */
static FILE *open_text(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

/* Read a text file into *out, for free(). Returns 0; or XVT_OPT_WRONG or XVT_OPT_NO_MEMORY after an
 * error message. */
static int file_text(const char *path, char **out)
{
	FILE *f = open_text(path);
	char *text = calloc(1, FILE_BYTES_MAX + 1);
	const char *why = f ? untrusted(f) : errno == ELOOP ? "it is a link" : strerror(errno);
	size_t len = !why && text ? fread(text, 1, FILE_BYTES_MAX + 1, f) : 0;
	int err;

	if (why)
		;
	else if (!text)
		why = strerror(ENOMEM);
	else if (ferror(f))
		why = strerror(errno);
	else if (len > FILE_BYTES_MAX)
		why = "it has more than 1 MiB";
	else if (strlen(text) < len)
		why = "it has a zero byte, so it is no text";
	else if (has_controls(text))
		why = "it has control characters, so it is no text";
	if (f)
		fclose(f);
	*out = why ? NULL : text;
	if (!why)
		return 0;
	xvt_error(path, "cannot read it: %s", why);
	err = text ? XVT_OPT_WRONG : XVT_OPT_NO_MEMORY;
	free(text);
	return err;
}

/* Cut off blanks at both ends, and return what is left. */
static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

static int no_such_key(const struct parse *p, const char *name)
{
	const struct xvt_opt *near = NULL;
	unsigned int best = UINT_MAX;

	for (const struct xvt_opt *o = p->cmd->opts; o->name; o++) {
		const unsigned int apart = xvt_letters_apart(name, o->name);

		if (apart < best && xvt_letters_near(name, o->name)) {
			best = apart;
			near = o;
		}
	}
	return usage_error(p, "%s: no such key%s%s%s", name, near ? "; is it '" : "",
			   near ? near->name : "", near ? "'?" : "");
}

/* A value that is a word of two. */
static int set_bool(struct parse *p, const struct xvt_opt *o, const char *value)
{
	if (strcmp(value, "yes") && strcmp(value, "no"))
		return usage_error(p, "%s %s: not yes or no", o->name, value);
	return set_value(p, o, value);
}

/* "NAME = VALUE", or nothing; what begins with # is a comment. */
static int parse_line(struct parse *p, char *line)
{
	char *name = trim(line), *equals = strchr(name, '='), *value;
	const struct xvt_opt *o;

	if (!*name || *name == '#')
		return 0;
	if (!equals)
		return usage_error(p, "'%s' is not KEY = VALUE", name);
	*equals = '\0';
	name = trim(name);
	value = trim(equals + 1);
	o = find_long(p->cmd->opts, name, strlen(name));
	if (!o)
		return no_such_key(p, name);
	if (!*value)
		return 0;
	return o->type == XVT_OPT_BOOL ? set_bool(p, o, value) : set_value(p, o, value);
}

int xvt_opt_read_text(const struct xvt_opt *opts, const char *path, char *text, void *out,
		      struct xvt_opt_file *file)
{
	const struct xvt_command table = { .opts = opts };
	struct parse p = { .cmd = &table, .file = file, .out = out };
	char *line, *next;
	int err = 0, one;

	*file = (struct xvt_opt_file){ .path = path, .opts = opts };
	xvt_opt_set_defaults(opts, out, true);
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		p.line++;
		one = parse_line(&p, line);
		if (one == XVT_OPT_NO_MEMORY)
			return one;
		err = one ? one : err;
	}
	return err;
}

int xvt_opt_read(const struct xvt_opt *opts, const char *path, void *out, struct xvt_opt_file *file)
{
	char *text;
	int err = file_text(path, &text);

	*file = (struct xvt_opt_file){ .path = path };
	if (!err)
		err = xvt_opt_read_text(opts, path, text, out, file);
	file->text = text;
	return err;
}

void xvt_opt_file_free(struct xvt_opt_file *file)
{
	free(file->text);
	free(file->places);
	*file = (struct xvt_opt_file){ .path = NULL };
}

/* Word number `n` of a row's choices. */
static const char *choice(const struct xvt_opt *o, unsigned int n, char *text, size_t size)
{
	const char *word = o->metavar;

	while (n-- && strchr(word, '|'))
		word = strchr(word, '|') + 1;
	snprintf(text, size, "%.*s", (int)strcspn(word, "|"), word);
	return text;
}

static void print_value(const struct xvt_opt *o, const void *field)
{
	const char *text = "";
	char number[32];

	if (o->type == XVT_OPT_BOOL)
		text = *(const bool *)field ? "yes" : "no";
	else if (o->type == XVT_OPT_STRING)
		text = *(const char *const *)field;
	else if (o->type == XVT_OPT_CHOICE)
		text = choice(o, *(const unsigned int *)field, number, sizeof(number));
	else
		text = write_number(o, *(const uint64_t *)field, number, sizeof(number));
	printf("%s = %s\n", o->name, text ? text : "");
}

/* The meaning of a key, without the default of the option, which a file's may differ from. */
static void print_help(const struct xvt_opt *opts, const struct xvt_opt *o)
{
	static const char mark[] = " (default ";
	const char *at = is_list(o) ? NULL : strstr(o->help, mark);
	const char *end = at ? strchr(at, ')') : NULL;
	char text[1024], keys[1024];

	if (end)
		snprintf(text, sizeof(text), "%.*s%s", (int)(at - o->help), o->help, end + 1);
	else
		snprintf(text, sizeof(text), "%s", o->help);
	write_keys(opts, text, keys, sizeof(keys));
	printf("# %s: %s\n", o->metavar ? o->metavar : "yes|no", keys);
}

void xvt_opt_print(const struct xvt_opt *opts, const void *values)
{
	for (const struct xvt_opt *o = opts; o->name; o++) {
		const void *field = (const char *)values + o->offset;
		const struct xvt_opt_list *list = field;

		if (o->group)
			printf("%s## %s\n", o == opts ? "" : "\n", o->group);
		print_help(opts, o);
		if (!is_list(o)) {
			print_value(o, field);
			continue;
		}
		for (size_t i = 0; i < list->n; i++)
			printf("%s = %s\n", o->name, list->v[i]);
		if (!list->n)
			printf("%s = \n", o->name);
	}
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool xvt_opt_same(const struct xvt_opt *o, const void *a, const void *b)
{
	const void *x = (const char *)a + o->offset, *y = (const char *)b + o->offset;
	const struct xvt_opt_list *list = x, *other = y;
	size_t i;

	if (o->type == XVT_OPT_BOOL)
		return *(const bool *)x == *(const bool *)y;
	if (o->type == XVT_OPT_STRING)
		return same_text(*(const char *const *)x, *(const char *const *)y);
	if (o->type == XVT_OPT_CHOICE)
		return *(const unsigned int *)x == *(const unsigned int *)y;
	if (!is_list(o))
		return *(const uint64_t *)x == *(const uint64_t *)y;
	for (i = 0; i < list->n && i < other->n; i++) {
		if (!same_text(list->v[i], other->v[i]))
			return false;
	}
	return list->n == other->n;
}

bool xvt_opt_is_set(const struct xvt_opt *o, const void *values)
{
	const void *field = (const char *)values + o->offset;

	if (is_list(o))
		return ((const struct xvt_opt_list *)field)->n;
	if (o->type == XVT_OPT_STRING)
		return *(const char *const *)field;
	if (o->type == XVT_OPT_BOOL)
		return *(const bool *)field;
	return o->type == XVT_OPT_CHOICE ? *(const unsigned int *)field : *(const uint64_t *)field;
}

void xvt_opt_take_live(const struct xvt_opt *opts, void *to, const void *from)
{
	for (const struct xvt_opt *o = opts; o->name; o++) {
		const size_t size = o->type == XVT_OPT_BOOL	? sizeof(bool)
				    : o->type == XVT_OPT_CHOICE ? sizeof(unsigned int)
								: sizeof(uint64_t);

		if (o->flags & XVT_OPT_LIVE && !is_list(o) && o->type != XVT_OPT_STRING)
			memcpy((char *)to + o->offset, (const char *)from + o->offset, size);
	}
}
