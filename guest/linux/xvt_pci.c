// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_pci.c - find QEMU's ivshmem device, map its memory write-back, and start and stop the
 * rest in order. Knows nothing of rings.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "xvtrace.h"

#define IVSHMEM_VENDOR	 0x1af4
#define IVSHMEM_DEVICE	 0x1110
#define IVSHMEM_BAR	 2
#define IVSHMEM_REVISION 1

/* An uncached read takes hundreds of ns, a cached one less than one. */
#define SLOW_FACTOR	 16

static bool allow_uncached;
module_param(allow_uncached, bool, 0444);
MODULE_PARM_DESC(
	allow_uncached,
	"1: use a region that is mapped uncached, where each event costs microseconds (default 0)");

static char *device = "";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device,
		 "PCI address of the ivshmem device to use, such as 0000:00:05.0 (default: the one "
		 "there is, or the first that holds a region)");

/* The address that `device` gives. */
static struct {
	bool given;
	int domain;
	unsigned int bus, devfn;
} chosen;

/* Why the last device was refused, for xvt_init(). */
static int refused;

/* Cost of a read in picoseconds, the best of several rounds: others may steal the CPU. */
static u64 read_cost_ps(const void *addr)
{
	const u32 reads = 256, rounds = 16;
	const u64 *word = addr;
	u64 best_ns = U64_MAX;
	u32 i, round;

	for (round = 0; round < rounds; round++) {
		unsigned long flags;
		u64 start_ns, took_ns;

		local_irq_save(flags);
		start_ns = ktime_get_ns();
		for (i = 0; i < reads; i++)
			(void)READ_ONCE(*word);
		took_ns = ktime_get_ns() - start_ns;
		local_irq_restore(flags);
		best_ns = min(best_ns, took_ns);
	}
	return max(best_ns * 1000 / reads, 1ull);
}

/* Map page by page what memremap() would not map write-back. */
static void *map_pages(phys_addr_t start, u64 size)
{
#if IS_ENABLED(CONFIG_VMAP_PFN)
	unsigned long i, count = size >> PAGE_SHIFT;
	unsigned long *pfns = kvmalloc_array(count, sizeof(*pfns), GFP_KERNEL);
	void *base;

	if (!pfns)
		return NULL;
	for (i = 0; i < count; i++)
		pfns[i] = PHYS_PFN(start) + i;
	base = vmap_pfn(pfns, count, PAGE_KERNEL);
	kvfree(pfns);
	return base;
#else
	return NULL;
#endif
}

static void unmap_region(struct xvt_guest *g)
{
	if (g->vmapped)
		vunmap(g->base);
	else
		memunmap(g->base);
	g->base = NULL;
	g->vmapped = false;
}

/*
 * memremap() asks for write-back and gets what the MTRRs allow. Firmware sets them to
 * uncached where PCI devices live, and an AMD host obeys the page table that follows from
 * that; but this is memory, and KVM does not look at the guest's MTRRs. Ask once more without them,
 * therefore, and believe the measurement only.
 */
static int map_region(struct xvt_guest *g)
{
	phys_addr_t start = pci_resource_start(g->pdev, IVSHMEM_BAR);
	u64 size = pci_resource_len(g->pdev, IVSHMEM_BAR);
	struct device *dev = &g->pdev->dev;
	static u64 ordinary;
	u64 expected_ps;

	g->vmapped = false;
	g->base = memremap(start, size, MEMREMAP_WB);
	if (!g->base) {
		dev_err(dev, "cannot map the region of %llu bytes\n", size);
		return -ENOMEM;
	}
	g->cached = xvt_mapped_cached(g->base);
	if (!g->cached) {
		void *base = map_pages(start, size);

		if (base) {
			memunmap(g->base);
			g->base = base;
			g->vmapped = true;
			g->cached = xvt_mapped_cached(base);
		}
	}
	expected_ps = read_cost_ps(&ordinary);
	g->access_ps = read_cost_ps(g->base);
	if (g->access_ps < expected_ps * SLOW_FACTOR)
		return 0;
	g->cached = false;
	if (allow_uncached) {
		dev_warn(dev,
			 "region is not cached: a read takes %llu ps, of ordinary memory %llu; "
			 "going on as allow_uncached=1 says\n",
			 g->access_ps, expected_ps);
		return 0;
	}
	dev_err(dev,
		"region is not cached: a read takes %llu ps, of ordinary memory %llu; each event "
		"would cost microseconds. docs/guest.md, \"Uncached regions\", says what to do; "
		"allow_uncached=1 uses it as it is\n",
		g->access_ps, expected_ps);
	unmap_region(g);
	return -EIO;
}

static const char *why_taken(const struct xvt_guest *g)
{
	if (chosen.given)
		return "is the one that device= names";
	return g->formatted ? "is the only one that is new and fits" : "holds a region";
}

