/* SPDX-License-Identifier: GPL-2.0 */
/*
 * opt.h - typed option tables. A command declares its options as rows; the parser, --help, the
 * files of options, what a reload takes and the shell's completion read them.
 */
#ifndef XVT_OPT_H
#define XVT_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xvt_opt_type {
	XVT_OPT_BOOL,	/* bool */
	XVT_OPT_STRING, /* const char * */
	XVT_OPT_LIST,	/* struct xvt_opt_list: may be given again and again */
	XVT_OPT_WORDS,	/* the same, and commas outside of [] part the words of a value */
	XVT_OPT_U64,	/* uint64_t */
	XVT_OPT_COUNT,	/* uint64_t, not 0 */
	XVT_OPT_ENDS,	/* int64_t, not 0: the first N, or with a minus the last N */
	XVT_OPT_SIZE,	/* uint64_t, takes K, M, G */
	XVT_OPT_TIME,	/* uint64_t of nanoseconds from "1.5", which are seconds, or "5ms" */
	XVT_OPT_CHOICE, /* unsigned int: which word of the metavar, as 1 of "stop|overwrite" */
};

/* The option begins to work at once when a file of options is read again. */
#define XVT_OPT_LIVE	 1u

#define XVT_OPT_LIST_MAX 1024
#define XVT_OPT_MAX	 64 /* rows of a command's table */

struct xvt_opt_list {
	const char *v[XVT_OPT_LIST_MAX];
	size_t n;
};

struct xvt_opt {
	const char *name; /* long name without "--" */
	char letter;	  /* short, 0 = none */
	enum xvt_opt_type type;
	size_t offset; /* of the field in the command's option struct */
	const char *metavar;
	const char *help;
	/* The members below may be left out. */
	const char *usual;    /* the default, as a value is written; NULL: 0, or nothing */
	const char *in_file;  /* that of a file of options; NULL: the same */
	uint64_t least, most; /* of a number that is not 0; 0: no limit */
	const char *one_file; /* why a trace of one file cannot have it; NULL: it can */
	unsigned int flags;   /* XVT_OPT_LIVE */
	const char *group;    /* of the man page: of this row and those below; NULL: as before */
};

/* The help, and members that may be left out as .NAME = VALUE. */
#define XVT_OPT(struct_, field, name_, letter_, type_, metavar_, ...)                        \
	{                                                                                    \
		.name = name_, .letter = letter_, .type = type_,                             \
		.offset = offsetof(struct_, field), .metavar = metavar_, .help = __VA_ARGS__ \
	}
#define XVT_OPT_END          \
	{                    \
		.name = NULL \
	}

struct xvt_command {
	const char *name;
	const char *args;  /* "FILE", "-o FILE.xvt [-- CMD ARG...]" */
	const char *brief; /* of one line */
	const struct xvt_opt *opts;
	void (*more_help)(void); /* prints what --help shows after the options; NULL: nothing */
	/* Runs with argv[0] = the command's name. Returns the exit status: 0, 1 or 2. */
	int (*run)(const struct xvt_command *cmd, int argc, char **argv);
};

#define XVT_EXIT_OK    0
#define XVT_EXIT_FAIL  1
#define XVT_EXIT_USAGE 2

/*
 * Parses argv[1..] by the command's table into `out`: rows without a default leave it. Options and
 * arguments may mix; "--" ends the options. An option with one value (not a list) may be given
 * once; a second one is an error, because one of the two values would be ignored. Moves the
 * arguments to the end of argv, without the "--". *rest (if not NULL) is set to the index of the
 * first word after "--", or to argc.
 *
 * Returns the index of the first argument in argv; XVT_OPT_WRONG or XVT_OPT_NO_MEMORY after an
 * error message; or XVT_OPT_SHOWN after --help was printed.
 */
int xvt_opt_parse(const struct xvt_command *cmd, int argc, char **argv, void *out, int *rest);

#define XVT_OPT_WRONG	  (-1)
#define XVT_OPT_SHOWN	  (-2)
#define XVT_OPT_NO_MEMORY (-3)

