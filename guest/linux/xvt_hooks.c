// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_hooks.c - what ftrace writes into its own ring and does not export: trace_printk(),
 * trace_puts() and kernel stacks. A kprobe at the entry of the kernel function that writes one
 * makes the same record here, of the function's arguments. Nothing else pays for it: these
 * functions run for no other event.
 *
 * The kprobes stay breakpoints (a post handler forbids the kernel to make jumps of them): from
 * a breakpoint's frame the unwinder finds its way, and the handler knows in what context it is.
 * A breakpoint inside a kprobe's handler runs no handler. So the scratch memory of a CPU has one
 * user, and what such a breakpoint would have recorded is counted as lost.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/stacktrace.h>
#include <linux/trace_events.h>

#include "xvtrace.h"

static bool hooks = true;
module_param(hooks, bool, 0444);
MODULE_PARM_DESC(hooks, "1: record trace_printk, trace_puts and kernel stacks, by kprobes "
			"(default 1)");

/* Sizes of the kernel's own buffers: what is too long there is too long here. */
#define TEXT_BYTES     1024
#define STACK_ENTRIES  512
/* Of __ftrace_trace_stack()'s parameter skip; the kernel passes less than ten. */
#define STACK_SKIP_MAX 16

/* As in the kernel's trace_entries.h. */
struct print_record {
	struct trace_entry ent;
	unsigned long ip;
	char buf[];
};

struct binary_record {
	struct trace_entry ent;
	unsigned long ip;
	const char *text; /* the format of a bprint, the string of a bputs */
	u32 buf[];
};

struct stack_record {
	struct trace_entry ent;
	int size;
	unsigned long caller[];
};

struct scratch {
	union {
		char text[TEXT_BYTES];
		u32 binary[TEXT_BYTES / sizeof(u32)];
		unsigned long calls[STACK_ENTRIES];
	};
	unsigned long last_ip; /* of the last bprint or bputs */
	const char *last_text;
};

static DEFINE_PER_CPU(struct scratch, scratch);

struct hook {
	const char *name; /* of the kind of record, as ftrace calls its event */
	const char *symbol;
	kprobe_pre_handler_t handler;
	const char *other; /* for kernels that have no such symbol */
	kprobe_pre_handler_t other_handler;
	struct kprobe kprobe;
	int err;	       /* 0: it is recorded */
	atomic_long_t unknown; /* the stack did not lead to the function's caller */
};

static bool is_recording(void)
{
	struct xvt_writer *w = &raw_cpu_ptr(&xvt_cpus)->writer;

	return READ_ONCE(xvt_open) && xvt_load(&w->host->enable) != XVT_ENABLE_OFF &&
	       tracing_is_on();
}

static void fill_entry(struct trace_entry *e, u16 type, struct pt_regs *regs)
{
	unsigned int pc = xvt_probed_preempt_count();

	memset(e, 0, sizeof(*e));
	e->type = type;
	e->flags = xvt_context_flags(pc, xvt_probed_irqs_off(regs));
	e->preempt_count = min_t(unsigned int, pc &PREEMPT_MASK, XVT_PREEMPT_COUNT_MAX) |
			   min(xvt_migration_disabled(), XVT_PREEMPT_COUNT_MAX) << 4;
	e->pid = current->pid;
#ifdef XVT_PREEMPT_LAZY_COUNT
	e->preempt_lazy_count = preempt_lazy_count();
#endif
}

/* Interrupts are off in a kprobe's handler. A binary record's arguments are multiples of 4 bytes.
 */
static void put(const void *head, u32 head_len, const void *body, u32 body_len)
{
	struct xvt_writer *w = &raw_cpu_ptr(&xvt_cpus)->writer;
	const struct trace_entry *e = head;
	struct xvt_slot slot;

	if (!xvt_types_wanted(e->type) || xvt_reserve(w, XVT_ID_FTRACE, head_len + body_len, &slot))
		return;
	memcpy(slot.payload, head, head_len);
	memcpy(slot.payload + head_len, body, body_len);
	xvt_keep_addresses(slot.payload, head_len + body_len, sizeof(u32));
	xvt_commit(w, &slot);
}

