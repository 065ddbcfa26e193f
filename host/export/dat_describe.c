// SPDX-License-Identifier: GPL-2.0
/* dat_describe.c - see dat.h. Descriptions of a machine's events in its trace.dat. */
#include "export/dat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char header_event[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";

const char dat_clocks[] = "local global counter uptime perf [" DAT_CLOCK "] mono_raw boot\n";

void dat_u16(struct dat_bytes *b, uint16_t v)
{
	dat_put(b, &v, sizeof(v));
}

void dat_u32(struct dat_bytes *b, uint32_t v)
{
	dat_put(b, &v, sizeof(v));
}

void dat_u64(struct dat_bytes *b, uint64_t v)
{
	dat_put(b, &v, sizeof(v));
}

static void put_text(struct dat_bytes *b, const char *name, const char *text)
{
	dat_put(b, name, strlen(name) + 1);
	dat_u64(b, strlen(text));
	dat_put_str(b, text);
}

void dat_headers(struct dat_bytes *b)
{
	put_text(b, "header_page", header_page);
	put_text(b, "header_event", header_event);
}

/* -- symbols and names -------------------------------------------------------------- */

/* Whether a line has text that a terminal shows as it is: what a guest gives as symbols may hold
 * anything. */
static bool is_plain(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((line[i] < ' ' || line[i] == 0x7f) && line[i] != '\t')
			return false;
	return len > 0;
}

/* "ADDR T NAME", and perhaps "\t[MODULE]" */
static bool is_ksym(const char *line, size_t len)
{
	const size_t digits = strspn(line, "0123456789abcdef");

	return digits && digits <= 16 && len > digits + 3 && line[digits] == ' ' &&
	       line[digits + 2] == ' ' && line[digits + 3] > ' ';
}

/* '0xADDR : "TEXT"' */
static bool is_printk(const char *line, size_t len)
{
	const size_t digits = len > 2 && line[0] == '0' && line[1] == 'x'
				      ? strspn(line + 2, "0123456789abcdef")
				      : 0;

	return digits && digits <= 16 && len > digits + 6 &&
	       strncmp(line + 2 + digits, " : \"", 4) == 0 && line[len - 1] == '"';
}

/* The whole lines of a piece that are symbols. The piece has no zero byte behind it. */
static void put_lines(struct dat_bytes *b, const char *text, size_t len,
		      bool (*is_line)(const char *line, size_t len))
{
	const char *const end = text + len;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			break;
		if (is_plain(text, (size_t)(stop - text)) && is_line(text, (size_t)(stop - text)))
			dat_put(b, text, (size_t)(stop - text) + 1);
		text = stop + 1;
	}
}

void dat_symbols(struct dat_bytes *b, struct dat *d, uint32_t at, enum xvtrace_symbols what)
{
	const size_t from = b->used;
	const char *text;
	uint32_t bytes;
	size_t len;

	dat_u32(b, 0);
	for (size_t i = 0; xvtrace_reader_symbols(d->x->reader, at, what, i, &text, &len) == 0; i++)
		put_lines(b, text, len, what == XVTRACE_KSYMS ? is_ksym : is_printk);
	bytes = (uint32_t)(b->used - from - 4);
	if (!b->failed)
		memcpy(b->p + from, &bytes, sizeof(bytes));
}

void dat_comms(struct dat_bytes *b, struct dat *d, uint32_t at)
{
	const size_t from = b->used;
	const char *comm;
	uint64_t bytes;
	size_t next = 0;
	int pid;

	dat_u64(b, 0);
	dat_printf(b, "%d unknown\n", DAT_NO_TASK);
	while (xvtrace_reader_task(d->x->reader, at, &next, &pid, &comm) > 0) {
		if (pid <= 0 || !comm[0])
			continue;
		dat_printf(b, "%d ", pid);
		for (; *comm; comm++)
			dat_put(b, *comm == '\n' ? "?" : comm, 1);
		dat_put(b, "\n", 1);
	}
	bytes = b->used - from - 8;
	if (!b->failed)
		memcpy(b->p + from, &bytes, sizeof(bytes));
}

/* -- options ------------------------------------------------------------------------ */

void dat_option(struct dat_bytes *b, uint16_t id, const void *data, size_t len)
{
	dat_u16(b, id);
	dat_u32(b, (uint32_t)len);
	dat_put(b, data, len);
}

