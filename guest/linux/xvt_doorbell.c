// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_doorbell.c - wake the host: a write to our own device's Doorbell register, where the device
 * is an ivshmem-doorbell. The host's word says which peer it wakes. A senseless word wakes none,
 * and nothing but that register is ever written.
 */
#include <linux/io.h>

#include "xvtrace.h"

#define BAR_REGISTERS 0
#define BAR_MSIX      1 /* only the model that has doorbells has it */
#define DOORBELL      12

static u64 seen; /* the last word that was rung for to show that we can */

/* Not writel(), which is a tracepoint on some kernels: its event would come here again. */
static __always_inline void ring(u64 word)
{
	if (word & XVT_DOORBELL_VALID)
		__raw_writel((u32)word, xvt_guest.registers + DOORBELL);
}

/* The writer's kick: any context, NMI too, while xvt_open. The fence lies before. */
void notrace xvt_doorbell_kick(void *unused)
{
	ring(xvt_load(&xvt_host_page()->doorbell));
}
NOKPROBE_SYMBOL(xvt_doorbell_kick);

/* Called by one CPU's timer. */
void xvt_doorbell_poll(void)
{
	u64 word = xvt_load(&xvt_host_page()->doorbell);

	if (!xvt_guest.registers || word == seen)
		return;
	seen = word;
	ring(word);
}

/* No doorbell is no error: the host polls. */
void xvt_doorbell_map(struct xvt_guest *g)
{
	seen = 0;
	g->registers = NULL;
	if (!pci_resource_len(g->pdev, BAR_MSIX) ||
	    pci_resource_len(g->pdev, BAR_REGISTERS) < DOORBELL + sizeof(u32))
		return;
	if (pci_request_region(g->pdev, BAR_REGISTERS, "xvtrace")) {
		dev_warn(&g->pdev->dev, "BAR 0 is in use by another driver; no doorbell\n");
		return;
	}
	g->registers = pci_iomap(g->pdev, BAR_REGISTERS, 0);
	if (g->registers)
		return;
	dev_warn(&g->pdev->dev, "BAR 0 cannot be mapped; no doorbell\n");
	pci_release_region(g->pdev, BAR_REGISTERS);
}

/* No event is open, and no timer runs. */
void xvt_doorbell_unmap(struct xvt_guest *g)
{
	if (!g->registers)
		return;
	pci_iounmap(g->pdev, g->registers);
	g->registers = NULL;
	pci_release_region(g->pdev, BAR_REGISTERS);
}
