// SPDX-License-Identifier: GPL-2.0
/* field.c - see decode.h. The values of a record's fields, and their text. */
#include "decode/decode.h"

#include <string.h>

uint32_t xvt_field_extent(const struct xvt_field *f, const struct xvt_event *ev,
			  const uint8_t **data)
{
	uint32_t from = f->offset, bytes = f->size, loc;

	if (f->place == XVT_PLACE_TAIL) {
		bytes = ev->hdr->len - from;
	} else if (f->place != XVT_PLACE_FIXED) {
		memcpy(&loc, ev->payload + from, sizeof(loc));
		bytes = loc >> 16;
		from = (loc & 0xffff) + (f->place == XVT_PLACE_REL_LOC ? f->offset + 4 : 0);
	}
	*data = ev->payload + from;
	return bytes;
}

void xvt_field_get(const struct xvt_field *f, const struct xvt_event *ev, struct xvt_value *v)
{
	uint32_t bytes = xvt_field_extent(f, ev, &v->data);

	v->u = 0;
	switch (f->kind) {
	case XVT_FIELD_UINT:
	case XVT_FIELD_INT:
		v->u = xvt_number(v->data, bytes, f->kind == XVT_FIELD_INT);
		v->count = 0;
		return;
	case XVT_FIELD_UINTS:
	case XVT_FIELD_INTS:
		v->count = bytes / f->elem_size;
		return;
	}
	if (f->flags & XVT_FIELD_F_NUL)
		while (bytes && !v->data[bytes - 1])
			bytes--;
	else
		bytes = (uint32_t)strnlen((const char *)v->data, bytes);
	if (f->flags & XVT_FIELD_F_CHOMP && bytes && v->data[bytes - 1] == '\n')
		bytes--;
	v->count = bytes;
}

uint64_t xvt_field_element(const struct xvt_field *f, const struct xvt_value *v, uint32_t i)
{
	return xvt_number(v->data + (size_t)i * f->elem_size, f->elem_size,
			  f->kind == XVT_FIELD_INTS);
}

static void print_array(struct xvt_out *o, const struct xvt_field *f, const struct xvt_value *v)
{
	xvt_out_char(o, '[');
	for (uint32_t i = 0; i < v->count && !o->cut; i++) {
		uint64_t e = xvt_field_element(f, v, i);

		if (i)
			xvt_out_char(o, ',');
		if (f->kind == XVT_FIELD_INTS)
			xvt_out_i64(o, (int64_t)e);
		else
			xvt_out_u64(o, e);
	}
	xvt_out_char(o, ']');
}

void xvt_field_put(struct xvt_out *o, const struct xvt_field *f, const struct xvt_event *ev)
{
	struct xvt_value v;

	xvt_field_get(f, ev, &v);
	switch (f->kind) {
	case XVT_FIELD_UINT:
		xvt_out_u64(o, v.u);
		break;
	case XVT_FIELD_INT:
		xvt_out_i64(o, (int64_t)v.u);
		break;
	case XVT_FIELD_STRING:
		xvt_out_quoted(o, v.data, v.count);
		break;
	default:
		print_array(o, f, &v);
	}
}
