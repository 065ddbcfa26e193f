// SPDX-License-Identifier: GPL-2.0
/* cmd_region.c - `xvtrace region create|show|serve`: make, show or serve a region. */
#define _GNU_SOURCE
#include "base/json.h"
#include "base/log.h"
#include "base/number.h"
#include "base/region.h"
#include "cli/cmd.h"
#include "record/find.h"
#include "record/machines.h"
#include "trace/names.h"
#include "xvt_region.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct region_options {
	uint64_t size_bytes;
	uint64_t rings;
	uint64_t subbuf_bytes;
	uint64_t meta_bytes;
	bool overwrite;
	const char *owner;
	const char *group;
	bool json;
	const char *socket;
	uint64_t vectors;
};

/* Larger than any file, and than the sum of all that a region can hold. */
#define SIZE_MOST (1ull << 60)

#define O(field, name, letter, type, metavar, help) \
	XVT_OPT(struct region_options, field, name, letter, type, metavar, help)

static const struct xvt_opt options[] = {
	O(size_bytes, "size", 0, XVT_OPT_SIZE, "S", "create: bytes, a power of two; takes K, M, G"),
	O(rings, "rings", 0, XVT_OPT_U64, "N", "create: one for each vCPU or thread"),
	O(subbuf_bytes, "subbuf-size", 0, XVT_OPT_SIZE, "S",
	  "create: power of two (default chosen)"),
	O(meta_bytes, "meta-size", 0, XVT_OPT_SIZE, "S", "create: room for event formats"),
	O(overwrite, "overwrite", 0, XVT_OPT_BOOL, NULL,
	  "create: writers record at once, what is new over what is old (flight recorder)"),
	O(owner, "owner", 0, XVT_OPT_STRING, "USER[:GROUP]",
	  "create: whose file it is, such as libvirt-qemu for libvirt's guests"),
	O(group, "group", 0, XVT_OPT_STRING, "GROUP",
	  "create: whose users may read and write it, such as kvm"),
	O(json, "json", 0, XVT_OPT_BOOL, NULL, "show: as JSON"),
	O(socket, "socket", 0, XVT_OPT_STRING, "SOCK",
	  "serve: where QEMU's ivshmem-doorbell and record --doorbell connect to"),
	O(vectors, "vectors", 0, XVT_OPT_U64, "N",
	  "serve: doorbells of each peer, as QEMU's device has vectors (default 1)"),
	XVT_OPT_END,
};

/* The size in KiB of the smallest region into which the rings, sub-buffers and formats of a layout
 * fit. */
static uint64_t least_kib(const struct xvt_layout *layout)
{
	struct xvt_layout try = *layout;
	struct xvt_geometry g;

	for (try.region_size = XVT_ALIGN_MIN; try.region_size < SIZE_MOST; try.region_size *= 2)
		if (!xvt_region_plan(&try, &g))
			break;
	return try.region_size / 1024;
}

/* In KiB. */
static uint64_t next_power(uint64_t bytes)
{
	uint64_t kib = XVT_ALIGN_MIN / 1024;

	while (kib * 1024 < bytes)
		kib *= 2;
	return kib;
}

/* Returns true, after an error message, if one of the numbers is impossible by itself. */
static bool impossible(const char *path, const struct region_options *opt)
{
	const uint64_t subbuf = opt->subbuf_bytes;

	if (opt->rings > XVT_RING_COUNT_MAX)
		xvt_error(path, "--rings %" PRIu64 ": a region has at most %u", opt->rings,
			  XVT_RING_COUNT_MAX);
	else if (opt->size_bytes > SIZE_MOST)
		xvt_error(path, "--size %" PRIu64 ": too large", opt->size_bytes);
	else if (opt->size_bytes & (opt->size_bytes - 1) || opt->size_bytes < XVT_ALIGN_MIN)
		xvt_error(path,
			  "--size %" PRIu64
			  ": it is a power of two, as the memory of a PCI device is; the "
			  "next is --size %" PRIu64 "K",
			  opt->size_bytes, next_power(opt->size_bytes));
	else if (subbuf && (subbuf & (subbuf - 1) || subbuf < XVT_SUBBUF_SIZE_MIN ||
			    subbuf > XVT_SUBBUF_SIZE_MAX))
		xvt_error(path, "--subbuf-size %" PRIu64 ": it is a power of two from %uK to %uM",
			  subbuf, XVT_SUBBUF_SIZE_MIN / 1024, XVT_SUBBUF_SIZE_MAX >> 20);
	else if (opt->meta_bytes > SIZE_MOST / 2)
		xvt_error(path, "--meta-size %" PRIu64 ": too large", opt->meta_bytes);
	else
		return false;
	return true;
}

