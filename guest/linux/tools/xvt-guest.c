// SPDX-License-Identifier: GPL-2.0
/*
 * xvt-guest.c - what the module cannot know by itself: copies event formats, names of tasks,
 * kernel symbols and printk formats into the region's metadata area, through /dev/xvtrace.
 * The module drops what is there already, so everything may be sent again.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "../relay/relay.h"
#include "marker.h"
#include "xvt_abi.h"

#define DEVICE	    "/dev/xvtrace"
#define SYSFS	    "/sys/class/misc/xvtrace"
#define PARAMETERS  "/sys/module/xvtrace/parameters"
#define KSYMS_CHUNK (64u << 10)
/* Events of the configuration are on in an instance of ftrace's of their own: those that a user
 * switches on or off elsewhere are left alone. */
#define CONFIG	    "/etc/xvtrace/guest.conf"
#define INSTANCE    "instances/xvtrace"
#define BUFFER_KB   "16" /* of its buffer, for each CPU, which no program reads */

static const char *tracefs;
static int device = -1;
static unsigned long sent;
static bool full;

static int complain(const char *what, int err)
{
	fprintf(stderr, "xvt-guest: %s: %s\n", what, strerror(-err));
	return err;
}

/* A whole file, whatever its stated size. Returns its length or -errno; *text ends with 0. */
static ssize_t read_file(const char *path, char **text)
{
	size_t size = 64 << 10, len = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	*text = NULL;
	if (fd < 0)
		return -errno;
	do {
		char *more = realloc(*text, size + 1);

		if (!more) {
			n = -1;
			errno = ENOMEM;
			break;
		}
		*text = more;
		n = read(fd, *text + len, size - len);
		if (n > 0)
			len += n;
		if (len == size)
			size *= 2;
	} while (n > 0);
	if (n < 0) {
		n = -errno;
		free(*text);
		*text = NULL;
		close(fd);
		return n;
	}
	close(fd);
	(*text)[len] = 0;
	return len;
}

/* "NAME VALUE" lines of a sysfs file; 0 when it is not there. */
static unsigned long long sysfs_value(const char *file, const char *name)
{
	unsigned long long v = 0;
	char path[128], *text, *at;

	snprintf(path, sizeof(path), SYSFS "/%s", file);
	if (read_file(path, &text) < 0)
		return 0;
	for (at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		size_t len = strlen(name);

		if (!strncmp(at, name, len) && at[len] == ' ')
			v = strtoull(at + len, NULL, 10);
	}
	free(text);
	return v;
}

/* A TLV; the parts are joined. Says once that the area is full. 0 or -errno. */
static int send_tlv(uint32_t type, uint32_t id, const void *head, size_t head_len, const void *body,
		    size_t body_len)
{
	uint32_t tlv[2] = { type, id };
	struct iovec iov[3] = {
		{ tlv, sizeof(tlv) },
		{ (void *)head, head_len },
		{ (void *)body, body_len },
	};
	/* A single write(): the device takes one TLV a call, and writev() would be three calls. */
	size_t len = sizeof(tlv) + head_len + body_len;
	char *buf = malloc(len), *at = buf;
	int err = 0;

	if (!buf)
		return -ENOMEM;
	for (int i = 0; i < 3; i++) {
		if (iov[i].iov_len)
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	if (write(device, buf, len) < 0)
		err = -errno;
	free(buf);
	if (!err)
		sent++;
	if ((err == -ENOSPC || err == -EMSGSIZE) && !full) {
		full = true;
		fprintf(stderr,
			"xvt-guest: the metadata area is full (%llu of %llu bytes used); load the "
			"module with a larger meta_size= on a new region\n",
			sysfs_value("meta", "used"), sysfs_value("meta", "size"));
	}
	return err;
}

static int send_format(const char *system, const char *event)
{
	char path[1024], head[256], *text, *id;
	size_t head_len = strlen(system) + strlen(event) + 2;
	ssize_t len;
	int err;

	if (head_len > sizeof(head))
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, system, event);
	len = read_file(path, &text);
	if (len < 0)
		return len;
	snprintf(head, sizeof(head), "%s", system);
	snprintf(head + strlen(system) + 1, sizeof(head) - strlen(system) - 1, "%s", event);
	id = strstr(text, "\nID: ");
	err = send_tlv(XVT_META_FORMAT, id ? strtoul(id + 5, NULL, 10) : 0, head, head_len, text,
		       len);
	free(text);
	return err;
}