/*
 * Where the binary form cannot be used the kernel calls the function for text from within the
 * one for the binary form: that is one record.
 */
static bool is_repeated(unsigned long ip, const char *text)
{
	struct scratch *s = raw_cpu_ptr(&scratch);

	return s->last_text == text && s->last_ip == ip;
}

static void remember(unsigned long ip, const char *text)
{
	struct scratch *s = raw_cpu_ptr(&scratch);

	s->last_ip = ip;
	s->last_text = text;
}

/* trace_vbprintk(ip, fmt, args) */
static int notrace hook_bprint(struct kprobe *p, struct pt_regs *regs)
{
	struct binary_record r = {
		.ip = regs_get_kernel_argument(regs, 0),
		.text = (const char *)regs_get_kernel_argument(regs, 1),
	};
	struct scratch *s = raw_cpu_ptr(&scratch);
	va_list args;
	int words;

	if (!is_recording())
		return 0;
	fill_entry(&r.ent, XVT_TRACE_BPRINT, regs);
	/* The kernel leaves out bytes between arguments: nothing older may be there. */
	memset(s->binary, 0, sizeof(s->binary));
	va_copy(args, *xvt_va_list_argument(regs, 2));
	words = vbin_printf(s->binary, ARRAY_SIZE(s->binary), r.text, args);
	va_end(args);
	if (words < 0 || words > ARRAY_SIZE(s->binary))
		return 0; /* ftrace drops it, too */
	remember(r.ip, r.text);
	put(&r, offsetof(struct binary_record, buf), s->binary, words * sizeof(u32));
	return 0;
}
NOKPROBE_SYMBOL(hook_bprint);

/* __trace_array_vprintk(buffer, ip, fmt, args) */
static int notrace hook_print(struct kprobe *p, struct pt_regs *regs)
{
	const char *fmt = (const char *)regs_get_kernel_argument(regs, 2);
	struct print_record r = { .ip = regs_get_kernel_argument(regs, 1) };
	struct scratch *s = raw_cpu_ptr(&scratch);
	va_list args;
	int len;

	if (!is_recording() || is_repeated(r.ip, fmt))
		return 0;
	fill_entry(&r.ent, XVT_TRACE_PRINT, regs);
	va_copy(args, *xvt_va_list_argument(regs, 3));
	len = vscnprintf(s->text, sizeof(s->text), fmt, args);
	va_end(args);
	put(&r, offsetof(struct print_record, buf), s->text, len + 1);
	return 0;
}
NOKPROBE_SYMBOL(hook_print);

static void put_puts(unsigned long ip, const char *text, int len, struct pt_regs *regs)
{
	struct print_record r = { .ip = ip };
	u32 head_len = offsetof(struct print_record, buf);
	struct xvt_writer *w = &raw_cpu_ptr(&xvt_cpus)->writer;
	struct xvt_slot slot;
	char *at;

	if (len <= 0 || !is_recording() || is_repeated(ip, text))
		return;
	fill_entry(&r.ent, XVT_TRACE_PRINT, regs);
	/* As ftrace: room for a line feed, whether it has one or not. */
	if (!xvt_types_wanted(r.ent.type) ||
	    xvt_reserve(w, XVT_ID_FTRACE, head_len + len + 2, &slot))
		return;
	memcpy(slot.payload, &r, head_len);
	at = (char *)slot.payload + head_len;
	memcpy(at, text, len);
	at[len] = text[len - 1] == '\n' ? 0 : '\n';
	at[len + 1] = 0;
	xvt_commit(w, &slot);
}

/* __trace_array_puts(tr, ip, str, size) */
static int notrace hook_array_puts(struct kprobe *p, struct pt_regs *regs)
{
	put_puts(regs_get_kernel_argument(regs, 1), (const char *)regs_get_kernel_argument(regs, 2),
		 regs_get_kernel_argument(regs, 3), regs);
	return 0;
}
NOKPROBE_SYMBOL(hook_array_puts);

