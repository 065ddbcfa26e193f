// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_symbols.c - the work that puts into the metadata area what events turn out to need: the
 * formats of their types (xvt_format.c), and the names of the functions whose addresses they hold.
 * The event path remembers each address once, in a hash table; the work looks the addresses up and
 * puts the symbols as lines of /proc/kallsyms with their size. The host asks for nothing.
 *
 * Lookups are limited for each second, and all names take a quarter of the metadata area at most,
 * so that formats that come later still fit.
 */
#include <linux/kallsyms.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "xvtrace.h"

static bool symbols = true;
module_param(symbols, bool, 0444);
MODULE_PARM_DESC(symbols, "1: name the functions whose addresses are in events (default 1); 0: the "
			  "host gets names only from xvt-guest ksyms");

#define PROBES	     16u    /* slots in which an address is looked for */
#define KNOWN_MAX    8192u  /* symbols that are named */
#define LOOKUP_BURST 4096u  /* lookups at once, after a rest; then */
#define LOOKUPS_MS   1u	    /* for each millisecond */
#define TEXT_BYTES   16384u /* of one metadata entry */
#define LINE_MAX     (KSYM_NAME_LEN + MODULE_NAME_LEN + 48)

struct extent {
	unsigned long begin, end;
};

struct names {
	unsigned long addresses[XVT_ADDRESS_SLOTS];
	unsigned long handled[BITS_TO_LONGS(XVT_ADDRESS_SLOTS)];
	struct extent known[KNOWN_MAX]; /* symbols that are in the metadata, by address */
	u32 known_count;
	u32 unnamed;   /* addresses that belong to no symbol */
	u32 allowance; /* lookups that are left */
	u64 refill_ns;
	u64 room; /* bytes of text that may still be put */
	u32 len;
	bool no_room;
	char text[TEXT_BYTES];
	char symbol[KSYM_SYMBOL_LEN];
};

unsigned long *xvt_addresses __read_mostly;
static struct names *names;
static bool table_full;

static void name_work(struct work_struct *unused);
static DECLARE_WORK(work, name_work);

/*
 * Context: any, NMI included. The count is raised after the address is in the table: a scan of the
 * table that follows a look at the count finds all addresses that are counted.
 */
void xvt_symbols_add(unsigned long *table, unsigned long address)
{
	struct xvt_region_hdr *h = xvt_guest.base;
	u32 at = xvt_address_slot(address), i;

	for (i = 0; i < PROBES; i++, at = (at + 1) % XVT_ADDRESS_SLOTS) {
		unsigned long was = READ_ONCE(table[at]);

		if (!was)
			was = cmpxchg(&table[at], 0, address);
		if (!was) {
			atomic_inc((atomic_t *)&h->symbols_wanted);
			return;
		}
		if (was == address)
			return;
	}
	WRITE_ONCE(table_full, true);
}
NOKPROBE_SYMBOL(xvt_symbols_add);