static int send_whole(uint32_t type, const char *file)
{
	char path[256], *text;
	ssize_t len;
	int err;

	snprintf(path, sizeof(path), "%s/%s", tracefs, file);
	len = read_file(path, &text);
	if (len < 0)
		return complain(path, len);
	err = len ? send_tlv(type, 0, NULL, 0, text, len) : 0;
	free(text);
	return err;
}

/* Does the event's "enable" file say that it is on, for whatever instance? */
static bool enabled(const char *dir, const char *system, const char *event)
{
	char path[2048], *text;
	bool on;

	snprintf(path, sizeof(path), "%s/events/%s/%s/enable", dir, system, event);
	if (read_file(path, &text) < 0)
		return false;
	on = text[0] == '1';
	free(text);
	return on;
}

static bool enabled_anywhere(const char *system, const char *event)
{
	char path[1024];
	struct dirent *e;
	bool on = enabled(tracefs, system, event);
	DIR *dir;

	snprintf(path, sizeof(path), "%s/instances", tracefs);
	dir = on ? NULL : opendir(path);
	while (dir && !on && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", tracefs, e->d_name);
		on = enabled(path, system, event);
	}
	if (dir)
		closedir(dir);
	return on;
}

static int is_directory_entry(const struct dirent *e)
{
	return e->d_type == DT_DIR && e->d_name[0] != '.';
}

/*
 * Formats of the events that match "SYSTEM[:EVENT]" (globs); NULL: of those that are on.
 * Returns how many, or the first -errno.
 */
static long send_formats(const char *pattern)
{
	struct dirent **systems, **events;
	char path[1024], pat[256] = "*";
	const char *event_pat = "*";
	long count = 0;
	int err = 0, ns, ne;

	if (pattern) {
		char *colon;

		snprintf(pat, sizeof(pat), "%s", pattern);
		colon = strchr(pat, ':');
		if (colon) {
			*colon = 0;
			event_pat = colon + 1;
		}
	}
	snprintf(path, sizeof(path), "%s/events", tracefs);
	ns = scandir(path, &systems, is_directory_entry, alphasort);
	if (ns < 0)
		return complain(path, -errno);
	for (int s = 0; s < ns; s++) {
		const char *system = systems[s]->d_name;

		if (!fnmatch(pat, system, 0) && !err) {
			snprintf(path, sizeof(path), "%s/events/%s", tracefs, system);
			ne = scandir(path, &events, is_directory_entry, alphasort);
			for (int i = 0; i < ne; i++) {
				const char *event = events[i]->d_name;

				if (!err && !fnmatch(event_pat, event, 0) &&
				    (pattern || enabled_anywhere(system, event))) {
					err = send_format(system, event);
					count++;
				}
				free(events[i]);
			}
			if (ne >= 0)
				free(events);
		}
		free(systems[s]);
	}
	free(systems);
	return err ? err : count;
}

