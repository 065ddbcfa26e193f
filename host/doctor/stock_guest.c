// SPDX-License-Identifier: GPL-2.0
/*
 * stock_guest.c - see stock_guest.h.
 *
 * Linux 6.12 maps a ring buffer at boot into RAM alone: a range that is no RAM of the kernel's is
 * refused with a warning, and the guest boots without the ring. 6.15 and newer map any range. So
 * the ring of 6.12 to 6.14 is a part of the RAM that memmap= takes away from the kernel, and that
 * of newer ones may be the memory of a virtio-pmem device, which no driver needs to know.
 */
#include "doctor/stock_guest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/region.h"

#define MIB	   (1ull << 20)
#define GIB	   (1ull << 30)
#define ADDRESS	   "%#" PRIx64

#define RING_USUAL (8 * MIB) /* of a CPU: 2,044 pages, or some 120,000 task switches */
#define RING_MOST  GIB
/*
 * The part of the RAM begins at this address. Above lies ordinary RAM, in each section of 128 MiB
 * that the ring shares: of a section without any the kernel has no pages to map.
 */
#define RAM_AT	   (128 * MIB)
#define RAM_MOST   (64 * MIB) /* for a ring in the RAM */
/* Above the ring, with the initial RAM disk, which QEMU puts at the end. */
#define RAM_ABOVE  (64 * MIB)
#define GUEST_MOST (512 * GIB) /* QEMU moves the memory of larger guests on some processors */

#define SHORT_NAME 20u /* of a domain's folder: libvirt cuts the name there */
#define PLAIN	   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.+_~-"

static const char *const device_names[] = {
	[XVT_STOCK_AUTO] = "auto",
	[XVT_STOCK_RAM] = "ram",
	[XVT_STOCK_RESERVE] = "reserve",
	[XVT_STOCK_IVSHMEM] = "ivshmem",
	[XVT_STOCK_VIRTIO_PMEM] = "virtio-pmem",
};

const char *xvt_stock_device_name(enum xvt_stock_device device)
{
	return device_names[device];
}

/* ------------------------------------------------------------------ values of the request */

static bool has_only(const char *text, const char *others)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	size_t len = 0;

	while (text[len] && (strchr(letters, text[len]) || strchr(others, text[len])))
		len++;
	return len && !text[len];
}

/* Take the two numbers that a version begins with. Returns false if there are none. */
static bool parse_version(const char *text, struct xvt_stock_plan *p)
{
	int end = 0;

	return has_only(text, ".+-~_") && text[0] >= '0' && text[0] <= '9' && strlen(text) < 65 &&
	       sscanf(text, "%4u.%4u%n", &p->major, &p->minor, &end) == 2 &&
	       !(text[end] >= '0' && text[end] <= '9');
}

static bool is_since(const struct xvt_stock_plan *p, unsigned int major, unsigned int minor)
{
	return p->major > major || (p->major == major && p->minor >= minor);
}

static bool lies_in_file(const struct xvt_stock_request *r, const struct xvt_stock_plan *p)
{
	return !r->libvirt || p->device == XVT_STOCK_VIRTIO_PMEM;
}

/* Its file; "": the path is too long. */
static void choose_file(const struct xvt_stock_request *r, struct xvt_stock_plan *p)
{
	int len;

	if (r->file)
		len = snprintf(p->file, sizeof(p->file), "%s", r->file);
	else
		len = snprintf(p->file, sizeof(p->file), "%s/%s-ring", xvt_host_region_dir(),
			       r->name);
	if ((size_t)len >= sizeof(p->file))
		p->file[0] = 0;
}

/* A wrong value, and the option that has it; NULL: none. */
static const char *wrong_value(const struct xvt_stock_request *r, const struct xvt_stock_plan *p,
			       const char **what)
{
	*what = "--name";
	if (!has_only(r->name, "._-") || r->name[0] == '-' || strlen(r->name) >= 64)
		return "letters, digits and ._- are taken, 63 at most";
	if (!lies_in_file(r, p) && strlen(r->name) > SHORT_NAME)
		return "libvirt cuts it in the name of the memory's folder: 20 letters at most";
	*what = "--file";
	if (r->file && !lies_in_file(r, p))
		return "libvirt chooses the file of a domain's RAM";
	if (lies_in_file(r, p) && (p->file[0] != '/' || !has_only(p->file, "/._+-")))
		return "an absolute path of letters, digits and /._+- is taken, 255 at most";
	*what = "--events";
	if (r->events && (!has_only(r->events, "_:*,-") || strlen(r->events) > 512))
		return "SYSTEM:EVENT or SYSTEM, with commas between, 512 letters at most";
	*what = "--memory";
	if (r->ram_bytes % MIB || r->ram_bytes > GUEST_MOST)
		return "a multiple of 1M, 512G at most";
	*what = "--ring";
	if (r->ring_bytes % MIB || r->ring_bytes > RING_MOST)
		return "a multiple of 1M, 1G at most";
	if (p->device == XVT_STOCK_RAM && r->ring_bytes > RAM_MOST)
		return "64M at most in the guest's RAM";
	return NULL;
}

