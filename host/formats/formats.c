// SPDX-License-Identifier: GPL-2.0
/* formats.c - see formats.h. */
#include "formats/formats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "xvt_abi.h"
#include "xvt_check.h"

#define MAGIC		  "XVTFMT1\n"
#define MAGIC_LEN	  8u
#define NAME_LEN	  128u /* of a system, of an event */
#define NOTE_GNU_BUILD_ID 3u

enum { TEXT_KERNEL = 0, TEXT_BUILD_ID = 1, TEXT_ORIGIN = 2 };

bool xvt_build_id_is(const char *text)
{
	const size_t len = strspn(text, "0123456789abcdef");

	return !text[len] && len >= 8 && len % 2 == 0 && len < XVT_BUILD_ID_TEXT;
}

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

bool xvt_build_id_of_notes(const uint8_t *notes, size_t len, char to[XVT_BUILD_ID_TEXT])
{
	size_t at = 0, i;

	while (len - at >= 12) {
		const uint64_t name = word_at(notes + at), desc = word_at(notes + at + 4);
		const uint64_t name_at = at + 12, desc_at = name_at + ((name + 3) & ~3ull);
		const uint64_t next = desc_at + ((desc + 3) & ~3ull);

		if (desc_at > len || desc > len - desc_at)
			return false;
		if (word_at(notes + at + 8) == NOTE_GNU_BUILD_ID && name == 4 &&
		    !memcmp(notes + name_at, "GNU", 4) && desc >= 4 &&
		    desc <= XVT_BUILD_ID_TEXT / 2) {
			for (i = 0; i < desc; i++)
				snprintf(to + 2 * i, 3, "%02x", notes[desc_at + i]);
			return true;
		}
		if (next > len)
			return false;
		at = next;
	}
	return false;
}

uint16_t xvt_formats_id(const char *text)
{
	const char *id = strncmp(text, "ID:", 3) == 0 ? text - 1 : strstr(text, "\nID:");
	const unsigned long type = id ? strtoul(id + 4, NULL, 10) : 0;

	return type <= UINT16_MAX ? (uint16_t)type : 0;
}

/* Names of the kernel's C code. */
static bool is_name(const char *text)
{
	const size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					"0123456789_-.");

	return len && !text[len] && len < NAME_LEN;
}

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			return false;
	}
	return true;
}

/* --- reading --- */

/* Split the payload of a META_FORMAT whose last byte is a zero. */
static bool split(const uint8_t *payload, uint32_t len, struct xvt_formats_event *e)
{
	const char *bytes = (const char *)payload;
	size_t system, event;

	if (!len || payload[len - 1])
		return false;
	system = strlen(bytes) + 1;
	event = system < len ? strlen(bytes + system) + 1 : 0;
	if (!event || system + event >= len)
		return false;
	*e = (struct xvt_formats_event){ .system = bytes,
					 .event = bytes + system,
					 .text = bytes + system + event,
					 .payload = payload,
					 .payload_len = len };
	e->id = xvt_formats_id(e->text);
	return e->id && is_name(e->system) && is_name(e->event) &&
	       system + event + strlen(e->text) + 1 == len;
}

static bool copy_text(const uint8_t *bytes, uint32_t len, char *to, size_t size)
{
	if (len >= size)
		return false;
	memcpy(to, bytes, len);
	to[len] = 0;
	return strlen(to) == len && is_printable(to);
}

/* "Linux RELEASE ..." */
static bool take_release(struct xvt_formats *f)
{
	const char *release = f->kernel + 6;
	const size_t len = strncmp(f->kernel, "Linux ", 6) == 0 ? strcspn(release, " ") : 0;

	if (!len || len >= sizeof(f->release))
		return false;
	memcpy(f->release, release, len);
	f->release[len] = 0;
	return true;
}

/* Returns why a text cannot be taken, or NULL. */
static const char *take_text(struct xvt_formats *f, uint32_t id, const uint8_t *p, uint32_t len)
{
	if (id == TEXT_KERNEL &&
	    (!copy_text(p, len, f->kernel, sizeof(f->kernel)) || !take_release(f)))
		return "its kernel is no text as uname writes it";
	if (id == TEXT_BUILD_ID &&
	    (!copy_text(p, len, f->build_id, sizeof(f->build_id)) || !xvt_build_id_is(f->build_id)))
		return "its build id is none";
	if (id == TEXT_ORIGIN && !copy_text(p, len, f->origin, sizeof(f->origin)))
		return "it does not say how it was made";
	return NULL;
}

/* Returns why an entry cannot be taken, or NULL. last: the number of the event before. */
static const char *take(struct xvt_formats *f, const struct xvt_meta_tlv *tlv, const uint8_t *p,
			uint32_t *last)
{
	struct xvt_formats_event e;

	if (tlv->type == XVT_META_TEXT)
		return take_text(f, tlv->id, p, tlv->len);
	if (tlv->type != XVT_META_FORMAT)
		return "it has an entry of another kind";
	if (tlv->len > XVT_FORMATS_TEXT_MAX + 2 * NAME_LEN || !split(p, tlv->len, &e) ||
	    e.id != tlv->id)
		return "it has a format that no kernel writes";
	if (e.id <= *last)
		return "its formats are not in the order of their numbers";
	*last = e.id;
	f->count++;
	return f->count > XVT_FORMATS_COUNT_MAX ? "it has more formats than any kernel" : NULL;
}