/* __trace_puts(ip, str, size), where it is not __trace_array_puts() that does the work */
static int notrace hook_puts(struct kprobe *p, struct pt_regs *regs)
{
	put_puts(regs_get_kernel_argument(regs, 0), (const char *)regs_get_kernel_argument(regs, 1),
		 regs_get_kernel_argument(regs, 2), regs);
	return 0;
}
NOKPROBE_SYMBOL(hook_puts);

/* __trace_bputs(ip, str) */
static int notrace hook_bputs(struct kprobe *p, struct pt_regs *regs)
{
	struct binary_record r = {
		.ip = regs_get_kernel_argument(regs, 0),
		.text = (const char *)regs_get_kernel_argument(regs, 1),
	};

	if (!is_recording())
		return 0;
	fill_entry(&r.ent, XVT_TRACE_BPUTS, regs);
	remember(r.ip, r.text);
	put(&r, offsetof(struct binary_record, buf), NULL, 0);
	return 0;
}
NOKPROBE_SYMBOL(hook_bputs);

struct stack_args {
	u32 skip;
	u32 ctx;	    /* trace_ctx of what the stack is of; U32_MAX: unknown */
	unsigned long from; /* the stack begins with this address; 0: with the caller */
};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
/*
 * ([tr,] buffer, trace_ctx, skip, regs). Kernels of one version have tr and have it not: it came
 * in stable updates, too. A fourth argument that is a small number is skip: regs is a pointer or
 * 0. Nearly every stack has skip, so the first one tells.
 */
static void get_stack_args(struct pt_regs *regs, struct stack_args *a)
{
	static bool has_tr;
	unsigned long fourth = regs_get_kernel_argument(regs, 3);
	int i;

	if (fourth && fourth <= STACK_SKIP_MAX)
		WRITE_ONCE(has_tr, true);
	i = READ_ONCE(has_tr) ? 2 : 1;
	a->ctx = regs_get_kernel_argument(regs, i);
	a->skip = regs_get_kernel_argument(regs, i + 1);
	regs = (struct pt_regs *)regs_get_kernel_argument(regs, i + 2);
	a->from = 0;
	if (a->skip > STACK_SKIP_MAX) {
		a->ctx = U32_MAX;
		a->skip = 0;
	} else if (regs) {
		a->from = instruction_pointer(regs);
	}
}
#else
/* (buffer, flags, skip, pc, regs) */
static void get_stack_args(struct pt_regs *regs, struct stack_args *a)
{
	a->ctx = U32_MAX;
	a->skip = regs_get_kernel_argument(regs, 2);
	regs = (struct pt_regs *)regs_get_kernel_argument(regs, 4);
	a->from = regs ? instruction_pointer(regs) : 0;
}
#endif

/*
 * Index of the first entry that ftrace would have. Its stack begins in __ftrace_trace_stack()
 * itself, which is one before the caller, or with the registers that it got; -1: not found.
 */
static int first_entry(const unsigned long *calls, int n, unsigned long caller,
		       const struct stack_args *a)
{
	unsigned long from = a->from ? a->from : caller;
	int i;

	for (i = 0; i < n; i++) {
		if (calls[i] == from)
			return i + a->skip - (a->skip && !a->from);
	}
	return -1;
}

/* __ftrace_trace_stack() */
static int notrace hook_stack(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long *calls = raw_cpu_ptr(&scratch)->calls;
	struct stack_record r;
	struct stack_args a;
	int n, first;

	if (!is_recording())
		return 0;
	get_stack_args(regs, &a);
	n = stack_trace_save(calls, STACK_ENTRIES, 0);
	if (n == STACK_ENTRIES)
		calls[n - 1] = ULONG_MAX; /* cut */
	first = first_entry(calls, n, xvt_return_address(regs), &a);
	if (first < 0 || first > n) {
		atomic_long_inc(&container_of(p, struct hook, kprobe)->unknown);
		return 0;
	}
	memset(&r, 0, sizeof(r));
	fill_entry(&r.ent, XVT_TRACE_STACK, regs);
	if (a.ctx != U32_MAX)
		xvt_fill_from_ctx(&r.ent, XVT_TRACE_STACK, a.ctx);
	r.size = n - first;
	put(&r, offsetof(struct stack_record, caller), calls + first, r.size * sizeof(*calls));
	return 0;
}
NOKPROBE_SYMBOL(hook_stack);

