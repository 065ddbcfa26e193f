// SPDX-License-Identifier: GPL-2.0
/*
 * dat.c - trace.dat of trace-cmd, versions 6 and 7: DIR/VM.dat for each machine, with the host's
 * times. See dat.h. libtracecmd has no function that writes one: trace-cmd keeps those to itself,
 * and they take formats from a mounted tracefs and pages from files.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "export/dat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/vec.h"

/* Of a machine: a file has two words for each. */
#define CPUS_MAX   65536u
#define SPOOL_NAME ".pages"
/* Of compression; higher levels take longer than the rest of the export. */
#define LEVEL	   1u

/* -- machines and CPUs -------------------------------------------------------------- */

static struct dat_machine *machine_of(struct dat *d, const struct xvtrace_machine *machine)
{
	const bool known = machine && machine->number < d->machine_count;

	return &d->machines[known ? machine->number : d->machine_count];
}

/* A state is one of all its machine's CPUs, and stands once: in one that has events, if there are
 * any. NULL: the machine has no ring. */
static const struct xvtrace_ring *ring_of(const struct dat *d, const struct xvtrace_event *ev)
{
	const struct xvtrace_ring *first = NULL;

	if (ev->kind != XVTRACE_STATE)
		return ev->ring;
	for (uint32_t i = 0; i < d->ring_count; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(d->x->trace, i);

		if (!ring || ring->machine != ev->machine)
			continue;
		if (d->rings[i])
			return ring;
		first = first ? first : ring;
	}
	return first;
}

static bool has_place(const struct xvtrace_ring *ring)
{
	return !ring->thread && ring->cpu < DAT_CPUS_OF_LINUX;
}

/* Numbers of CPUs that the machine's own rings take. */
static void count_cpus(struct dat *d)
{
	for (uint32_t i = 0; i < d->ring_count; i++) {
		const struct xvtrace_ring *ring = xvtrace_ring(d->x->trace, i);
		struct dat_machine *m = machine_of(d, ring ? ring->machine : NULL);

		if (ring && has_place(ring) && ring->cpu >= m->cpus_of_vm)
			m->cpus_of_vm = ring->cpu + 1;
	}
}

/* The CPU of a ring. Rings of one vCPU share it: they were there one after the other. NULL: no
 * memory, or there are too many. */
static struct dat_cpu *new_cpu(struct dat *d, const struct xvtrace_ring *ring)
{
	struct dat_machine *m = machine_of(d, ring ? ring->machine : NULL);
	size_t at = ring && has_place(ring) ? ring->cpu : m->cpus_of_vm;

	if (!ring || !has_place(ring))
		at = m->cpu_count > at ? m->cpu_count : at;
	if (at >= CPUS_MAX || xvt_grow_zeroed(&m->cpus, &m->cpu_room, at + 1, sizeof(*m->cpus)))
		return NULL;
	if (at >= m->cpu_count)
		m->cpu_count = at + 1;
	if (!m->cpus[at])
		m->cpus[at] = calloc(1, sizeof(*m->cpus[at]));
	m->used = true;
	return m->cpus[at];
}

static struct dat_cpu *cpu_of(struct dat *d, const struct xvtrace_event *ev)
{
	const struct xvtrace_ring *ring = ring_of(d, ev);
	struct dat_cpu **c = &d->rings[ring ? ring->number : d->ring_count];

	if (!*c)
		*c = new_cpu(d, ring);
	return *c;
}

/* -- events ------------------------------------------------------------------------- */

static struct dat_type *type_of(struct dat *d, const struct xvtrace_event *ev)
{
	struct dat_type *type;

	if (ev->type->number >= d->type_room &&
	    xvt_grow_zeroed(&d->types, &d->type_room, ev->type->number + 1u, sizeof(*d->types)))
		return NULL;
	type = &d->types[ev->type->number];
	if (!type->known &&
	    dat_type_new(&machine_of(d, ev->machine)->types, d->x->reader, ev, type))
		return NULL;
	return type;
}

/* A record that is not as the guest wrote it. */
static int put_built(struct dat *d, struct dat_cpu *c, const struct xvtrace_event *ev,
		     const struct dat_type *type, uint64_t ns)
{
	uint8_t record[DAT_RECORD_MAX], *to;
	bool cut = false;
	uint16_t id;
	size_t len;
	int err = 0;

	if (type->how == DAT_AS) {
		len = dat_build_as(ev, type, record, &cut);
	} else if (type->how == DAT_BUILD) {
		len = dat_build(ev, type, record, &cut);
	} else {
		err = dat_rest(&machine_of(d, ev->machine)->types, &id);
		len = dat_build_rest(ev, id, record, &cut);
	}
	if (!err)
		err = dat_record(&d->spool, c, ns, len, &to);
	if (err)
		return err;
	memcpy(to, record, len);
	d->x->cut += cut;
	return 0;
}

