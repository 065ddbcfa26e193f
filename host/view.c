// SPDX-License-Identifier: GPL-2.0
/* view.c - see view.h. */
#include "view.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Cached in the class: does --event want it? */
enum wanted {
	WANTED_UNKNOWN,
	WANTED_YES,
	WANTED_NO,
};

static int parse_time(const struct xvt_trace *t, const char *option, const char *text, uint64_t *ns)
{
	bool relative = text[0] == '+';
	int err = xvt_parse_seconds(text + relative, ns);

	if (!err && relative && __builtin_add_overflow(*ns, t->first_ns, ns))
		err = -ERANGE;
	if (!err)
		return 0;
	xvt_error(option,
		  "%s: not a time; give seconds such as 12.5, or +0.5 from the start of the trace",
		  text);
	return -EINVAL;
}

static int check_vm(const struct xvt_trace *t, const char *path, const char *name)
{
	char names[256] = "none";
	size_t used = 0;

	for (uint32_t i = 0; i < t->vm_count; i++) {
		if (!t->vms[i].known)
			continue;
		if (strcmp(t->vms[i].name, name) == 0)
			return 0;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", t->vms[i].name);
	}
	xvt_error(path, "no machine '%s' in this trace; it has: %s", name, names);
	return -ENOENT;
}

static int start_reading(struct xvt_view *v, uint64_t from_ns, uint64_t to_ns)
{
	int err;

	if (!v->opts.reclock)
		return xvt_cursor_init(&v->cursor, v->t, from_ns, to_ns);
	err = xvt_reclock_new(&v->reclock, v->t);
	if (err)
		return err;
	if (!v->opts.quiet)
		xvt_reclock_say(v->reclock);
	return xvt_reclock_begin(v->reclock, from_ns, to_ns);
}

static int start(struct xvt_view *v)
{
	uint64_t from_ns = 0, to_ns = UINT64_MAX;
	int err;

	if (v->opts.from && parse_time(v->t, "--from", v->opts.from, &from_ns))
		return XVT_EXIT_USAGE;
	if (v->opts.to && parse_time(v->t, "--to", v->opts.to, &to_ns))
		return XVT_EXIT_USAGE;
	if (v->opts.vm && check_vm(v->t, v->t->path, v->opts.vm))
		return XVT_EXIT_FAIL;
	err = xvt_decoders_new(&v->ds, v->t);
	if (!err)
		err = start_reading(v, from_ns, to_ns);
	if (!err)
		return XVT_EXIT_OK;
	xvt_error(v->t->path, "%s", strerror(-err));
	return XVT_EXIT_FAIL;
}

int xvt_view_open(struct xvt_view *v, const char *path, const struct xvt_view_opts *opts)
{
	/* Who places events again needs clocks from all over the file. */
	bool part = (opts->from || opts->to || opts->limit) && !opts->reclock;
	char why[256];
	int status, err;

	memset(v, 0, sizeof(*v));
	v->opts = *opts;
	err = part ? xvt_trace_open_indexed(&v->t, path, why, sizeof(why))
		   : xvt_trace_open(&v->t, path, why, sizeof(why));
	if (err) {
		xvt_error(path, "%s", why);
		return XVT_EXIT_FAIL;
	}
	status = start(v);
	if (status) {
		xvt_reclock_free(v->reclock);
		xvt_decoders_fini(&v->ds);
		xvt_trace_close(v->t);
	}
	return status;
}

static bool wanted(const char *glob, struct xvt_event_class *c)
{
	char name[256];

	if (c->user_u32 == WANTED_UNKNOWN) {
		snprintf(name, sizeof(name), "%s:%s", c->system, c->name);
		c->user_u32 = fnmatch(glob, strchr(glob, ':') ? name : c->name, 0) ? WANTED_NO
										   : WANTED_YES;
	}
	return c->user_u32 == WANTED_YES;
}

int xvt_view_next(struct xvt_view *v, struct xvt_event *ev, struct xvt_event_class **c,
		  struct xvt_decoder **d)
{
	const struct xvt_view_opts *o = &v->opts;

	for (;;) {
		int got = v->reclock ? xvt_reclock_next(v->reclock, ev)
				     : xvt_cursor_next(&v->cursor, ev);

		if (got <= 0 || (o->limit && v->shown == o->limit))
			return got < 0 ? got : 0;
		*d = xvt_decoder_of(&v->ds, ev);
		*c = xvt_classify(*d, ev);
		if (!*c)
			return -ENOMEM;
		if (!o->all && !xvt_is_event(ev->hdr) && ev->hdr->id != XVT_ID_LOST)
			continue;
		if (o->vm &&
		    strcmp(o->vm, xvt_vm_name(v->t, xvt_ring_vm(v->t, xvt_event_ring(ev)))))
			continue;
		if (o->event && !wanted(o->event, *c))
			continue;
		v->shown += xvt_is_event(ev->hdr);
		return 1;
	}
}

int xvt_view_close(struct xvt_view *v)
{
	int bad = xvt_trace_complain(v->t, v->opts.quiet);

	xvt_reclock_free(v->reclock);
	xvt_cursor_fini(&v->cursor);
	xvt_decoders_fini(&v->ds);
	xvt_trace_close(v->t);
	return bad ? XVT_EXIT_FAIL : XVT_EXIT_OK;
}
