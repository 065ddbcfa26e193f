// SPDX-License-Identifier: GPL-2.0
/*
 * story.c - prints what one schedule does. The places are named by the source itself: the text
 * of the access, its line, and the label [A] to [F] above it.
 */
#include "story.h"

#include <stdio.h>

bool story_every_access;

static void indent(uint32_t depth)
{
	printf("%*s", (int)depth * 4, "");
}

/* The last "[X]" that begins a comment at or above the line, in the same function. */
static char label_of(const struct nest_site *site)
{
	char line[512], label = 0;
	FILE *f = site->file ? fopen(site->file, "r") : NULL;
	const char *at;
	int n;

	if (!f)
		return 0;
	for (n = 1; n <= site->line && fgets(line, sizeof(line), f); n++) {
		if (line[0] == '{')
			label = 0;
		at = strstr(line, "/* [");
		if (at && at[4] >= 'A' && at[4] <= 'F' && at[5] == ']')
			label = at[4];
	}
	fclose(f);
	return label;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void place(const struct nest_site *site)
{
	char label = label_of(site);

	printf("\"%s\" in %s()", site->text, site->function);
	if (site->file)
		printf(", %s:%d", base_name(site->file), site->line);
	if (label)
		printf(" [%c]", label);
}

static const struct event *interrupted(void)
{
	return world.current[world.depth - 1];
}

void story_tell_begin(const struct event *ev)
{
	indent(ev->depth);
	printf("%s event %u begins at time %llu%s\n", world_context(ev->depth), ev->number,
	       (unsigned long long)world.clock, world.quiet ? " (undisturbed)" : "");
}

void story_tell_clock(const struct event *ev)
{
	indent(ev->depth);
	printf("%s event %u reads its clock: %llu, epoch %u\n", world_context(ev->depth),
	       ev->number, (unsigned long long)ev->ts, ev->epoch);
}

void story_tell_end(const struct event *ev)
{
	indent(ev->depth);
	if (ev->state == EV_OFF)
		printf("%s event %u does not happen", world_context(ev->depth), ev->number);
	else if (ev->state == EV_LOST)
		printf("%s event %u is lost", world_context(ev->depth), ev->number);
	else
		printf("%s event %u is %s: [%#llx, %#llx)", world_context(ev->depth), ev->number,
		       ev->state == EV_DISCARDED ? "discarded" : "done",
		       (unsigned long long)ev->pos, (unsigned long long)ev->end);
	printf("   before_stamp %llu write_stamp %llu commit %#llx nest %u\n",
	       (unsigned long long)world.ctl.before_stamp,
	       (unsigned long long)world.ctl.write_stamp, (unsigned long long)world.ctl.commit,
	       world.ctl.nest);
}

void story_tell_action(const struct nest_site *site, enum action action)
{
	static const char *const what[ACT_KINDS] = {
		[ACT_NEST] = "is interrupted",
		[ACT_EPOCH] = "is stopped: the host opens a new epoch and the clock jumps back",
		[ACT_BACK] = "goes on, but the clock jumps back",
		[ACT_DELAY] = "is delayed for a long time",
		[ACT_CONSUME] = "goes on while the host works",
		[ACT_SWITCH] = "goes on while the host switches",
		[ACT_COPY] = "goes on while the host copies",
		[ACT_WRECK] = "goes on with a wrong position",
	};
	const struct event *ev = interrupted();

	indent(ev->depth);
	printf("%s event %u %s just before ", world_context(ev->depth), ev->number, what[action]);
	place(site);
	printf("   (choice %u)\n", ex.choice - 1);
}

void story_tell_point(const struct nest_site *site)
{
	if (!story_every_access)
		return;
	indent(interrupted()->depth);
	printf("  . ");
	place(site);
	printf("   (choice %u)\n", ex.choice);
}

static void tell_records(struct xvt_reader *r, uint64_t to)
{
	struct xvt_record rec;

	while (r->pos != to) {
		uint64_t end = xvt_pos_next_subbuf(r->g, r->pos);
		int ret;

		if (xvt_pos_before(to, end))
			end = to;
		xvt_reader_feed(r, world_data(r->pos), end - r->pos);
		while ((ret = xvt_reader_next(r, &rec)) == 1) {
			static const char *const kinds[] = { "", "record", "sub-buffer",
							     "DISCARDED", "in flight" };

			const char *stamp = "";

			if (rec.kind != XVT_REC_SUBBUF && oracle_is_same(r, &rec))
				stamp = " SAME";
			else if (rec.kind != XVT_REC_SUBBUF && rec.full)
				stamp = " FULL";
			printf("  %#6llx %-10s time %llu epoch %u%s", (unsigned long long)rec.pos,
			       kinds[rec.kind], (unsigned long long)rec.ts, rec.epoch, stamp);
			if (rec.kind == XVT_REC_RECORD && rec.id - XVT_ID_USER < world.event_count)
				printf(" event %u, which was given %llu", rec.id - XVT_ID_USER,
				       (unsigned long long)world.event[rec.id - XVT_ID_USER].ts);
			printf("\n");
		}
		if (ret)
			printf("  %#6llx: %s = %#llx (%s)\n", (unsigned long long)r->pos,
			       r->fault.field, (unsigned long long)r->fault.value, r->fault.why);
		if (ret || r->pos != r->end)
			break;
	}
}

void story_tell_ring(void)
{
	struct xvt_reader r;
	uint64_t from = world_start, commit = world.ctl.commit;

	printf("The ring: resv %#llx commit %#llx cons %#llx nest %u before_stamp %llu "
	       "write_stamp %llu\n",
	       (unsigned long long)writer_position(), (unsigned long long)commit,
	       (unsigned long long)world.host.cons, world.ctl.nest,
	       (unsigned long long)world.ctl.before_stamp,
	       (unsigned long long)world.ctl.write_stamp);
	/* From the oldest sub-buffer that is not cleared or overwritten. */
	if (!world_config->overwrite)
		from = world.clear_pos;
	else if (commit - from > world_geometry.ring_size)
		from = xvt_pos_roundup(&world_geometry, commit) - world_geometry.ring_size;
	xvt_reader_init(&r, &world_geometry, from);
	printf("what a reader makes of it, up to commit:\n");
	tell_records(&r, commit);
	printf("and by salvage, up to resv:\n");
	r.salvage = world_config->overwrite ? XVT_SALVAGE_STOP : XVT_SALVAGE_CLEARED;
	tell_records(&r, writer_position());
}