/* A number for the machine in this trace, not 0; the file of the host names those of its guests. */
static uint64_t trace_id(const struct dat *d, uint32_t at)
{
	uint64_t id;

	memcpy(&id, xvtrace_info(d->x->trace)->uuid, sizeof(id));
	id += (at + 1ull) * 0x9e3779b97f4a7c15ull;
	return id ? id : 1;
}

static void put_cpu_stat(struct dat_bytes *b, const struct dat_cpu *c, size_t number)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "CPU: %zu\nentries: 0\noverrun: %llu\ncommit overrun: 0\n", number,
			 (unsigned long long)c->lost);

	dat_option(b, DAT_OPTION_CPUSTAT, text, (size_t)n + 1);
}

/* The thread of each vCPU of a guest, by its number; -1: not known. Returns how many are known. */
static uint32_t threads_of_vcpus(const struct dat *d, uint32_t host, uint32_t guest, int32_t *tids,
				 uint32_t count)
{
	uint32_t known = 0;
	struct xvtrace_vcpu v;
	size_t at = 0;

	memset(tids, -1, count * sizeof(*tids));
	while (xvtrace_reader_vcpu(d->x->reader, host, &at, &v) > 0)
		for (uint32_t i = 0; v.machine->number == guest && i < count; i++)
			if (v.vcpu == i || (v.vcpu == XVTRACE_ALL_VCPUS && tids[i] < 0)) {
				tids[i] = v.tid;
				known++;
			}
	return known;
}

/* The numbers of vCPUs are below this: those with rings, and those with threads. */
static uint32_t count_vcpus(const struct dat *d, uint32_t host, uint32_t guest)
{
	uint32_t count = d->machines[guest].cpus_of_vm;
	struct xvtrace_vcpu v;
	size_t at = 0;

	while (xvtrace_reader_vcpu(d->x->reader, host, &at, &v) > 0)
		if (v.machine->number == guest && v.vcpu >= count && v.vcpu < DAT_CPUS_OF_LINUX)
			count = v.vcpu + 1;
	return count;
}

/*
 * In the file of the host: a guest's name, the number of its file, and the thread of each vCPU. By
 * that KernelShark shows when the host ran them. Readers take no number above the count, so vCPUs
 * without a known thread are in the list.
 */
static void put_guest(struct dat_bytes *b, const struct dat *d, uint32_t host, uint32_t guest)
{
	const struct xvtrace_machine *machine = xvtrace_machine(d->x->trace, guest);
	const uint32_t count = count_vcpus(d, host, guest);
	const uint64_t id = trace_id(d, guest);
	struct dat_bytes data = { 0 };
	int32_t *tids;

	if (!machine || !count)
		return;
	tids = malloc(count * sizeof(*tids));
	if (!tids) {
		b->failed = true;
		return;
	}
	dat_put(&data, machine->name, strlen(machine->name) + 1);
	dat_u64(&data, id);
	dat_u32(&data, count);
	if (threads_of_vcpus(d, host, guest, tids, count)) {
		for (uint32_t i = 0; i < count; i++) {
			dat_u32(&data, i);
			dat_u32(&data, (uint32_t)tids[i]);
		}
		dat_option(b, DAT_OPTION_GUEST, data.p, data.used);
	}
	b->failed |= data.failed;
	free(data.p);
	free(tids);
}

static void put_guests(struct dat_bytes *b, const struct dat *d, uint32_t host)
{
	const struct xvtrace_machine *machine = xvtrace_machine(d->x->trace, host);

	for (uint32_t i = 0; machine && machine->host && i < d->machine_count; i++)
		if (i != host && d->machines[i].used)
			put_guest(b, d, host, i);
}

void dat_options(struct dat_bytes *b, const struct dat *d, uint32_t at)
{
	const struct dat_machine *m = &d->machines[at];
	const uint64_t id = trace_id(d, at);

	for (size_t i = 0; i < m->cpu_count; i++)
		if (m->cpus[i])
			put_cpu_stat(b, m->cpus[i], i);
	dat_option(b, DAT_OPTION_TRACECLOCK, dat_clocks, strlen(dat_clocks) + 1);
	dat_option(b, DAT_OPTION_VERSION, "xvtrace", sizeof("xvtrace"));
	dat_option(b, DAT_OPTION_TRACEID, &id, sizeof(id));
	put_guests(b, d, at);
}