static void report_least(const char *path, const struct region_options *opt,
			 const struct xvt_layout *layout)
{
	char of[64] = "", and[64] = "";

	if (opt->subbuf_bytes)
		snprintf(of, sizeof(of), " of sub-buffers of %" PRIu64 " bytes", opt->subbuf_bytes);
	if (opt->meta_bytes)
		snprintf(and, sizeof(and), " and --meta-size %" PRIu64, opt->meta_bytes);
	xvt_error(path,
		  "%" PRIu64 " rings%s%s do not fit %" PRIu64 " bytes; the least is --size %" PRIu64
		  "K",
		  opt->rings, of, and, opt->size_bytes, least_kib(layout));
}

/* Of a file that is made; -1: nothing changes. */
struct owner {
	uid_t uid;
	gid_t gid;
};

/* A name or, as chown(1) takes it, a number. Returns false if it is neither. */
static bool find_user(const char *name, uid_t *uid)
{
	const struct passwd *pw = getpwnam(name);
	const char *end;
	uint64_t id;

	if (!pw && (xvt_parse_u64(name, &end, &id) || *end || id >= (uid_t)-1))
		return false;
	*uid = pw ? pw->pw_uid : (uid_t)id;
	return true;
}

static bool find_group(const char *name, gid_t *gid)
{
	const struct group *gr = getgrnam(name);
	const char *end;
	uint64_t id;

	if (!gr && (xvt_parse_u64(name, &end, &id) || *end || id >= (gid_t)-1))
		return false;
	*gid = gr ? gr->gr_gid : (gid_t)id;
	return true;
}

/* --owner and --group. Returns false after an error message. */
static bool find_owner(const char *path, const struct region_options *opt, struct owner *owner)
{
	const char *colon = opt->owner ? strchr(opt->owner, ':') : NULL;
	const char *group = colon && colon[1] ? colon + 1 : opt->group;
	char user[256] = "";

	*owner = (struct owner){ (uid_t)-1, (gid_t)-1 };
	if (opt->owner)
		snprintf(user, sizeof(user), "%.*s",
			 colon ? (int)(colon - opt->owner) : (int)strlen(opt->owner), opt->owner);
	if (colon && colon[1] && opt->group)
		xvt_error(path, "--group %s: --owner %s names a group, too", opt->group,
			  opt->owner);
	else if (opt->owner && !find_user(user, &owner->uid))
		xvt_error(path, "--owner %s: there is no user '%s'", opt->owner, user);
	else if (group && !find_group(group, &owner->gid))
		xvt_error(path, "%s %s: there is no group '%s'",
			  group == opt->group ? "--group" : "--owner",
			  group == opt->group ? group : opt->owner, group);
	else
		return true;
	return false;
}

/* The owner alone may use a region, and the group that is named: it has all events of a guest.
 * Returns false after an error message. */
static bool give_away(const char *path, int fd, const struct owner *owner)
{
	const bool has_group = owner->gid != (gid_t)-1;

	if ((owner->uid == (uid_t)-1 && !has_group) || !fchown(fd, owner->uid, owner->gid)) {
		if (!fchmod(fd, has_group ? 0660 : 0600))
			return true;
	}
	xvt_error(path, "%s: %s%s", owner->uid == (uid_t)-1 ? "--group" : "--owner",
		  strerror(errno),
		  errno != EPERM	    ? ""
		  : owner->uid == (uid_t)-1 ? "; be in that group, or run as root"
					    : "; only root gives files away: run as root");
	return false;
}

/* Makes the file, whose memory is reserved. Returns a descriptor, or -1 after an error message. */
static int create_file(const char *path, uint64_t size, const struct owner *owner)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err;

	if (fd < 0) {
		xvt_error(path, "cannot create it: %s%s", strerror(errno),
			  errno == EEXIST ? "; remove the old one first" : "");
		return -1;
	}
	/* Reserve the memory now: a full /dev/shm must show here, not as SIGBUS in a guest. */
	err = posix_fallocate(fd, 0, (off_t)size);
	if (err)
		xvt_error(path, "%s%s", strerror(err),
			  err == ENOSPC ? "; free memory there (df, ls), or give a smaller --size"
					: "");
	if (!err && give_away(path, fd, owner))
		return fd;
	unlink(path);
	close(fd);
	return -1;
}

