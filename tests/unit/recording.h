/* SPDX-License-Identifier: GPL-2.0 */
/*
 * recording.h - a recording of one machine, "g1", over real shared memory and into memory: what
 * the tests of the session begin with. The machine's vCPUs are the test's own code, or there are
 * none.
 */
#ifndef XVT_TEST_RECORDING_H
#define XVT_TEST_RECORDING_H

#include "phase.h"
#include "session/parts.h"
#include "synth.h"
#include "trace/read.h"
#include "xvt_region.h"

#define RECORDING_REGION_SIZE (256u << 10)

struct recording {
	struct xvt_loop *loop;
	struct xvt_session *s;
	struct xvt_vm *vm; /* attached */
	struct synth_sink sink;
	struct xvt_geometry g;
	uint8_t *map; /* the guest's */
};

/* Sub-buffers of 1 KiB, so that borders come soon. All rings have state, as if a writer had used
 * them before. */
void recording_begin(struct recording *r, uint32_t rings, const struct xvt_session_options *opt);
/* The same with rings that no writer has used: none has state. */
void recording_begin_unused(struct recording *r, uint32_t rings,
			    const struct xvt_session_options *opt);
/* Gives one of these its state. */
struct xvt_ring *recording_use(struct recording *r, uint32_t ring);
/* Finishes the session, unless r->s is NULL. */
void recording_end(struct recording *r);

/* The chunk of the trace at *at, which moves behind it; NULL at the end of what is written. */
const struct xvt_chunk_hdr *recording_chunk(const struct recording *r, size_t *at);

/* The trace as far as it is written. */
struct xvt_trace *recording_open(struct recording *r);

#endif /* XVT_TEST_RECORDING_H */
