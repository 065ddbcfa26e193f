/* SPDX-License-Identifier: GPL-2.0 */
/* plug.h - what attach and detach share. */
#ifndef XVT_PLUG_H
#define XVT_PLUG_H

#include <stdbool.h>
#include <stdint.h>

/* Wait until `done` returns true, for at most timeout_ns. Returns whether it did. */
bool xvt_plug_wait(bool (*done)(void *arg), void *arg, uint64_t timeout_ns);

/* The path of the region of a machine without libvirt. Returns false, after an error message, if no
 * file can have the name. */
#define XVT_PLUG_PATH 4096
bool xvt_plug_region(const char *name, char path[XVT_PLUG_PATH]);

#endif /* XVT_PLUG_H */
