// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * writer.c - a writer of one xvtrace ring in one file, as docs/writing-a-writer.md says it. The
 * numbers in brackets are that page's steps. One context writes: no interrupts, no signals.
 *
 *   xvtrace region create REGION --size 256K --rings 1
 *   writer REGION COUNT BURST     (after each BURST of events it waits until all are taken)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xvt_abi.h" /* the layout, and loads and stores of a stated order; nothing else */

static struct xvt_region_hdr *hdr;
static struct xvt_ring_ctl *ctl;
static struct xvt_ring_host *host;
static uint8_t *data;
static uint64_t S, size, pos; /* of a sub-buffer, of the ring; end of what is written */
static uint64_t last_ts, last_epoch;
static bool proven; /* they are those of the last record */

static void begin_generation(void) /* [2] */
{
	const uint32_t number = hdr->generation + 1;
	struct xvt_ring_gen *gen = &ctl->gen[number % XVT_GEN_SLOTS];

	hdr->kind = XVT_KIND_USER;
	hdr->clock_id = XVT_CLOCK_NATIVE;
	snprintf(hdr->vm_name, sizeof(hdr->vm_name), "example");
	gen->prev_commit = ctl->commit;
	gen->prev_resv = ctl->backend == XVT_BACKEND_CAS ? ctl->resv : ctl->commit;
	gen->prev_nest = ctl->nest;
	pos = gen->start = (gen->prev_resv + S - 1) & ~(S - 1);
	xvt_store_release(&gen->generation, number);
	xvt_store(&ctl->nest, 0);
	xvt_store(&ctl->clock_id, XVT_CLOCK_NATIVE);
	xvt_store(&ctl->answer_seq, 0);
	xvt_store_release(&ctl->generation, number);
	xvt_store_release(&ctl->backend, XVT_BACKEND_NONE); /* resv changes its meaning */
	xvt_store_release(&ctl->resv, pos);
	xvt_store_release(&ctl->backend, XVT_BACKEND_CAS);
	xvt_store_release(&ctl->commit, pos);
	xvt_store_release(&hdr->generation, number);
	xvt_store(&ctl->type, XVT_RING_THREAD);
	xvt_store(&ctl->pid, (uint32_t)getpid());
	xvt_store(&ctl->tid, (uint32_t)getpid());
	xvt_store_release(&ctl->state, XVT_RING_ONLINE);
}

static uint64_t record_header(uint32_t id, uint64_t len, uint64_t ts)
{
	return (pos / size & 3) << XVT_H_LAP_SHIFT | (uint64_t)id << XVT_H_ID_SHIFT |
	       len / 8 << XVT_H_LEN8_SHIFT | (uint32_t)ts;
}

/* [4] False: the host has not taken what lies there. The open one is padded all the same. */
static bool open_subbuf(uint64_t need, uint64_t ts, uint32_t epoch, uint32_t mode)
{
	struct xvt_subbuf_hdr h = { .magic = XVT_SUBBUF_MAGIC, .hdr_len = sizeof(h) };
	const uint64_t left = -pos & (S - 1), cons = xvt_load_acquire(&host->cons);

	if (left) {
		xvt_store_release((uint64_t *)(data + pos % size),
				  record_header(XVT_ID_PAD_END, left < 32760 ? left : 32760, ts) |
					  XVT_H_DONE);
		pos += left;
		xvt_store(&ctl->resv, pos);
	}
	if (mode == XVT_ENABLE_STOP && pos + S - (cons & ~(S - 1)) > size)
		return false;
	h.flags = mode == XVT_ENABLE_OVERWRITE ? XVT_SUBBUF_F_OVERWRITE : 0;
	h.ts_base = ts;
	h.epoch = epoch;
	h.seq = pos / S;
	h.generation = ctl->generation;
	h.attempted = ctl->attempted; /* the event that opens it is among them */
	for (uint32_t i = 0; i < XVT_LOST_CAUSES; i++)
		h.lost[i] = (uint32_t)ctl->lost[i];
	xvt_store(&ctl->resv, pos + sizeof(h) + need);
	xvt_wmb(); /* the host looks at resv after it copied: it must see what is overwritten */
	memcpy(data + pos % size + 8, (uint8_t *)&h + 8, sizeof(h) - 8);
	xvt_barrier();
	memcpy(data + pos % size, &h, 8); /* the magic last */
	pos += sizeof(h);
	return true;
}