static int create(const char *path, const struct region_options *opt)
{
	struct xvt_layout layout = {
		.region_size = opt->size_bytes,
		.ring_count = (uint32_t)opt->rings,
		.subbuf_size = (uint32_t)opt->subbuf_bytes,
		.meta_size = opt->meta_bytes,
		.clock_id = XVT_CLOCK_NATIVE,
		.enable = opt->overwrite ? XVT_ENABLE_OVERWRITE : XVT_ENABLE_OFF,
	};
	struct owner owner;
	struct xvt_geometry g;
	int fd, err;
	void *map;

	if (!opt->size_bytes || !opt->rings) {
		xvt_error("region create", "give --size S and --rings N");
		return XVT_EXIT_USAGE;
	}
	if (impossible(path, opt))
		return XVT_EXIT_FAIL;
	err = xvt_region_plan(&layout, &g);
	if (err == -ENOSPC)
		report_least(path, opt, &layout);
	else if (err)
		xvt_error(path, "no region can look like this: %s", strerror(-err));
	if (err)
		return XVT_EXIT_FAIL;
	if (!find_owner(path, opt, &owner))
		return XVT_EXIT_FAIL;
	fd = create_file(path, opt->size_bytes, &owner);
	if (fd < 0)
		return XVT_EXIT_FAIL;
	map = mmap(NULL, opt->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		xvt_error(path, "%s", strerror(errno));
		unlink(path);
		close(fd);
		return XVT_EXIT_FAIL;
	}
	xvt_region_format(map, &layout, &g);
	munmap(map, opt->size_bytes);
	if (close(fd)) {
		xvt_error(path, "%s", strerror(errno));
		return XVT_EXIT_FAIL;
	}
	return XVT_EXIT_OK;
}

static const char *const types[] = { "unused", "vcpu", "thread", "bare" };
static const char *const states[] = { "idle", "online", "offline" };
static const char *const backends[] = { "cas", "xadd" };

static const char *name_of(const char *const *names, size_t n, uint32_t v)
{
	return v < n ? names[v] : "?";
}
#define NAME_OF(names, v) name_of(names, sizeof(names) / sizeof((names)[0]), v)

static void show_text(const struct xvt_host_region *r)
{
	const struct xvt_geometry *g = &r->g;
	char name[6 * XVT_NAME_LEN + 1]; /* an escape takes six bytes at most */
	uint32_t i;

	xvt_text_clean(name, sizeof(name), r->hdr.vm_name, strnlen(r->hdr.vm_name, XVT_NAME_LEN));
	printf("name        %s\n", name);
	printf("kind        %s, generation %u\n", xvt_region_kind_text(r->hdr.kind),
	       r->hdr.generation);
	printf("size        %" PRIu64 " bytes, metadata %" PRIu64 "\n", g->region_size,
	       g->meta_size);
	printf("rings       %u of %u x %u bytes\n", g->ring_count, g->subbuf_count, g->subbuf_size);
	printf("clock       id %u, %" PRIu64 " Hz\n\n", r->hdr.clock_id, r->hdr.clock_hz);
	printf("%4s %-7s %4s %-8s %3s %12s %12s %12s %10s %9s %9s\n", "ring", "type", "cpu",
	       "state", "on", "resv", "commit", "cons", "attempted", "discarded", "lost");
	for (i = 0; i < g->ring_count; i++) {
		const struct xvt_ring_ctl *c = xvt_host_ring_ctl(r, i);
		const struct xvt_ring_host *h = xvt_host_ring_host(r, i);
		struct xvt_ring_words s;
		uint64_t lost = 0;
		unsigned int k;

		xvt_ring_words(c, g, &s);
		for (k = 0; k < XVT_LOST_CAUSES; k++)
			lost += s.lost[k];
		printf("%4u %-7s %4u %-8s %3u %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %10" PRIu64
		       " %9" PRIu64 " %9" PRIu64 "\n",
		       i, NAME_OF(types, xvt_load(&c->type)), xvt_load(&c->cpu),
		       NAME_OF(states, s.state), xvt_load(&h->enable), s.resv, s.commit,
		       xvt_load(&h->cons), s.attempted, s.discarded, lost);
	}
}