static void announce(struct xvt_guest *g)
{
	const struct xvt_geometry *geo = &g->geo;

	dev_info(&g->pdev->dev,
		 "region %llu KiB: %u rings of %u x %u bytes for %u of %u possible CPUs, metadata "
		 "%llu "
		 "KiB; generation %u, mapped %s by %s (read %llu ps), clock %llu Hz%s%s; taken "
		 "because it %s\n",
		 geo->region_size >> 10, geo->ring_count, geo->subbuf_count, geo->subbuf_size,
		 num_present_cpus(), num_possible_cpus(), geo->meta_size >> 10, g->generation,
		 g->cached ? "write-back" : "uncached", g->vmapped ? "vmap_pfn" : "memremap",
		 g->access_ps, xvt_clock_hz(),
		 xvt_clock_stable() ? "" : ", which the kernel calls unstable",
		 g->registers ? "; with a doorbell" : "", why_taken(g));
}

static int start_all(struct xvt_guest *g)
{
	int err = map_region(g);

	if (err)
		return err;
	xvt_doorbell_map(g);
	err = xvt_core_start(g);
	if (err)
		goto err_unmap;
	err = xvt_meta_start(g, xvt_sysfs_groups);
	if (err)
		goto err_core;
	xvt_symbols_start();
	/* A probe that this kernel does not have is no reason to go without the rest. */
	xvt_probes_start();
	err = xvt_export_start();
	if (err)
		goto err_probes;
	xvt_hooks_start();
	xvt_panic_start();
	announce(g);
	return 0;

err_probes:
	xvt_probes_stop();
	xvt_meta_stop();
err_core:
	xvt_core_stop(g);
err_unmap:
	xvt_doorbell_unmap(g);
	unmap_region(g);
	return err;
}

/* Read `device`, whose domain may be left out. */
static int parse_device(void)
{
	unsigned int domain = 0, bus, slot, function;
	char more;

	if (!*device)
		return 0;
	if (sscanf(device, "%x:%x:%x.%x%c", &domain, &bus, &slot, &function, &more) != 4) {
		domain = 0;
		if (sscanf(device, "%x:%x.%x%c", &bus, &slot, &function, &more) != 3)
			goto wrong;
	}
	if (domain > INT_MAX || bus > 0xff || slot > 0x1f || function > 7)
		goto wrong;
	chosen.given = true;
	chosen.domain = (int)domain;
	chosen.bus = bus;
	chosen.devfn = PCI_DEVFN(slot, function);
	return 0;
wrong:
	pr_err("xvtrace: device=%s is no PCI address, such as 0000:00:05.0\n", device);
	return -EINVAL;
}

static bool is_chosen(const struct pci_dev *pdev)
{
	return !chosen.given || (pci_domain_nr(pdev->bus) == chosen.domain &&
				 pdev->bus->number == chosen.bus && pdev->devfn == chosen.devfn);
}

/* The device that was chosen was not probed: say why. Returns 0 if it may still be plugged in. */
static int explain_missing(void)
{
	struct pci_dev *pdev = pci_get_domain_bus_and_slot(chosen.domain, chosen.bus, chosen.devfn);
	int err = -EBUSY;

	if (!pdev) {
		pr_warn("xvtrace: device=%s: there is no such PCI device; waiting for one\n",
			device);
		return 0;
	}
	if (pdev->vendor != IVSHMEM_VENDOR || pdev->device != IVSHMEM_DEVICE) {
		pr_err("xvtrace: device=%s is no ivshmem device (%04x:%04x), but %04x:%04x\n",
		       device, IVSHMEM_VENDOR, IVSHMEM_DEVICE, pdev->vendor, pdev->device);
		err = -ENODEV;
	} else {
		pr_err("xvtrace: device=%s is kept for another driver (driver, driver_override)\n",
		       device);
	}
	pci_dev_put(pdev);
	return err;
}

/* The begin of a device's memory, which no driver has. Returns false if it cannot be read. */
static bool peek(struct pci_dev *pdev, u64 *first)
{
	phys_addr_t start = pci_resource_start(pdev, IVSHMEM_BAR);
	bool ok = false;
	void *base;

	if (!start || pci_resource_len(pdev, IVSHMEM_BAR) < PAGE_SIZE)
		return false;
	if (pci_enable_device_mem(pdev))
		return false;
	base = memremap(start, PAGE_SIZE, MEMREMAP_WB);
	if (base) {
		*first = READ_ONCE(*(u64 *)base);
		memunmap(base);
		ok = true;
	}
	pci_disable_device(pdev);
	return ok;
}

/*
 * May this device be the one that is meant for us, for all that can be seen of it? The device's
 * memory is new or holds a region, it has room for a region, and it is what QEMU has made since 2.6
 * (revision 1).
 */
