// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_relayed.c - fuzz_region.c with a guest that relays pages of its ftrace: the recorder copies
 * them out of the region, unpacks them, and writes its own rings.
 */
#define FUZZ_RELAYED
#include "fuzz_region.c"
