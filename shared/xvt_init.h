/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* xvt_init.h - what guest/formats/init.c leaves in memory for host/formats/boot.c. */
#ifndef XVT_INIT_H
#define XVT_INIT_H

#include "xvt_port.h"

#define XVT_INIT_DONE	0x31656e6f64747678ull /* "xvtdone1" */
#define XVT_INIT_FAILED 0x316c696166747678ull /* "xvtfail1" */
#define XVT_INIT_DATA	4096u

/* The memory begins with it. */
struct xvt_init_head {
	uint64_t how; /* XVT_INIT_*; else it did not end */
	uint64_t len; /* bytes of the archive or of the message at XVT_INIT_DATA */
};

#endif /* XVT_INIT_H */