/* Why there is no plan for this kernel, or on this device; NULL: there is one. */
static const char *refusal(const struct xvt_stock_plan *p)
{
	if (p->device == XVT_STOCK_IVSHMEM)
		return "the memory of an ivshmem device is a PCI BAR. The guest hangs for ever "
		       "when "
		       "its kernel writes an event while that memory is switched off, as Linux "
		       "does "
		       "with each BAR when it looks for PCI devices. Take virtio-pmem or ram; "
		       "ivshmem is for the module";
	if (!is_since(p, 6, 12))
		return "a kernel before 6.12 cannot map its ring buffer into shared memory. Take "
		       "the "
		       "module (docs/guest.md, \"Build\"), or programs with libxvt";
	if (p->device == XVT_STOCK_VIRTIO_PMEM && !is_since(p, 6, 15))
		return "a kernel before 6.15 maps its ring buffer into RAM alone: it would boot "
		       "without the ring. Take ram or reserve";
	return NULL;
}

/* ------------------------------------------------------------------ pieces of a plan */

static void put(struct xvt_stock_plan *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Add a word of QEMU's, or a line of XML. */
static void put(struct xvt_stock_plan *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->vmm[p->nr_vmm++].text, XVT_STOCK_TEXT, format, args);
	va_end(args);
}

static void note(struct xvt_stock_plan *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void note(struct xvt_stock_plan *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->notes[p->nr_notes++].text, XVT_STOCK_TEXT, format, args);
	va_end(args);
}

static uint64_t mib(uint64_t bytes)
{
	return bytes / MIB;
}

/* "sched" is all of that system. */
static void put_events(const struct xvt_stock_request *r, char *to, size_t size)
{
	const char *at = r->events ? r->events : "sched,irq";
	size_t len = 0;

	to[0] = 0;
	while (*at && len < size) {
		const size_t word = strcspn(at, ",");

		len += (size_t)snprintf(to + len, size - len, ",%.*s%s", (int)word, at,
					memchr(at, ':', word) ? "" : ":*");
		at += word + (at[word] == ',');
	}
}

/*
 * Where memory devices of QEMU begin: behind the RAM that lies above 4 GiB, at a border of 1 GiB.
 * Machines of type q35 have less RAM below 4 GiB than those of type pc, so this is the later one;
 * the plan leaves room for both.
 */
static uint64_t device_memory(uint64_t ram_bytes)
{
	const uint64_t above = ram_bytes >= 2816 * MIB ? ram_bytes - 2 * GIB : 0;

	return 4 * GIB + (above + GIB - 1) / GIB * GIB;
}

/* ------------------------------------------------------------------ plans */

static void plan_ram(const struct xvt_stock_request *r, struct xvt_stock_plan *p)
{
	const uint64_t ring = mib(p->ring_bytes), below = mib(RAM_AT),
		       above = mib(r->ram_bytes) - below - ring;

	if (r->libvirt) {
		put(p, "<memory unit='MiB'>%" PRIu64 "</memory>", mib(r->ram_bytes));
		put(p, "<memoryBacking>");
		put(p, "  <source type='file'/>");
		put(p, "</memoryBacking>");
		put(p, "<cpu>");
		put(p, "  <numa>");
		put(p, "    <cell id='0' cpus='0-%" PRIu64 "' memory='%" PRIu64 "' unit='MiB'/>",
		    r->cpus - 1, below);
		put(p, "    <cell id='1' memory='%" PRIu64 "' unit='MiB' memAccess='shared'/>",
		    ring);
		put(p, "    <cell id='2' memory='%" PRIu64 "' unit='MiB'/>", above);
		put(p, "  </numa>");
		put(p, "</cpu>");
		snprintf(p->file, sizeof(p->file),
			 "/var/lib/libvirt/qemu/ram/$(virsh domid %s)-%s/ram-node1", r->name,
			 r->name);
	} else {
		put(p, "-m");
		put(p, "%" PRIu64 "M", mib(r->ram_bytes));
		put(p, "-object");
		put(p, "memory-backend-ram,id=xvt-below,size=%" PRIu64 "M", below);
		put(p, "-object");
		put(p, "memory-backend-file,id=xvt-ring,size=%" PRIu64 "M,mem-path=%s,share=on",
		    ring, p->file);
		put(p, "-object");
		put(p, "memory-backend-ram,id=xvt-above,size=%" PRIu64 "M", above);
		put(p, "-numa");
		put(p, "node,nodeid=0,cpus=0-%" PRIu64 ",memdev=xvt-below", r->cpus - 1);
		put(p, "-numa");
		put(p, "node,nodeid=1,memdev=xvt-ring");
		put(p, "-numa");
		put(p, "node,nodeid=2,memdev=xvt-above");
	}
	snprintf(p->kernel_words, sizeof(p->kernel_words),
		 "memmap=%" PRIu64 "M$" ADDRESS " trace_instance=xvt@" ADDRESS ":%" PRIu64 "M",
		 ring, (uint64_t)RAM_AT, (uint64_t)RAM_AT, ring);
	note(p,
	     "GRUB takes the $ for its own: /etc/default/grub needs memmap=%" PRIu64
	     "M\\\\\\$" ADDRESS,
	     ring, (uint64_t)RAM_AT);
	note(p, "memmap= is a word of x86 kernels; elsewhere take --device reserve");
}