static bool may_be_meant(struct pci_dev *pdev)
{
	u64 first;

	if (pdev->revision < IVSHMEM_REVISION ||
	    pci_resource_len(pdev, IVSHMEM_BAR) <
		    xvt_region_min_size(num_present_cpus(), PAGE_SIZE))
		return false;
	return peek(pdev, &first) && (!first || first == XVT_MAGIC);
}

/* Another one that no driver has, and that may be meant: new memory is left alone then. */
static bool has_rivals(const struct pci_dev *pdev)
{
	struct pci_dev *other = NULL;

	while ((other = pci_get_device(IVSHMEM_VENDOR, IVSHMEM_DEVICE, other))) {
		if (other == pdev || other->dev.driver || !may_be_meant(other))
			continue;
		pci_dev_put(other);
		return true;
	}
	return false;
}

static int xvt_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct xvt_guest *g = &xvt_guest;
	int err;

	if (!is_chosen(pdev))
		return -ENODEV;
	if (g->pdev) {
		dev_err(&pdev->dev, "%s is this guest's region already; one guest has one\n",
			pci_name(g->pdev));
		return -EBUSY;
	}
	err = pci_enable_device_mem(pdev);
	if (err) {
		dev_err(&pdev->dev, "cannot be enabled (%d)\n", err);
		return err;
	}
	/* A bridge without a large enough prefetchable window leaves the BAR unassigned. */
	if (!pci_resource_start(pdev, IVSHMEM_BAR) || !pci_resource_len(pdev, IVSHMEM_BAR)) {
		dev_err(&pdev->dev, "BAR 2 has no address: no room behind its bridge? (hot-plug on "
				    "q35 needs pref64-reserve)\n");
		err = -ENODEV;
		goto err_disable;
	}
	err = pci_request_region(pdev, IVSHMEM_BAR, "xvtrace");
	if (err) {
		dev_err(&pdev->dev, "BAR 2 is in use by another driver\n");
		goto err_disable;
	}
	g->pdev = pdev;
	g->may_format = chosen.given || !has_rivals(pdev);
	err = start_all(g);
	if (err)
		goto err_release;
	return 0;

err_release:
	g->pdev = NULL;
	pci_release_region(pdev, IVSHMEM_BAR);
err_disable:
	pci_disable_device(pdev);
	refused = err;
	return err;
}

/*
 * Also at hot-unplug. Sources of events first, then what they use; between the two each
 * waits until no CPU is inside.
 */
static void xvt_remove(struct pci_dev *pdev)
{
	struct xvt_guest *g = &xvt_guest;

	xvt_panic_stop();
	xvt_hooks_stop();
	xvt_export_stop();
	xvt_probes_stop();
	xvt_symbols_flush();
	xvt_meta_stop();
	xvt_core_stop(g);
	xvt_doorbell_unmap(g);
	unmap_region(g);
	g->pdev = NULL;
	pci_release_region(pdev, IVSHMEM_BAR);
	pci_disable_device(pdev);
}

static int xvt_suspend_noirq(struct device *dev)
{
	xvt_core_suspend(&xvt_guest);
	return 0;
}

static int xvt_resume_noirq(struct device *dev)
{
	xvt_core_resume(&xvt_guest);
	return 0;
}

static int xvt_restore_noirq(struct device *dev)
{
	xvt_core_restore(&xvt_guest);
	return 0;
}

static const struct dev_pm_ops xvt_pm_ops = {
	.suspend_noirq = xvt_suspend_noirq,
	.resume_noirq = xvt_resume_noirq,
	.freeze_noirq = xvt_suspend_noirq,
	.thaw_noirq = xvt_resume_noirq,
	.poweroff_noirq = xvt_suspend_noirq,
	.restore_noirq = xvt_restore_noirq,
};

static const struct pci_device_id xvt_ids[] = {
	{ PCI_DEVICE(IVSHMEM_VENDOR, IVSHMEM_DEVICE) },
	{ 0 },
};
MODULE_DEVICE_TABLE(pci, xvt_ids);

static struct pci_driver xvt_driver = {
	.name = "xvtrace",
	.id_table = xvt_ids,
	.probe = xvt_probe,
	.remove = xvt_remove,
	.driver.pm = &xvt_pm_ops,
};

/* A device that is there and was refused is an error; one that is not there may come later. */
static int __init xvt_init(void)
{
	int err = parse_device();

	if (!err)
		err = pci_register_driver(&xvt_driver);
	if (err || xvt_guest.pdev)
		return err;
	if (refused)
		err = refused;
	else if (chosen.given)
		err = explain_missing();
	if (err)
		pci_unregister_driver(&xvt_driver);
	return err;
}
module_init(xvt_init);

static void __exit xvt_exit(void)
{
	pci_unregister_driver(&xvt_driver);
}
module_exit(xvt_exit);

MODULE_DESCRIPTION("Guest side of xvtrace: trace events into memory shared with the host");
MODULE_AUTHOR("The xvtrace authors");
MODULE_LICENSE("GPL");