/* Entries that ftrace itself writes; without their formats none of them can be read. */
static int send_own_formats(void)
{
	static const char *const own[] = { "print",    "function", "bprint",
					   "raw_data", "bputs",	   "kernel_stack" };
	int err = send_whole(XVT_META_HEADER_PAGE, "events/header_page");

	for (unsigned int i = 0; i < sizeof(own) / sizeof(own[0]) && !err; i++) {
		err = send_format("ftrace", own[i]);
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

static int cmd_formats(int argc, char **argv)
{
	int err = send_own_formats();
	long n;

	if (!argc && !err) {
		n = send_formats(NULL);
		err = n < 0 ? n : 0;
	}
	for (int i = 0; i < argc && !err; i++) {
		n = send_formats(strcmp(argv[i], "--all") ? argv[i] : "*");
		err = n < 0 ? n : n ? 0 : -ENOENT;
		if (err)
			complain(argv[i], err);
	}
	return err;
}

static int send_comm(const char *pid, const char *task)
{
	char path[1024], *text;
	ssize_t len;
	int err;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/comm", pid, task);
	len = read_file(path, &text);
	/* The process may have ended meanwhile. */
	if (len < 0)
		return 0;
	if (len && text[len - 1] == '\n')
		len--;
	err = len ? send_tlv(XVT_META_COMM, strtoul(task, NULL, 10), NULL, 0, text, len) : 0;
	free(text);
	return err;
}

static int cmd_comms(int argc, char **argv)
{
	DIR *proc = opendir("/proc"), *tasks;
	struct dirent *p, *t;
	char path[1024];
	int err = 0;

	(void)argc;
	(void)argv;
	if (!proc)
		return complain("/proc", -errno);
	while (!err && (p = readdir(proc))) {
		if (!isdigit((unsigned char)p->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", p->d_name);
		tasks = opendir(path);
		while (tasks && !err && (t = readdir(tasks))) {
			if (isdigit((unsigned char)t->d_name[0]))
				err = send_comm(p->d_name, t->d_name);
		}
		if (tasks)
			closedir(tasks);
	}
	closedir(proc);
	return err;
}

/* Keeps lines of text symbols (t T w W), in place; returns the new length. */
static size_t keep_functions(char *text)
{
	char *from = text, *to = text;

	while (*from) {
		char *end = strchrnul(from, '\n');
		size_t len = end - from + (*end == '\n');
		char *type = memchr(from, ' ', len);

		if (type && type + 1 < end && strchr("tTwW", type[1])) {
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	*to = 0;
	return to - text;
}

static int cmd_ksyms(int argc, char **argv)
{
	unsigned long long room;
	char *text;
	ssize_t len = read_file("/proc/kallsyms", &text);
	size_t at = 0;
	int err = 0;

	(void)argc;
	(void)argv;
	if (len < 0)
		return complain("/proc/kallsyms", len);
	if (!strncmp(text, "0000000000000000", 16) && strstr(text, " T ") &&
	    !strncmp(strstr(text, " T ") - 16, "0000000000000000", 16)) {
		fprintf(stderr, "xvt-guest: /proc/kallsyms: shows no addresses; run as root, see "
				"kernel.kptr_restrict\n");
		free(text);
		return -EPERM;
	}
	len = keep_functions(text);
	room = sysfs_value("meta", "size") - sysfs_value("meta", "used");
	/* All or nothing: half a table would name wrong functions. */
	if ((unsigned long long)len + 64 * (len / KSYMS_CHUNK + 1) > room) {
		fprintf(stderr,
			"xvt-guest: ksyms: %zd bytes do not fit, the metadata area has %llu left; "
			"load the module with a larger meta_size= on a new region\n",
			len, room);
		free(text);
		full = true;
		return -ENOSPC;
	}
	while (at < (size_t)len && !err) {
		size_t n = len - at;

		if (n > KSYMS_CHUNK) {
			char *last = memrchr(text + at, '\n', KSYMS_CHUNK);

			n = last ? (size_t)(last - (text + at)) + 1 : KSYMS_CHUNK;
		}
		err = send_tlv(XVT_META_KSYMS, 0, NULL, 0, text + at, n);
		at += n;
	}
	free(text);
	return err;
}

static int cmd_printk_formats(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return send_whole(XVT_META_PRINTK_FORMATS, "printk_formats");
}

static int cmd_sync(int argc, char **argv)
{
	int err = cmd_formats(0, NULL);

	if (!err)
		err = cmd_comms(argc, argv);
	if (!err)
		err = cmd_printk_formats(argc, argv);
	return err;
}

struct wish {
	char system[128];
	char event[128];
	unsigned int line;
	bool met; /* there are events like it */
};

struct config {
	struct wish *wishes;
	size_t count;
	const char *host_control; /* for the module's parameter; NULL: the file says nothing */
	bool bad;
};

static int config_complain(unsigned int line, const char *what, const char *text)
{
	fprintf(stderr, "xvt-guest: " CONFIG ":%u: %s '%s'\n", line, what, text);
	return -EINVAL;
}

/* "host_events=yes"; anything else is no, also beside a line that says yes. */
static int config_host_events(struct config *c, const char *value, unsigned int line)
{
	const bool yes = !strcmp(value, "yes");

	if (!yes || !c->host_control)
		c->host_control = yes ? "1" : "0";
	if (!yes && strcmp(value, "no"))
		return config_complain(line, "host_events is yes or no, not", value);
	return 0;
}

/* "event SYSTEM[:EVENT]", globs; EVENT is * where it is left out. */
static int config_event_line(struct config *c, char *value, unsigned int line)
{
	struct wish *w;
	char *colon;

	w = realloc(c->wishes, (c->count + 1) * sizeof(*w));
	if (!w)
		return -ENOMEM;
	c->wishes = w;
	w += c->count++;
	colon = strchr(value, ':');
	if (colon)
		*colon++ = 0;
	snprintf(w->system, sizeof(w->system), "%s", value);
	snprintf(w->event, sizeof(w->event), "%s", colon && *colon ? colon : "*");
	w->line = line;
	w->met = false;
	return 0;
}

static int config_line(struct config *c, char *text, unsigned int line)
{
	char *rest = text, *key, *value;
	bool one;

	rest[strcspn(rest, "#")] = 0;
	key = strtok_r(rest, " \t=", &rest);
	if (!key)
		return 0;
	value = strtok_r(NULL, " \t=", &rest);
	one = value && !strtok_r(NULL, " \t", &rest);
	if (!strcmp(key, "host_events"))
		return config_host_events(c, one ? value : "", line);
	if (strcmp(key, "event"))
		return config_complain(line,
				       "no such key; it has lines 'event SYSTEM:EVENT' and "
				       "'host_events=yes', not",
				       key);
	if (!one)
		return config_complain(line, "one SYSTEM:EVENT on a line, not", value ? value : "");
	return config_event_line(c, value, line);
}

/* No file is an empty one. An error in a line is told, and the other lines hold. */
static int config_read(struct config *c)
{
	unsigned int number = 0;
	char *text, *line, *rest;
	ssize_t len = read_file(CONFIG, &text);

	if (len == -ENOENT)
		return 0;
	if (len < 0)
		return complain(CONFIG, len);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (config_line(c, line, ++number))
			c->bad = true;
	}
	free(text);
	return 0;
}

static int write_word(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, word, strlen(word)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Makes one event of our instance what the configuration says. */
static void config_event(struct config *c, const char *dir, const char *system, const char *event)
{
	char path[2048];
	bool wanted = false;
	int err;

	for (size_t i = 0; i < c->count; i++) {
		struct wish *w = &c->wishes[i];

		if (!fnmatch(w->system, system, 0) && !fnmatch(w->event, event, 0))
			wanted = w->met = true;
	}
	snprintf(path, sizeof(path), "%s/events/%s/%s/enable", dir, system, event);
	/* ftrace's own have no such file. */
	if (access(path, F_OK) || enabled(dir, system, event) == wanted)
		return;
	err = write_word(path, wanted ? "1" : "0");
	if (err) {
		complain(path, err);
		c->bad = true;
	}
}

/* Calls config_event() for each event that there is. 0 or -errno. */
static int config_events(struct config *c, const char *dir)
{
	struct dirent **systems, **events;
	char path[1024];
	int ns, ne;

	snprintf(path, sizeof(path), "%s/events", dir);
	ns = scandir(path, &systems, is_directory_entry, alphasort);
	if (ns < 0)
		return complain(path, -errno);
	for (int s = 0; s < ns; s++) {
		snprintf(path, sizeof(path), "%s/events/%s", dir, systems[s]->d_name);
		ne = scandir(path, &events, is_directory_entry, alphasort);
		for (int i = 0; i < ne; i++) {
			config_event(c, dir, systems[s]->d_name, events[i]->d_name);
			free(events[i]);
		}
		if (ne >= 0)
			free(events);
		free(systems[s]);
	}
	free(systems);
	return 0;
}

/* Our instance of ftrace, made if it is not there. */
static int make_instance(char *dir, size_t size)
{
	char path[1024];

	snprintf(dir, size, "%s/" INSTANCE, tracefs);
	if (!access(dir, F_OK))
		return 0;
	if (mkdir(dir, 0700))
		return complain(dir, -errno);
	snprintf(path, sizeof(path), "%s/buffer_size_kb", dir);
	return write_word(path, BUFFER_KB);
}

/*
 * Tell the module, and by it the host, whether the host may choose events. A file that says nothing
 * leaves that to the parameter with which the module was loaded. Modules of before have no such
 * parameter to write.
 */
static int tell_module(const struct config *c)
{
	const char *path = PARAMETERS "/host_control";
	int err = write_word(path, c->host_control ? c->host_control : "load");

	return err && c->host_control ? complain(path, err) : 0;
}

/* The command that the unit runs when the device appears. */
static int cmd_start(int argc, char **argv)
{
	struct config c = { .wishes = NULL };
	char dir[512];
	int err = config_read(&c);

	(void)argc;
	(void)argv;
	if (!err)
		c.bad |= tell_module(&c) != 0;
	if (!err)
		err = make_instance(dir, sizeof(dir));
	if (!err)
		err = config_events(&c, dir);
	for (size_t i = 0; i < c.count && !err; i++) {
		const struct wish *w = &c.wishes[i];
		char name[sizeof(w->system) + sizeof(w->event)];

		snprintf(name, sizeof(name), "%s:%s", w->system, w->event);
		if (!w->met && config_complain(w->line, "no event is like", name))
			c.bad = true;
	}
	free(c.wishes);
	if (!err)
		err = cmd_comms(0, NULL);
	if (!err)
		err = cmd_printk_formats(0, NULL);
	/* The error is told already. */
	return err ? err : c.bad ? -ENOENT : 0;
}

/* Takes back what start switched on. */
static int cmd_stop(int argc, char **argv)
{
	char dir[512];

	(void)argc;
	(void)argv;
	tracefs = tracefs_dir();
	if (!tracefs)
		return 0;
	snprintf(dir, sizeof(dir), "%s/" INSTANCE, tracefs);
	if (rmdir(dir) && errno != ENOENT)
		return complain(dir, -errno);
	return 0;
}

static void print_files(const char *dir)
{
	struct dirent **files;
	int n = scandir(dir, &files, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[1024], *text;

		snprintf(path, sizeof(path), "%s/%s", dir, files[i]->d_name);
		/* Only ours: sysfs adds dev, uevent and the like. */
		if (files[i]->d_type == DT_REG && strcmp(files[i]->d_name, "uevent") &&
		    strcmp(files[i]->d_name, "dev") && read_file(path, &text) >= 0) {
			char *line, *rest = text;

			while ((line = strsep(&rest, "\n"))) {
				if (*line)
					printf("%s: %s\n", files[i]->d_name, line);
			}
			free(text);
		}
		free(files[i]);
	}
	if (n >= 0)
		free(files);
}

/* The module makes SYSFS and DEVICE once it has a device. */
static void say_no_region(void)
{
	const bool loaded = access(PARAMETERS, F_OK) == 0;

	fprintf(stderr, "xvt-guest: no region: %s\n",
		loaded ? "the module xvtrace found no device, or refused it: dmesg | grep xvtrace "
			 "says which; on the host `xvtrace attach` plugs one in"
		       : "the module xvtrace is not loaded: modprobe xvtrace");
}

static int cmd_status(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (access(SYSFS, F_OK)) {
		say_no_region();
		return -ENODEV;
	}
	print_files(SYSFS);
	print_files(PARAMETERS);
	return 0;
}

static int cmd_relay(int argc, char **argv)
{
	tracefs = tracefs_dir();
	if (!tracefs) {
		fputs("xvt-guest: tracefs: not mounted; mount -t tracefs tracefs "
		      "/sys/kernel/tracing\n",
		      stderr);
		exit(1);
	}
	exit(relay_main(tracefs, argc, argv));
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool needs_device;
	bool takes_args;
	const char *help;
} commands[] = {
	{ "formats", cmd_formats, true, true,
	  "formats [--all|SYS[:EVENT]...]  formats of these events; default: of those that are "
	  "on" },
	{ "comms", cmd_comms, true, false, "comms            names of all tasks" },
	{ "ksyms", cmd_ksyms, true, false,
	  "ksyms            addresses of all kernel functions (some MB)" },
	{ "printk-formats", cmd_printk_formats, true, false,
	  "printk-formats   formats of trace_printk" },
	{ "sync", cmd_sync, true, false, "sync             formats, comms and printk-formats" },
	{ "start", cmd_start, true, false,
	  "start            switch on the events of " CONFIG " (and no others of\n"
	  "                   an earlier start), and send comms and printk-formats" },
	{ "stop", cmd_stop, false, false, "stop             switch off what start switched on" },
	{ "relay", cmd_relay, false, true,
	  "relay " RELAY_OPTIONS "\n"
	  "                   without the module: what ftrace records, into a region" },
	{ "status", cmd_status, false, false, "status           what the module does" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(FILE *to)
{
	fputs("usage: xvt-guest COMMAND\ncopies what a trace's reader needs into the region's "
	      "metadata:\n",
	      to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %s\n", commands[i].help);
	return to == stdout ? 0 : 2;
}

/* No command takes an option -h that is another one. */
static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	size_t i;
	int err;

	open_standard();
	if (argc < 2)
		return usage(stderr);
	if (!strcmp(argv[1], "help") || asks_for_help(argc, argv))
		return usage(stdout);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") ||
	    !strcmp(argv[1], "version")) {
		puts("xvt-guest " XVT_VERSION);
		return 0;
	}
	for (i = 0; i < COMMANDS && strcmp(argv[1], commands[i].name); i++)
		;
	if (i == COMMANDS) {
		fprintf(stderr, "xvt-guest: there is no command '%s'\n", argv[1]);
		return usage(stderr);
	}
	if (argc > 2 && !commands[i].takes_args) {
		fprintf(stderr, "xvt-guest: %s takes no '%s'\n", argv[1], argv[2]);
		return usage(stderr);
	}
	if (commands[i].needs_device) {
		tracefs = tracefs_dir();
		if (!tracefs) {
			fputs("xvt-guest: tracefs: not mounted; mount -t tracefs tracefs "
			      "/sys/kernel/tracing\n",
			      stderr);
			return 1;
		}
		device = open(DEVICE, O_WRONLY | O_CLOEXEC);
		if (device < 0) {
			if (errno == ENOENT || errno == ENXIO)
				say_no_region();
			else
				fprintf(stderr, "xvt-guest: %s: %s\n", DEVICE, strerror(errno));
			return 1;
		}
	}
	err = commands[i].run(argc - 2, argv + 2);
	if (commands[i].needs_device)
		printf("sent=%lu%s\n", sent, err ? " (not all)" : "");
	if (err && !full && err != -ENOENT)
		fprintf(stderr, "xvt-guest: %s: %s\n", commands[i].name, strerror(-err));
	return err ? 1 : 0;
}