static void plan_reserve(const struct xvt_stock_request *r, struct xvt_stock_plan *p)
{
	if (r->libvirt) {
		put(p, "<memory unit='MiB'>%" PRIu64 "</memory>", mib(r->ram_bytes));
		put(p, "<memoryBacking>");
		put(p, "  <source type='file'/>");
		put(p, "  <access mode='shared'/>");
		put(p, "</memoryBacking>");
		snprintf(p->file, sizeof(p->file),
			 "/var/lib/libvirt/qemu/ram/$(virsh domid %s)-%s/pc.ram", r->name, r->name);
	} else {
		put(p, "-m");
		put(p, "%" PRIu64 "M", mib(r->ram_bytes));
		put(p, "-object");
		put(p, "memory-backend-file,id=xvt-ram,size=%" PRIu64 "M,mem-path=%s,share=on",
		    mib(r->ram_bytes), p->file);
		put(p, "-machine");
		put(p, "memory-backend=xvt-ram");
	}
	snprintf(p->kernel_words, sizeof(p->kernel_words),
		 "reserve_mem=%" PRIu64 "M:4096:xvt trace_instance=xvt@xvt", mib(p->ring_bytes));
	note(p, "the recorder opens all of the guest's memory, and looks for the ring in it");
}

static void plan_virtio_pmem(const struct xvt_stock_request *r, struct xvt_stock_plan *p)
{
	const uint64_t ring = mib(p->ring_bytes), at = device_memory(r->ram_bytes);
	const uint64_t most = mib(r->ram_bytes + (p->ring_bytes + GIB - 1) / GIB * GIB + GIB);

	if (r->libvirt) {
		put(p, "<maxMemory slots='1' unit='MiB'>%" PRIu64 "</maxMemory>", most);
		put(p, "<memory unit='MiB'>%" PRIu64 "</memory>", mib(r->ram_bytes));
		put(p, "<cpu>");
		put(p, "  <numa>");
		put(p, "    <cell id='0' cpus='0-%" PRIu64 "' memory='%" PRIu64 "' unit='MiB'/>",
		    r->cpus - 1, mib(r->ram_bytes));
		put(p, "  </numa>");
		put(p, "</cpu>");
		put(p, "<devices>");
		put(p, "  <memory model='virtio-pmem' access='shared'>");
		put(p, "    <source><path>%s</path></source>", p->file);
		put(p, "    <target><size unit='MiB'>%" PRIu64 "</size></target>", ring);
		put(p, "  </memory>");
		put(p, "</devices>");
		put(p, "<qemu:commandline>");
		put(p, "  <qemu:arg value='-global'/>");
		put(p, "  <qemu:arg value='virtio-pmem.memaddr=" ADDRESS "'/>", at);
		put(p, "</qemu:commandline>");
	} else {
		put(p, "-m");
		put(p, "%" PRIu64 "M,slots=1,maxmem=%" PRIu64 "M", mib(r->ram_bytes), most);
		put(p, "-object");
		put(p, "memory-backend-file,id=xvt-ring,size=%" PRIu64 "M,mem-path=%s,share=on",
		    ring, p->file);
		put(p, "-device");
		put(p, "virtio-pmem-pci,memdev=xvt-ring,id=xvt-pmem,memaddr=" ADDRESS, at);
	}
	snprintf(p->kernel_words, sizeof(p->kernel_words),
		 "trace_instance=xvt@" ADDRESS ":%" PRIu64 "M", at, ring);
	note(p,
	     "the guest needs no driver of the device. If it has one, its /dev/pmem0 is the ring: "
	     "do not format or mount it");
}

