/* SPDX-License-Identifier: GPL-2.0 */
/* container.h - from a member that a callback gets to the struct that it lies in. */
#ifndef XVT_CONTAINER_H
#define XVT_CONTAINER_H

#include <stddef.h>

/* ptr: to `member` of the struct `type`. */
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#endif /* XVT_CONTAINER_H */
