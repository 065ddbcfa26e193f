/* SPDX-License-Identifier: GPL-2.0 */
/*
 * formats.h - the formats of one kernel's events, and what identifies that kernel: its build id.
 * A guest that has nothing of xvtrace in it cannot send them, and the numbers of events differ from
 * build to build.
 *
 * A file of formats has a magic number, then entries as a guest's metadata area has them
 * (struct xvt_meta_tlv): META_TEXT of id 0 is the kernel ("Linux RELEASE VERSION MACHINE"), of id 1
 * its build id in hex, of id 2 how the formats were got; META_FORMAT of each event, in ascending
 * order of their numbers. All bytes may be anybody's: they are checked whole before they are used.
 */
#ifndef XVT_FORMATS_H
#define XVT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XVT_FORMATS_FILE_MAX  (16u << 20) /* bytes of a file */
#define XVT_FORMATS_COUNT_MAX 16384u	  /* events; a 6.18 has 2,323 */
#define XVT_FORMATS_TEXT_MAX  (60u << 10) /* bytes of a format; the longest of 6.1 has 20 KiB */
#define XVT_BUILD_ID_TEXT     65u	  /* hex digits of the longest, and the final zero */
#define XVT_KERNEL_TEXT	      (5u * 65)	  /* five texts of struct new_utsname */

struct xvt_formats {
	char build_id[XVT_BUILD_ID_TEXT];
	char kernel[XVT_KERNEL_TEXT]; /* "Linux RELEASE VERSION MACHINE", printable ASCII */
	char release[65];
	char origin[65]; /* "boot" or "import" */
	uint32_t count;
	uint8_t *bytes; /* of the file */
	size_t len;
	size_t room;
};

/* One event. The texts end with a zero; `payload` is that of XVT_META_FORMAT. */
struct xvt_formats_event {
	uint16_t id;
	const char *system;
	const char *event;
	const char *text;
	const uint8_t *payload;
	uint32_t payload_len;
};

/* Check the bytes of a file, and copy them. Returns 0, -ENOMEM, or -EBADMSG with *why. After an
 * error *f has nothing to free. */
int xvt_formats_parse(struct xvt_formats *f, const uint8_t *bytes, size_t len, const char **why);

/* Go through the events, from *at == 0 on. Returns false at the end. */
bool xvt_formats_next(const struct xvt_formats *f, size_t *at, struct xvt_formats_event *e);

/* Begin a file. kernel: its first words are "Linux RELEASE". Returns as xvt_formats_parse(). */
int xvt_formats_begin(struct xvt_formats *f, const char *build_id, const char *kernel,
		      const char *origin, const char **why);
/* Add an event, by ascending numbers. Returns as xvt_formats_parse(); *f stays as it was. */
int xvt_formats_add(struct xvt_formats *f, const char *system, const char *event, const char *text,
		    size_t text_len, const char **why);
/* The number of a format's text ("ID: 310"); 0: it has none. */
uint16_t xvt_formats_id(const char *text);

void xvt_formats_free(struct xvt_formats *f);

/* Returns whether the text is a build id: 8 to 64 hex digits, small letters, an even number. */
bool xvt_build_id_is(const char *text);
/* Take the build id out of ELF notes, as /sys/kernel/notes has them. Returns false if there is
 * none. */
bool xvt_build_id_of_notes(const uint8_t *notes, size_t len, char to[XVT_BUILD_ID_TEXT]);

#endif /* XVT_FORMATS_H */