/* The task of a record that is copied. */
static void put_no_task(uint8_t *to, const struct xvtrace_event *ev)
{
	const int32_t pid32 = dat_pid(ev);

	if (ev->data_len >= 8)
		memcpy(to + 4, &pid32, sizeof(pid32));
}

static int put_event(struct dat *d, const struct xvtrace_event *ev)
{
	struct dat_cpu *c = cpu_of(d, ev);
	uint64_t ns = ev->ns;
	struct dat_type *type;
	bool at_least;
	uint8_t *to;
	int err;

	if (!c)
		return -ENOMEM;
	at_least = ev->machine && ev->machine->ftrace;
	if (ev->kind == XVTRACE_LOST && (ev->lost || at_least))
		dat_lost(c, ev->lost, at_least);
	if (ev->kind != XVTRACE_EVENT && ev->kind != XVTRACE_STATE && !d->x->all)
		return 0;
	/* Time goes back only in a damaged file, but would make the pages unreadable. */
	if (ns < c->last_ns) {
		ns = c->last_ns;
		d->x->moved++;
	}
	type = type_of(d, ev);
	if (!type)
		return -ENOMEM;
	if (type->how != DAT_COPY || ev->data_len > DAT_RECORD_MAX)
		return put_built(d, c, ev, type, ns);
	err = dat_record(&d->spool, c, ns, ev->data_len, &to);
	if (err)
		return err;
	memcpy(to, ev->data, ev->data_len);
	memcpy(to, &type->id, sizeof(type->id));
	if (ev->pid < 0)
		put_no_task(to, ev);
	return 0;
}

/* -- all of it ---------------------------------------------------------------------- */

/* A file without a name, that goes when it is closed. */
static int open_spool(struct dat *d)
{
	d->spool.fd = openat(d->folder.fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (d->spool.fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		d->spool.fd = openat(d->folder.fd, SPOOL_NAME,
				     O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (d->spool.fd >= 0)
			unlinkat(d->folder.fd, SPOOL_NAME, 0);
	}
	return d->spool.fd < 0 ? xvt_folder_fail(&d->folder, -errno, NULL, NULL) : 0;
}

static int write_events(struct dat *d)
{
	const struct xvtrace_event *ev;
	int got, err = 0;

	while (!err && (got = xvt_export_next(d->x, &ev)) != 0)
		err = got < 0 ? got : put_event(d, ev);
	if (!err)
		err = dat_spool_flush(&d->spool);
	if (!err && d->spool.thread)
		err = dat_thread_wait(d->spool.thread);
	if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG || err == -EIO)
		xvt_folder_fail(&d->folder, err, NULL, NULL);
	return err;
}

static int begin(struct dat *d)
{
	const struct xvtrace_info *info = xvtrace_info(d->x->trace);
	int err = 0;

	d->ring_count = info->rings;
	d->machine_count = info->machines;
	d->rings = calloc((size_t)d->ring_count + 1, sizeof(*d->rings));
	d->machines = calloc((size_t)d->machine_count + 1, sizeof(*d->machines));
	if (!d->rings || !d->machines)
		return -ENOMEM;
	count_cpus(d);
	if (d->x->dat_version != 6)
		err = xvt_packer_new(&d->spool.packer, LEVEL);
	if (err == -ENOTSUP && !d->x->dat_version)
		err = 0;
	if (d->spool.packer)
		d->spool.thread = d->x->dat_thread;
	return err ? err : open_spool(d);
}

static void end(struct dat *d)
{
	/* First: a thread may still use the CPUs. */
	dat_spool_fini(&d->spool);
	for (uint32_t i = 0; d->machines && i <= d->machine_count; i++) {
		struct dat_machine *m = &d->machines[i];

		for (size_t k = 0; k < m->cpu_count; k++) {
			if (!m->cpus[k])
				continue;
			free(m->cpus[k]->block);
			free(m->cpus[k]->extents);
			free(m->cpus[k]);
		}
		free(m->cpus);
		free(m->types.ids);
		free(m->types.used);
	}
	free(d->machines);
	free(d->rings);
	for (size_t i = 0; i < d->type_room; i++)
		free(d->types[i].as);
	free(d->types);
}

int xvt_export_dat(struct xvt_export *x, const char *dir)
{
	struct dat d = { .x = x, .spool = { .fd = -1 } };
	int err = xvt_folder_open(&d.folder, x, dir);

	if (!err)
		err = begin(&d);
	if (!err)
		err = write_events(&d);
	for (uint32_t i = 0; !err && i <= d.machine_count; i++)
		if (d.machines[i].used)
			err = dat_write_file(&d, i);
	for (uint32_t i = 0; err && d.machines && i <= d.machine_count; i++)
		if (d.machines[i].used)
			dat_remove_file(&d, i);
	end(&d);
	if (err == -ENOTSUP && !x->failed[0])
		snprintf(x->error.text, sizeof(x->error.text),
			 "version 7 of trace.dat takes zstd, without which this xvtrace was built; "
			 "give --dat-version 6");
	xvt_folder_explain(&d.folder, err, NULL);
	xvt_folder_close(&d.folder);
	return err;
}