static const char *take_all(struct xvt_formats *f)
{
	size_t at = MAGIC_LEN;
	uint32_t last = 0;
	const char *why;

	if (f->len < MAGIC_LEN || memcmp(f->bytes, MAGIC, MAGIC_LEN) != 0)
		return "it is no file of formats";
	while (at < f->len) {
		struct xvt_meta_tlv tlv;
		struct xvt_fault fault;
		int64_t whole;

		if (f->len - at < sizeof(tlv))
			return "it is cut off";
		memcpy(&tlv, f->bytes + at, sizeof(tlv));
		whole = xvt_check_tlv(&tlv, f->len - at, &fault);
		if (whole < 0)
			return "it is cut off";
		why = take(f, &tlv, f->bytes + at + sizeof(tlv), &last);
		if (why)
			return why;
		at += (size_t)whole;
	}
	return !f->build_id[0] || !f->kernel[0] || !f->count ? "it is cut off" : NULL;
}

int xvt_formats_parse(struct xvt_formats *f, const uint8_t *bytes, size_t len, const char **why)
{
	memset(f, 0, sizeof(*f));
	if (len > XVT_FORMATS_FILE_MAX) {
		*why = "it is longer than the formats of any kernel";
		return -EBADMSG;
	}
	*why = "out of memory";
	f->bytes = malloc(len ? len : 1);
	if (!f->bytes)
		return -ENOMEM;
	memcpy(f->bytes, bytes, len);
	f->len = f->room = len;
	*why = take_all(f);
	if (!*why)
		return 0;
	xvt_formats_free(f);
	return -EBADMSG;
}

bool xvt_formats_next(const struct xvt_formats *f, size_t *at, struct xvt_formats_event *e)
{
	struct xvt_meta_tlv tlv;
	const uint8_t *payload;

	if (!*at)
		*at = MAGIC_LEN;
	while (*at < f->len && f->len - *at >= sizeof(tlv)) {
		memcpy(&tlv, f->bytes + *at, sizeof(tlv));
		payload = f->bytes + *at + sizeof(tlv);
		*at += sizeof(tlv) + ((tlv.len + 7u) & ~7u);
		if (tlv.type == XVT_META_FORMAT)
			return split(payload, tlv.len, e);
	}
	return false;
}

void xvt_formats_free(struct xvt_formats *f)
{
	free(f->bytes);
	memset(f, 0, sizeof(*f));
}

/* --- making --- */

/* Add an entry whose payload is zeros. Returns the payload; NULL: no memory. */
static uint8_t *put(struct xvt_formats *f, const struct xvt_meta_tlv *tlv)
{
	const size_t whole = sizeof(*tlv) + ((tlv->len + 7u) & ~7u);
	uint8_t *to;

	if (xvt_grow(&f->bytes, &f->room, f->len + whole, 1))
		return NULL;
	to = f->bytes + f->len;
	memset(to, 0, whole);
	memcpy(to, tlv, sizeof(*tlv));
	f->len += whole;
	return to + sizeof(*tlv);
}

/* Returns why not, or NULL. */
static const char *put_text(struct xvt_formats *f, uint32_t id, const char *text)
{
	const uint32_t len = (uint32_t)strlen(text);
	const struct xvt_meta_tlv tlv = { .type = XVT_META_TEXT, .len = len, .id = id };
	uint8_t *to = put(f, &tlv);

	if (!to)
		return "out of memory";
	memcpy(to, text, len);
	return take_text(f, id, to, len);
}

int xvt_formats_begin(struct xvt_formats *f, const char *build_id, const char *kernel,
		      const char *origin, const char **why)
{
	memset(f, 0, sizeof(*f));
	*why = "out of memory";
	if (xvt_grow(&f->bytes, &f->room, MAGIC_LEN, 1))
		return -ENOMEM;
	memcpy(f->bytes, MAGIC, MAGIC_LEN);
	f->len = MAGIC_LEN;
	*why = put_text(f, TEXT_KERNEL, kernel);
	if (!*why)
		*why = put_text(f, TEXT_BUILD_ID, build_id);
	if (!*why)
		*why = put_text(f, TEXT_ORIGIN, origin);
	if (!*why)
		return 0;
	xvt_formats_free(f);
	return -EBADMSG;
}

int xvt_formats_add(struct xvt_formats *f, const char *system, const char *event, const char *text,
		    size_t text_len, const char **why)
{
	const size_t head = strlen(system) + strlen(event) + 2, len = head + text_len + 1;
	struct xvt_meta_tlv tlv = { .type = XVT_META_FORMAT, .len = (uint32_t)len };
	const size_t before = f->len;
	struct xvt_formats_event e;
	uint8_t *to;

	*why = "it is longer than any of Linux";
	if (text_len > XVT_FORMATS_TEXT_MAX || f->count == XVT_FORMATS_COUNT_MAX ||
	    f->len + len > XVT_FORMATS_FILE_MAX - 64)
		return -EBADMSG;
	*why = "out of memory";
	to = put(f, &tlv);
	if (!to)
		return -ENOMEM;
	memcpy(to, system, strlen(system));
	memcpy(to + strlen(system) + 1, event, strlen(event));
	memcpy(to + head, text, text_len);
	*why = "it does not have the shape that Linux writes";
	if (!split(to, tlv.len, &e)) {
		f->len = before;
		return -EBADMSG;
	}
	tlv.id = e.id;
	memcpy(f->bytes + before, &tlv, sizeof(tlv));
	f->count++;
	return 0;
}