/* Index of the first known symbol that begins behind the address. */
static u32 first_behind(const struct names *n, unsigned long address)
{
	u32 from = 0, to = n->known_count;

	while (from < to) {
		u32 mid = from + (to - from) / 2;

		if (n->known[mid].begin > address)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

static void flush(struct names *n)
{
	if (n->len && xvt_meta_put(XVT_META_KSYMS, 0, NULL, 0, n->text, n->len))
		n->no_room = true;
	n->len = 0;
}

/* `at`: where it belongs among the known symbols; `module`: "[MODULE]", or empty. */
static void add_symbol(struct names *n, u32 at, struct extent of, const char *name,
		       const char *module)
{
	u32 len;

	if (n->len + LINE_MAX > TEXT_BYTES)
		flush(n);
	len = scnprintf(n->text + n->len, LINE_MAX, "%lx t %s %lx%s%s\n", of.begin, name,
			of.end - of.begin, *module ? "\t" : "", module);
	if (len > n->room || n->known_count == KNOWN_MAX) {
		n->no_room = true;
		return;
	}
	n->room -= len;
	n->len += len;
	memmove(&n->known[at + 1], &n->known[at], (n->known_count - at) * sizeof(n->known[0]));
	n->known[at] = of;
	n->known_count++;
}

/* Look an address up: "NAME+0xOFFSET/0xSIZE [MODULE]", or a number. */
static void look_up(struct names *n, unsigned long address)
{
	unsigned long offset, size, begin;
	char *plus, *module;

	n->allowance--;
	sprint_symbol(n->symbol, address);
	plus = strchr(n->symbol, '+');
	if (!plus || sscanf(plus, "+%lx/%lx", &offset, &size) != 2 || offset >= size) {
		n->unnamed++;
		return;
	}
	module = strstr(plus, " [");
	*plus = 0;
	begin = address - offset;
	add_symbol(n, first_behind(n, address), (struct extent){ begin, begin + size }, n->symbol,
		   module ? module + 1 : "");
}

static bool is_known(const struct names *n, unsigned long address)
{
	u32 at = first_behind(n, address);

	return at && address < n->known[at - 1].end;
}

/* Returns false if some addresses have to wait. */
static bool name_all(struct names *n)
{
	u32 at;

	for (at = 0; at < XVT_ADDRESS_SLOTS && !n->no_room; at++) {
		unsigned long address = READ_ONCE(n->addresses[at]);

		if (!address || test_bit(at, n->handled))
			continue;
		if (!is_known(n, address)) {
			if (!n->allowance)
				return false;
			look_up(n, address);
			cond_resched();
		}
		__set_bit(at, n->handled);
	}
	return true;
}

static void refill(struct names *n)
{
	u64 now_ns = ktime_get_ns();
	u64 ms = div_u64(now_ns - n->refill_ns, NSEC_PER_MSEC);

	n->allowance = min_t(u64, n->allowance + ms * LOOKUPS_MS, LOOKUP_BURST);
	n->refill_ns += ms * NSEC_PER_MSEC;
}

/* Returns false if some addresses have to wait. */
static bool send_names(struct names *n)
{
	bool had_room = !n->no_room, all;

	refill(n);
	all = name_all(n);
	flush(n);
	if (had_room && n->no_room)
		dev_info(&xvt_guest.pdev->dev,
			 "%u functions are named; names of others do not fit. For more, give the "
			 "region a larger meta_size or run xvt-guest ksyms\n",
			 n->known_count);
	return all;
}

static void name_work(struct work_struct *unused)
{
	struct xvt_region_hdr *h = xvt_guest.base;
	u32 wanted = xvt_load_acquire(&h->symbols_wanted);
	bool all = xvt_formats_send();

	if (names)
		all = send_names(names) && all;
	if (all)
		xvt_store_release(&h->symbols_done, wanted); /* pairs with the host's look */
}

/* Called by one CPU's timer. The work waits while the machine is being suspended. */
void xvt_symbols_poll(void)
{
	struct xvt_region_hdr *h = xvt_guest.base;

	xvt_formats_poll();
	if (xvt_load(&h->symbols_wanted) != xvt_load(&h->symbols_done))
		queue_work(system_freezable_wq, &work);
}

/* Before the sources of events start. Without memory events have numbers only. */
void xvt_symbols_start(void)
{
	struct xvt_region_hdr *h = xvt_guest.base;

	xvt_store(&h->symbols_wanted, 0);
	xvt_store(&h->symbols_done, 0);
	xvt_formats_start();
	table_full = false;
	if (!symbols) {
		/* An entry without text: the host reports that names are refused. */
		xvt_meta_put(XVT_META_KSYMS, 0, NULL, 0, NULL, 0);
		return;
	}
	names = kvzalloc(sizeof(*names), GFP_KERNEL);
	if (!names) {
		dev_warn(&xvt_guest.pdev->dev, "no memory to name functions in events\n");
		return;
	}
	names->allowance = LOOKUP_BURST;
	names->refill_ns = ktime_get_ns();
	names->room = xvt_guest.geo.meta_size / 4;
	WRITE_ONCE(xvt_addresses, names->addresses);
}

/* The sources of events are gone by now: name what is left, while the metadata area is there. */
void xvt_symbols_flush(void)
{
	if (READ_ONCE(xvt_guest.displaced))
		return;
	queue_work(system_freezable_wq, &work);
	flush_work(&work);
}

/* The timers are gone, too. */
void xvt_symbols_stop(void)
{
	WRITE_ONCE(xvt_addresses, NULL);
	cancel_work_sync(&work);
	kvfree(names);
	names = NULL;
}

/* Lines "NAME VALUE" into buf, a page; returns their length. */
int xvt_symbols_show(char *buf)
{
	const struct xvt_region_hdr *h = xvt_guest.base;

	if (!names)
		return sysfs_emit(buf, "allowed %d\n", symbols);
	return sysfs_emit(buf,
			  "allowed %d\naddresses %u\nseen_to %u\nsymbols %u\nunnamed %u\n"
			  "table_full %d\nno_room %d\n",
			  symbols, xvt_load(&h->symbols_wanted), xvt_load(&h->symbols_done),
			  names->known_count, names->unnamed, READ_ONCE(table_full),
			  names->no_room);
}
