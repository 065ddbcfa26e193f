/* SPDX-License-Identifier: GPL-2.0 */
/* payload.h - what each event of a simulated guest holds: the truth about itself. */
#ifndef CLOCKS_PAYLOAD_H
#define CLOCKS_PAYLOAD_H

#include <stdint.h>

struct payload {
	uint64_t seq;	     /* in its ring, from 1 */
	uint64_t host_clock; /* the host's counter when the event's clock was read */
	uint32_t machine;
	uint32_t ring;
	uint64_t guest_clock;
};

#endif /* CLOCKS_PAYLOAD_H */