/* The exit status of a command whose options were not taken: `parsed` is below 0. */
int xvt_opt_exit_status(int parsed);

void xvt_opt_help(const struct xvt_command *cmd);

/* Where a file of options has a value. */
struct xvt_opt_place {
	const struct xvt_opt *opt;
	unsigned int line;
};

/* The state that is kept of a file of options. */
struct xvt_opt_file {
	const char *path;
	char *text; /* values point into it; NULL: it is the caller's */
	const struct xvt_opt *opts;
	struct xvt_opt_place *places; /* in the order of the lines */
	size_t count, room;
};

/*
 * Reads the options of a table from a file of lines KEY = VALUE into `out`: rows without a default
 * leave it. KEY is the long name of an option; one that takes no value has yes or no; an empty
 * value leaves the default; a list has a line for each element. Lines that begin with # are
 * comments. `out` points into *file, which the caller frees after it, also after an error. Returns
 * 0; XVT_OPT_WRONG after an error message for each wrong line; or XVT_OPT_NO_MEMORY after one.
 */
int xvt_opt_read(const struct xvt_opt *opts, const char *path, void *out,
		 struct xvt_opt_file *file);

/* The same from a text, which is changed: `out` points into it, and *file does not free it. path:
 * for the messages. */
int xvt_opt_read_text(const struct xvt_opt *opts, const char *path, char *text, void *out,
		      struct xvt_opt_file *file);

/* A file of zeros has nothing. */
void xvt_opt_file_free(struct xvt_opt_file *file);

/* Prints all options with their help and values, as xvt_opt_read() reads them. The help is of a
 * file's keys. */
void xvt_opt_print(const struct xvt_opt *opts, const void *values);

/* The first of `n` elements of `list` that is "NAME=VALUE" with that name, of `len` characters;
 * NULL: none. */
const char *xvt_opt_named(const struct xvt_opt_list *list, size_t n, const char *name, size_t len);

/* Set the options that have a default: of a command line, or of a file. */
void xvt_opt_set_defaults(const struct xvt_opt *opts, void *out, bool file);

/* Returns whether two structs of options have the same value of `o`. */
bool xvt_opt_same(const struct xvt_opt *o, const void *a, const void *b);
/* Returns whether the option has another value than 0 or nothing. */
bool xvt_opt_is_set(const struct xvt_opt *o, const void *values);
/* Copy the numbers of the XVT_OPT_LIVE rows. Texts and lists stay: they lie in a file. */
void xvt_opt_take_live(const struct xvt_opt *opts, void *to, const void *from);

/* "12", "1.5", "0.000000001" to nanoseconds, exactly. Returns 0, -EINVAL or -ERANGE. */
int xvt_parse_seconds(const char *text, uint64_t *ns);

/* "10ns", "250us", "1.5ms", "2s", "5min", "1h", and "2" as seconds, to nanoseconds, rounded down.
 * Returns 0, -EINVAL or -ERANGE. */
int xvt_parse_span(const char *text, uint64_t *ns);

/* A value that an error is about. */
struct xvt_opt_value {
	const char *option; /* long name, without dashes */
	size_t i;	    /* which of a list */
	const char *text;   /* the value */
	const char *what;   /* begins the message of a command line; NULL: the text */
};

/*
 * Prints an error about an option, or about a value. In a file of options it names the file, the
 * line and the key, and options in it are written as keys, without dashes.
 */
void xvt_opt_error(const char *option, const char *why_format, ...)
	__attribute__((format(printf, 2, 3)));
void xvt_opt_error_of(const struct xvt_opt_value *value, const char *why_format, ...)
	__attribute__((format(printf, 2, 3)));

/* From here on errors about options are of this file. NULL: of the command line. */
void xvt_opt_errors_of(const struct xvt_opt_file *file);
/* Returns whether an error about an option would name a line. */
bool xvt_opt_has_line(const char *option);

#endif /* XVT_OPT_H */
