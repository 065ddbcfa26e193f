/* SPDX-License-Identifier: GPL-2.0 */
/* relay.h - `xvt-guest relay`: what this kernel's ftrace records, into the rings of a region. */
#ifndef XVT_GUEST_RELAY_H
#define XVT_GUEST_RELAY_H

/* What the command takes: for its line of help. */
#define RELAY_OPTIONS "[--events SYS[:EVENT],...] [--region FILE] [--buffer KIB]"

/* Relays until SIGTERM or SIGINT. tracefs: where it is mounted. Returns 0, or 1 or 2 with the
 * reason on standard error, as an exit status. */
int relay_main(const char *tracefs, int argc, char **argv);

/* --- region.c --- */

#include "xvt_region.h"

struct relay_region {
	int fd;
	uint8_t *base;
	struct xvt_geometry g;
	bool formatted; /* nothing of an earlier relay's was there */
};

/*
 * Map the region in the file `spec`, or that of the first ivshmem device (NULL), and begin
 * a generation of `rings` relayed rings there. Returns 0, or -1 with the reason on standard error.
 */
int relay_region_open(struct relay_region *r, const char *spec, uint32_t rings);

/* --- instance.c --- */

/* An instance of ftrace. */
struct relay_instance {
	char dir[512];
	bool found; /* it was there: a relay before this one did not end in order */
};

/* Make the instance, or find it again, with this kernel's counter as its clock. buffer_kib: for
 * each CPU. Returns 0, or -1 with the reason on standard error. */
int relay_instance_open(struct relay_instance *in, const char *tracefs, unsigned int buffer_kib);
/* Switch `events` on, "SYS[:EVENT],..." with globs, and others off. Returns how many there are, or
 * -1 with the reason on standard error. */
int relay_instance_events(struct relay_instance *in, const char *events);
/* Call take(arg, system, event) for each event that is on. */
void relay_instance_each(const struct relay_instance *in,
			 void (*take)(void *arg, const char *system, const char *event), void *arg);
/* Returns 0 or -errno. */
int relay_instance_write(const struct relay_instance *in, const char *file, const char *text);
/* Events that a CPU has lost since the instance was made or emptied. */
uint64_t relay_instance_lost(const struct relay_instance *in, unsigned int cpu);
void relay_instance_remove(const struct relay_instance *in);

/* A whole small file as text; NULL: it cannot be read. To be freed. */
char *relay_read_file(const char *path, size_t *len);

#endif /* XVT_GUEST_RELAY_H */