/* That there is one keeps the kprobe a breakpoint. */
static void notrace after(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(after);

static struct hook all_hooks[] = {
	{ "bprint", "trace_vbprintk", hook_bprint },
	{ "print", "__trace_array_vprintk", hook_print },
	{ "puts", "__trace_array_puts", hook_array_puts, "__trace_puts", hook_puts },
	{ "bputs", "__trace_bputs", hook_bputs },
	{ "kernel_stack", "__ftrace_trace_stack", hook_stack },
};

static int try_hook(struct hook *h, const char *symbol, kprobe_pre_handler_t handler)
{
	/* A kprobe that was registered before holds what that found. */
	memset(&h->kprobe, 0, sizeof(h->kprobe));
	h->kprobe.symbol_name = symbol;
	h->kprobe.pre_handler = handler;
	h->kprobe.post_handler = after;
	return register_kprobe(&h->kprobe);
}

/* A kernel without one of the functions, or without kprobes, gives the rest. */
void xvt_hooks_start(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(all_hooks); i++) {
		struct hook *h = &all_hooks[i];

		atomic_long_set(&h->unknown, 0);
		h->err = -EPERM;
		if (!hooks)
			continue;
		h->err = try_hook(h, h->symbol, h->handler);
		if (h->err && h->other)
			h->err = try_hook(h, h->other, h->other_handler);
		if (h->err)
			dev_info(
				&xvt_guest.pdev->dev,
				"records of the kind %s are not recorded: no kprobe at %s() (%d)\n",
				h->name, h->symbol, h->err);
	}
}

/* Returns when no CPU is in a handler any more. */
void xvt_hooks_stop(void)
{
	struct kprobe *kprobes[ARRAY_SIZE(all_hooks)];
	int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(all_hooks); i++) {
		if (!all_hooks[i].err)
			kprobes[n++] = &all_hooks[i].kprobe;
		all_hooks[i].err = -ENODEV;
	}
	if (n)
		unregister_kprobes(kprobes, n);
}

/* Since the load. Never less than it was. */
static unsigned long missed_by(struct hook *h)
{
	return h->kprobe.nmissed + atomic_long_read(&h->unknown);
}

/*
 * Events that were missed while the host records are attempted and lost. The kernel does not say on
 * which CPU: it is counted on the one that calls this, by its timer.
 */
void xvt_hooks_poll(struct xvt_writer *w)
{
	static unsigned long counted;
	unsigned long missed = 0;
	struct xvt_slot slot;
	int i;

	for (i = 0; i < ARRAY_SIZE(all_hooks); i++)
		missed += missed_by(&all_hooks[i]);
	if (missed < counted)
		counted = 0; /* loaded kprobes begin at 0 */
	preempt_disable_notrace();
	for (; counted < missed; counted++) {
		if (!xvt_writer_enter(w, w->ctl, w->host, XVT_ID_FTRACE, &slot))
			xvt_writer_lose(w, XVT_LOST_NEST, XVT_ID_FTRACE, slot.nest);
	}
	preempt_enable_notrace();
}

/* Lines "NAME ERROR MISSED" into buf, a page; returns their length. */
int xvt_hooks_show(char *buf)
{
	int i, len = 0;

	for (i = 0; i < ARRAY_SIZE(all_hooks); i++) {
		struct hook *h = &all_hooks[i];

		len += sysfs_emit_at(buf, len, "%s error %d missed %lu\n", h->name, h->err,
				     missed_by(h));
	}
	return len;
}
