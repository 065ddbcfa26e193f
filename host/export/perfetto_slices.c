// SPDX-License-Identifier: GPL-2.0
/* perfetto_slices.c - slices that a program made of a trace, as tracks. They have a sequence of
 * their own, and the clocks and tracks' numbers of the trace's export, behind which they may be
 * put. Perfetto keeps the flows of each machine apart, so their tracks belong to none. */
#include "export/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

static int put_begin(struct xvt_pf *p, const struct xvt_slice *s, size_t at)
{
	struct xvt_proto *b = &p->packet;

	xvt_proto_string(b, TRACK_EVENT_NAME, s->name, strlen(s->name));
	for (int i = 0; i < 2; i++)
		if (s->flows[i])
			xvt_proto_fixed64(b, TRACK_EVENT_FLOW_IDS,
					  xvt_pf_track_uuid(p, TRACK_SLICES, s->flows[i]));
	for (size_t i = 0; i < s->arg_count; i++) {
		const struct xvt_slice_arg *a = &s->args[i];
		const size_t len = a->text ? strlen(a->text) : 0;
		size_t arg;

		if (xvt_proto_room(b, xvt_proto_text_room(strlen(a->name) + len) +
					      8 * XVT_PROTO_NUMBER))
			return -ENOMEM;
		arg = xvt_proto_open(b, TRACK_EVENT_DEBUG_ANNOTATIONS);
		xvt_proto_string(b, DEBUG_ANNOTATION_NAME, a->name, strlen(a->name));
		if (a->text)
			xvt_proto_string(b, DEBUG_ANNOTATION_STRING_VALUE, a->text, len);
		else
			xvt_proto_u64(b, DEBUG_ANNOTATION_UINT_VALUE, a->number);
		xvt_proto_close(b, arg);
	}
	if (xvt_proto_room(b, XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_close(b, at);
	xvt_pf_end_packet(p, 0);
	return 0;
}

static int put_slice(struct xvt_pf *p, const struct xvt_slice *s)
{
	const uint64_t uuid = xvt_pf_track_uuid(p, TRACK_SLICES, s->track + 1);
	struct xvt_proto *b = &p->packet;
	size_t at;
	int err;

	if (xvt_pf_begin_machine_packet(p, XVT_PF_NO_MACHINE,
					xvt_proto_text_room(strlen(s->name)) +
						8 * XVT_PROTO_NUMBER))
		return -ENOMEM;
	xvt_proto_u64(b, TRACE_PACKET_TIMESTAMP, s->begin_ns);
	at = xvt_proto_open(b, TRACE_PACKET_TRACK_EVENT);
	xvt_proto_u64(b, TRACK_EVENT_TYPE, TYPE_SLICE_BEGIN);
	xvt_proto_u64(b, TRACK_EVENT_TRACK_UUID, uuid);
	err = put_begin(p, s, at);
	return err ? err
		   : xvt_pf_put_slice_end(p, XVT_PF_NO_MACHINE, uuid, s->end_ns, TYPE_SLICE_END,
					  "");
}

static int write_all(struct xvt_pf *p, const char *name, const char *const *tracks,
		     size_t track_count, const struct xvt_slice *slices, size_t count)
{
	const uint64_t parent = xvt_pf_track_uuid(p, TRACK_SLICES, 0);
	int err = xvt_pf_put_snapshot(p, slices[0].begin_ns);

	if (!err)
		err = xvt_pf_put_track(p, XVT_PF_NO_MACHINE, parent, 0, name, false);
	for (size_t i = 0; i < track_count && !err; i++)
		if (tracks[i])
			err = xvt_pf_put_track(p, XVT_PF_NO_MACHINE,
					       xvt_pf_track_uuid(p, TRACK_SLICES, (uint32_t)i + 1),
					       parent, tracks[i], false);
	for (size_t i = 0; i < count && !err && !p->o->err; i++)
		err = put_slice(p, &slices[i]);
	return err;
}

int xvt_export_perfetto_slices(struct xvt_export *x, const char *name, const char *const *tracks,
			       size_t track_count, const struct xvt_slice *slices, size_t count,
			       struct xvt_out *o)
{
	struct xvt_pf *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->x = x;
	p->o = o;
	p->info = xvtrace_info(x->trace);
	memcpy(&p->uuid, p->info->uuid, sizeof(p->uuid));
	/* Behind those of the export's machines. */
	p->sequence = XVT_PF_SEQUENCE + 1 + p->info->rings + 1 + p->info->machines + 1;
	if (count)
		err = write_all(p, name, tracks, track_count, slices, count);
	free(p->packet.p);
	free(p);
	return err;
}