/* [3] True, or the cause of the loss in *cause. */
static bool put(uint32_t id, const void *payload, uint64_t len, uint32_t mode, uint32_t *cause)
{
	uint64_t need = 8 + ((len + 7) & ~7ull), full, ts, *rec;
	uint32_t epoch;

	do { /* a clock value between two equal loads of the epoch belongs to it */
		epoch = xvt_load(&host->epoch);
		xvt_barrier();
		ts = xvt_clock_read();
		xvt_barrier();
	} while (xvt_load(&host->epoch) != epoch);
	full = !proven || epoch != last_epoch || ts - last_ts >= 1ull << 32 ? XVT_H_FULL : 0;
	*cause = XVT_LOST_BIG;
	if (need > S - sizeof(struct xvt_subbuf_hdr) || need > (XVT_LEN8_MAX - 1) * 8)
		return false;
	*cause = XVT_LOST_FULL;
	if (!(pos & (S - 1)) || (pos & (S - 1)) + need + (full ? 8 : 0) > S) {
		if (!open_subbuf(need, ts, epoch, mode))
			return false;
		full = 0; /* ts_base has the time */
	}
	need += full ? 8 : 0;
	xvt_store(&ctl->resv, pos + need);
	rec = (uint64_t *)(data + pos % size);
	rec[need / 8 - 1] = 0; /* what the payload leaves of its last word */
	if (full)
		xvt_store(rec + 1, ts >> 32 | (uint64_t)epoch << 32);
	xvt_store(rec, record_header(id, need, ts) | full);
	memcpy(rec + (full ? 2 : 1), payload, len);
	xvt_store_release(rec, record_header(id, need, ts) | full | XVT_H_DONE);
	pos += need;
	last_ts = ts;
	last_epoch = epoch;
	return true;
}

static void event(uint32_t id, const void *payload, uint64_t len) /* [3] */
{
	const uint32_t counts = id >= XVT_ID_FIRST_EVENT;
	uint32_t mode, cause;

	xvt_store(&ctl->nest, 1);
	xvt_barrier(); /* enable after nest: a host that cleared it and sees nest 0 is sure */
	mode = xvt_load(&host->enable);
	if (mode != XVT_ENABLE_OFF) {
		xvt_store(&ctl->attempted, ctl->attempted + counts);
		proven = put(id, payload, len, mode, &cause);
		if (!proven)
			xvt_store(&ctl->lost[cause], ctl->lost[cause] + counts);
	}
	xvt_store_release(&ctl->commit, pos);
	xvt_store_release(&ctl->nest, 0);
}

static void answer(void) /* [5], [6] */
{
	uint64_t begin = xvt_clock_read(), seq;
	struct xvt_mark mark;

	do {
		mark.number = xvt_load_acquire(&host->mark_seq);
		mark.clock = xvt_clock_read_ordered();
		if (mark.number != ctl->mark_ack)
			event(XVT_ID_MARK, &mark, sizeof(mark));
		xvt_store_release(&ctl->mark_ack, mark.number);
		seq = xvt_load_acquire(&host->request_seq);
		if (seq == ctl->answer_seq)
			continue;
		begin = xvt_clock_read();
		xvt_store(&ctl->answer_clock, xvt_clock_read_ordered());
		xvt_store_release(&ctl->answer_seq, seq);
	} while (xvt_load(&host->request_more) && xvt_clock_read() - begin < 500000);
}

int main(int argc, char **argv)
{
	const int fd = argc == 4 ? open(argv[1], O_RDWR) : -1;
	uint64_t count, number[2] = { 0, 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 2;
	hdr = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (hdr == MAP_FAILED || xvt_load_acquire(&hdr->magic) != XVT_MAGIC || hdr->major != 1 ||
	    hdr->incompat || hdr->ring_count != 1) /* [1] */
		return 1;
	S = hdr->subbuf_size;
	size = S * hdr->subbuf_count;
	ctl = (void *)((uint8_t *)hdr + hdr->ctl_off); /* ring 0 of one */
	host = (void *)((uint8_t *)ctl + hdr->align);
	data = (uint8_t *)hdr + hdr->data_off;
	begin_generation();
	for (; !xvt_load(&host->enable); usleep(500))
		answer();
	for (count = strtoull(argv[2], NULL, 0); number[1] < count;) {
		for (uint64_t n = strtoull(argv[3], NULL, 0); n && number[1] < count; n--) {
			event(XVT_ID_U64, number, sizeof(number));
			number[1]++;
		}
		for (; xvt_load(&host->cons) != ctl->commit; usleep(500))
			answer();
	}
	xvt_store_release(&ctl->state, XVT_RING_OFFLINE);
	printf("attempted %lu\n", ctl->attempted);
	return 0;
}