static int show_json(const struct xvt_host_region *r)
{
	struct xvt_json *doc = xvt_json_new(), *rings;
	const struct xvt_geometry *g = &r->g;
	char name[XVT_NAME_LEN + 1];
	struct xvt_out out;
	uint32_t i;
	int err, end_err;

	snprintf(name, sizeof(name), "%.*s", XVT_NAME_LEN, r->hdr.vm_name);
	xvt_json_add_text(doc, "format", "xvtrace-region/1");
	xvt_json_add_text(doc, "name", name);
	xvt_json_add_text(doc, "kind", xvt_region_kind_text(r->hdr.kind));
	xvt_json_add_u64(doc, "generation", r->hdr.generation);
	xvt_json_add_u64(doc, "size", g->region_size);
	xvt_json_add_u64(doc, "subbuf_size", g->subbuf_size);
	xvt_json_add_u64(doc, "subbuf_count", g->subbuf_count);
	xvt_json_add_u64(doc, "clock_hz", r->hdr.clock_hz);
	rings = xvt_json_add_array(doc, "rings");
	for (i = 0; i < g->ring_count; i++) {
		const struct xvt_ring_ctl *c = xvt_host_ring_ctl(r, i);
		const struct xvt_ring_host *h = xvt_host_ring_host(r, i);
		struct xvt_json *ring = xvt_json_add_object(rings, NULL);
		struct xvt_ring_words s;

		xvt_ring_words(c, g, &s);
		xvt_json_add_text(ring, "type", NAME_OF(types, xvt_load(&c->type)));
		xvt_json_add_u64(ring, "cpu", xvt_load(&c->cpu));
		xvt_json_add_text(ring, "backend", NAME_OF(backends, s.backend));
		xvt_json_add_text(ring, "state", NAME_OF(states, s.state));
		xvt_json_add_u64(ring, "enable", xvt_load(&h->enable));
		xvt_json_add_u64(ring, "resv", s.resv);
		xvt_json_add_u64(ring, "commit", s.commit);
		xvt_json_add_u64(ring, "cons", xvt_load(&h->cons));
		xvt_json_add_u64(ring, "nest", s.nest);
		xvt_json_add_u64(ring, "attempted", s.attempted);
		xvt_json_add_u64(ring, "discarded", s.discarded);
		xvt_lost_to_json(ring, s.lost);
	}
	err = xvt_out_open(&out, "-");
	if (err)
		return err;
	err = xvt_json_write(doc, &out);
	end_err = xvt_out_close(&out);
	return err ? err : end_err;
}

static int show(const char *path, bool json)
{
	struct xvt_host_region r;
	struct xvt_error why;
	int err = xvt_host_region_open(&r, path, false);

	if (err) {
		xvt_error(path, "%s", xvt_host_region_open_why(err));
		return XVT_EXIT_FAIL;
	}
	err = xvt_host_region_check(&r);
	if (err) {
		xvt_fault_text(&r.fault, why.text, sizeof(why.text));
		xvt_error(path, "%s%s", why.text, xvt_region_hint(err));
		xvt_host_region_close(&r);
		return XVT_EXIT_FAIL;
	}
	if (json)
		err = show_json(&r);
	else
		show_text(&r);
	xvt_host_region_close(&r);
	if (!err && fflush(stdout))
		err = -errno;
	if (err) {
		xvt_error("stdout", "cannot write: %s", strerror(-err));
		return XVT_EXIT_FAIL;
	}
	return XVT_EXIT_OK;
}

static int cmd_region(const struct xvt_command *cmd, int argc, char **argv)
{
	struct region_options opt = { .vectors = 1 };
	int first = xvt_opt_parse(cmd, argc, argv, &opt, NULL);

	if (first < 0)
		return xvt_opt_exit_status(first);
	if (argc - first == 2 && !strcmp(argv[first], "create"))
		return create(argv[first + 1], &opt);
	if (argc - first == 2 && !strcmp(argv[first], "show"))
		return show(argv[first + 1], opt.json);
	if (argc - first == 2 && !strcmp(argv[first], "serve"))
		return xvt_region_serve(argv[first + 1], opt.socket, opt.vectors);
	xvt_error(
		"region",
		"usage: xvtrace region create PATH --size S --rings N, region show PATH, or region "
		"serve PATH --socket SOCK");
	return XVT_EXIT_USAGE;
}

const struct xvt_command xvt_cmd_region = {
	.name = "region",
	.args = "create PATH --size S --rings N | show PATH [--json] | serve PATH --socket SOCK",
	.brief = "make a region, look at one, or give it and doorbells to a QEMU and recorders",
	.opts = options,
	.run = cmd_region,
};