/* Events have numbers alone, unless the recorder has the formats of that kernel. */
static void plan_formats(const struct xvt_stock_request *r, struct xvt_stock_plan *p)
{
	/* The release is a word of the user's, and this a line for a shell. */
	const bool plain = r->kernel[strspn(r->kernel, PLAIN)] == '\0';

	snprintf(p->formats, sizeof(p->formats), "xvtrace formats --kernel vmlinuz-%s",
		 plain ? r->kernel : "RELEASE");
	if (p->device != XVT_STOCK_RESERVE)
		note(p,
		     "this memory does not say which kernel it is. For names of events, add to its "
		     "file in the record command: ,kernel=RELEASE, as xvtrace formats lists it");
}

/* The kernel's words end in the events, of all devices. */
static void finish(const struct xvt_stock_request *r, struct xvt_stock_plan *p)
{
	const size_t len = strlen(p->kernel_words);
	const char *quote;

	put_events(r, p->kernel_words + len, sizeof(p->kernel_words) - len);
	if (lies_in_file(r, p))
		snprintf(p->prepare, sizeof(p->prepare),
			 "rm -f %s; (umask 077; truncate -s %" PRIu64 "M %s)", p->file,
			 mib(p->device == XVT_STOCK_RESERVE ? r->ram_bytes : p->ring_bytes),
			 p->file);
	else
		note(p, "libvirt has the file of the RAM on a disk, unless "
			"/etc/libvirt/qemu.conf says memory_backing_dir = \"/dev/shm\"; then the "
			"path begins with "
			"/dev/shm/libvirt/qemu/");
	quote = strchr(p->file, '$') ? "\"" : "";
	snprintf(p->record, sizeof(p->record), "xvtrace record -r %s%s=ftrace:%s%s -o %s.xvt",
		 quote, r->name, p->file, quote, r->name);
	plan_formats(r, p);
	note(p,
	     "the kernel stamps in ns of its own clock. For one that KVM knows exactly, early in "
	     "the boot: echo x86-tsc > /sys/kernel/tracing/instances/xvt/trace_clock");
	note(p, "lockdown=integrity allows this; with lockdown=confidentiality the kernel does not "
		"trace");
	note(p,
	     "do not read trace_pipe of the instance xvt in the guest: it takes events out of the "
	     "ring");
}

static const char *wrong_room(const struct xvt_stock_request *r, const struct xvt_stock_plan *p)
{
	if (p->device == XVT_STOCK_RAM && r->ram_bytes < RAM_AT + p->ring_bytes + RAM_ABOVE)
		return "too small: 128M lie below the ring, and 64M above it";
	if (p->device == XVT_STOCK_RESERVE && r->ram_bytes < 2 * p->ring_bytes)
		return "too small: the ring takes no more than half of it";
	return r->ram_bytes ? NULL : "the guest needs some";
}

static uint64_t usual_ring(const struct xvt_stock_request *r, const struct xvt_stock_plan *p)
{
	const uint64_t most = p->device == XVT_STOCK_RAM ? RAM_MOST : RING_MOST;

	return r->cpus < most / RING_USUAL ? r->cpus * RING_USUAL : most;
}

int xvt_stock_plan(const struct xvt_stock_request *request, struct xvt_stock_plan *plan,
		   const char **what, struct xvt_error *why)
{
	static void (*const plans[])(const struct xvt_stock_request *, struct xvt_stock_plan *) = {
		[XVT_STOCK_RAM] = plan_ram,
		[XVT_STOCK_RESERVE] = plan_reserve,
		[XVT_STOCK_VIRTIO_PMEM] = plan_virtio_pmem,
	};
	struct xvt_stock_plan *p = plan;
	const char *bad;

	memset(p, 0, sizeof(*p));
	*what = "--guest";
	if (!parse_version(request->kernel, p))
		return xvt_fail(why, -EINVAL,
				"not a version as `uname -r` prints it, such as 6.12.0");
	p->device = request->device;
	if (!p->device)
		p->device = is_since(p, 6, 15) ? XVT_STOCK_VIRTIO_PMEM : XVT_STOCK_RAM;
	bad = refusal(p);
	if (bad)
		return xvt_fail(why, -EOPNOTSUPP, "%s", bad);
	choose_file(request, p);
	bad = wrong_value(request, p, what);
	p->ring_bytes = request->ring_bytes ? request->ring_bytes : usual_ring(request, p);
	if (!bad) {
		*what = "--memory";
		bad = wrong_room(request, p);
	}
	if (bad)
		return xvt_fail(why, -EINVAL, "%s", bad);
	if (request->libvirt)
		put(p, p->device == XVT_STOCK_VIRTIO_PMEM
			       ? "<domain xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
			       : "<domain>");
	plans[p->device](request, p);
	if (request->libvirt)
		put(p, "</domain>");
	finish(request, p);
	return 0;
}
