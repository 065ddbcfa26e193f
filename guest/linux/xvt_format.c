// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_format.c - the text of tracefs' "format" file of an event, sent when the event's type is met
 * for the first time in a generation of the region, and for events that the host switches on. A
 * module cannot read the file; the text is made of the structures that it is made of, and has the
 * same bytes.
 *
 * The kernel finds an event by its type under a lock that keeps the event there. The kernel exports
 * none of these three functions, so their addresses come from kprobes that are never armed. Where
 * that does not work, only xvt-guest sends formats; the log says so.
 */
#include <linux/bitmap.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "xvtrace.h"

#define FORMAT_MAX (64u << 10)
#define BURST	   512u /* formats at once, after a rest; then */
#define MS_PER_ONE 4u	/* one in this time */
/* Types whose event may go, and whose number another event may get, are met again so often. */
#define RENEW_MS   1000u

static struct {
	struct trace_event *(*find)(int type);
	void (*lock)(void);
	void (*unlock)(void);
	bool fields_known; /* the kernel's list of an event's fields looks as we think */
} kernel;

/* Types of which the format was sent, or cannot be; and those of events that may go. */
static unsigned long handled[BITS_TO_LONGS(XVT_TYPES)], may_go[BITS_TO_LONGS(XVT_TYPES)];
static u32 allowance;
static u64 refill_ns;
static unsigned long renewed; /* jiffies */
static bool told_full;

/* `count`: of an array's elements, 0 when only the type says it. */
static void put_field(struct seq_buf *s, const char *type, const char *name, u32 offset, u32 size,
		      bool is_signed, u32 count)
{
	/* "char[16]" "comm" is written "char comm[16]". */
	const char *array = strncmp(type, "__data_loc", 10) ? strchr(type, '[') : NULL;
	int type_len = array ? array - type : strlen(type);

	seq_buf_printf(s, "\tfield:%.*s %s", type_len, type, name);
	/* The type may say "char[TASK_COMM_LEN]", which only the kernel can resolve. */
	if (array && count)
		seq_buf_printf(s, "[%u]", count);
	else if (array)
		seq_buf_printf(s, "%s", XVT_FIELD_COUNTED ? "[]" : array);
	seq_buf_printf(s, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n", offset, size, is_signed);
}

/* The kernel lays the fields out by the same rule when it registers the event. */
static int put_fields_array(struct seq_buf *s, const struct trace_event_fields *f)
{
	u32 offset = sizeof(struct trace_entry);

	for (; f && f->type; f++) {
		/* Syscalls and other events whose fields only a function of theirs knows. */
		if (f->type == TRACE_FUNCTION_TYPE)
			return -EOPNOTSUPP;
		offset = ALIGN(offset, f->align);
		put_field(s, f->type, f->name, offset, f->size, f->is_signed, xvt_field_count(f));
		offset += f->size;
	}
	return f ? 0 : -EOPNOTSUPP;
}

/* The list begins with the last field. */
static int put_fields(struct seq_buf *s, struct trace_event_call *call)
{
	struct trace_event_class *class = call->class;
	const struct xvt_event_field *f;
	struct list_head *fields;

	if (!kernel.fields_known)
		return put_fields_array(s, class->fields_array);
	fields = class->get_fields ? class->get_fields(call) : &class->fields;
	list_for_each_entry_reverse(f, fields, link)
		put_field(s, f->type, f->name, f->offset, f->size, xvt_event_field_signed(f),
			  xvt_field_count(f));
	return 0;
}

/* Compare the list of an event's fields, as we think it is, with what is public of them. */
static bool check_fields(const struct trace_event_class *class)
{
	const struct trace_event_fields *f = class->fields_array;
	u32 offset = sizeof(struct trace_entry);
	const struct xvt_event_field *e;

	if (class->get_fields || !f)
		return false;
	list_for_each_entry_reverse(e, &class->fields, link)
	{
		if (!f->type || f->type == TRACE_FUNCTION_TYPE)
			return false;
		offset = ALIGN(offset, f->align);
		if (e->name != f->name || e->type != f->type || e->offset != offset ||
		    e->size != f->size || xvt_event_field_signed(e) != f->is_signed ||
		    xvt_field_count(e) != xvt_field_count(f))
			return false;
		offset += f->size;
		f++;
	}
	return !f->type;
}

#ifndef XVT_PREEMPT_LAZY_COUNT
XVT_ASSERT(sizeof(struct trace_entry) == 8, "a common field that put_text() does not know");
#endif

#define PUT_COMMON(s, type, member, is_signed)                                      \
	put_field(s, type, "common_" #member, offsetof(struct trace_entry, member), \
		  sizeof_field(struct trace_entry, member), is_signed, 0)

static void put_head(struct seq_buf *s, const char *name, int type)
{
	seq_buf_printf(s, "name: %s\nID: %d\nformat:\n", name, type);
	PUT_COMMON(s, "unsigned short", type, false);
	PUT_COMMON(s, "unsigned char", flags, false);
	PUT_COMMON(s, "unsigned char", preempt_count, false);
	PUT_COMMON(s, "int", pid, true);
#ifdef XVT_PREEMPT_LAZY_COUNT
	PUT_COMMON(s, "unsigned char", preempt_lazy_count, false);
#endif
	seq_buf_printf(s, "\n");
}

static int put_text(struct seq_buf *s, struct trace_event_call *call)
{
	int err;

	put_head(s, trace_event_name(call), call->event.type);
	err = put_fields(s, call);
	if (err)
		return err;
	seq_buf_printf(s, "\nprint fmt: %s\n", call->print_fmt);
	return seq_buf_has_overflowed(s) ? -E2BIG : 0;
}

/* A metadata entry: "SYSTEM\0EVENT\0" and the format's text. */
struct entry {
	char *buf; /* of FORMAT_MAX bytes */
	u32 head_len;
	struct seq_buf text;
};

static void begin_entry(struct entry *e, const char *system, const char *event)
{
	e->head_len = scnprintf(e->buf, FORMAT_MAX, "%s%c%s", system, 0, event) + 1;
	seq_buf_init(&e->text, e->buf + e->head_len, FORMAT_MAX - e->head_len);
}

static int put_entry(struct entry *e, u16 type)
{
	return xvt_meta_put(XVT_META_FORMAT, type, e->buf, e->head_len, e->text.buffer,
			    e->text.len);
}

/*
 * Entries that ftrace itself writes, and the module records: the kernel finds no event by these
 * types. A kernel whose text differs has it sent by xvt-guest.
 */
/* clang-format off */
#ifdef __CHAR_UNSIGNED__
#define TEXT_FIELD XVT_FIELD("char buf[]", 16, 0, 0)
#else
#define TEXT_FIELD XVT_FIELD("char buf[]", 16, 0, 1)
#endif
static const struct own {
	u16 type;
	const char *name;
	const char *fields;
	const char *print_fmt;
} own[] = {
	{ XVT_TRACE_FN, "function",
	  XVT_FIELD("unsigned long ip", 8, 8, 0) XVT_FIELD("unsigned long parent_ip", 16, 8, 0),
	  "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip" },
	{ XVT_TRACE_STACK, "kernel_stack",
	  XVT_FIELD("int size", 8, 4, 1) XVT_FIELD("unsigned long caller[8]", 16, 64, 0),
	  "\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "
	  "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], "
	  "(void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "
	  "(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]" },
	{ XVT_TRACE_PRINT, "print",
	  XVT_FIELD("unsigned long ip", 8, 8, 0) TEXT_FIELD,
	  "\"%ps: %s\", (void *)REC->ip, REC->buf" },
	{ XVT_TRACE_BPRINT, "bprint",
	  XVT_FIELD("unsigned long ip", 8, 8, 0) XVT_FIELD("const char * fmt", 16, 8, 0)
	  XVT_FIELD("u32 buf[]", 24, 0, 0),
	  "\"%ps: %s\", (void *)REC->ip, REC->fmt" },
	{ XVT_TRACE_BPUTS, "bputs",
	  XVT_FIELD("unsigned long ip", 8, 8, 0) XVT_FIELD("const char * str", 16, 8, 0),
	  "\"%ps: %s\", (void *)REC->ip, REC->str" },
};
/* clang-format on */

static int send_own(struct entry *e, u16 type)
{
	const struct own *o;

	for (o = own; o < own + ARRAY_SIZE(own); o++) {
		if (o->type != type)
			continue;
		begin_entry(e, "ftrace", o->name);
		put_head(&e->text, o->name, type);
		seq_buf_printf(&e->text, "%s\nprint fmt: %s\n", o->fields, o->print_fmt);
		return put_entry(e, type);
	}
	return -EOPNOTSUPP;
}

/* Events of a module, and those that user space makes, may go. */
static bool event_may_go(const struct trace_event_call *call)
{
	return xvt_event_module(call) ||
	       call->flags & (TRACE_EVENT_FL_KPROBE | TRACE_EVENT_FL_UPROBE | XVT_EVENT_FL_DYNAMIC);
}

/* The text is made while the kernel keeps the event. The format is sent afterwards: that takes a
 * mutex. */
static int send_event(struct entry *e, u16 type)
{
	struct trace_event *event;
	int err = -ENOENT;

	if (!kernel.find)
		return -EOPNOTSUPP;
	kernel.lock();
	event = kernel.find(type);
	if (event) {
		struct trace_event_call *call = container_of(event, struct trace_event_call, event);

		begin_entry(e, call->class->system, trace_event_name(call));
		err = put_text(&e->text, call);
		if (event_may_go(call))
			set_bit(type, may_go);
	}
	kernel.unlock();
	return err ? err : put_entry(e, type);
}

static void send(struct entry *e, u16 type)
{
	int err = type < XVT_TRACE_EVENTS ? send_own(e, type) : send_event(e, type);

	if (err != -ENOSPC || told_full)
		return;
	told_full = true;
	dev_warn(&xvt_guest.pdev->dev,
		 "the metadata area is full: events of the type %u, and of others that come later, "
		 "have no format. Give the region a larger meta_size\n",
		 type);
}

static void refill(void)
{
	u64 now_ns = ktime_get_ns();
	u64 more = div_u64(now_ns - refill_ns, MS_PER_ONE * NSEC_PER_MSEC);

	allowance = min_t(u64, allowance + more, BURST);
	refill_ns += more * MS_PER_ONE * NSEC_PER_MSEC;
}

/* The formats of the types that were met. Returns false if some have to wait. Context: may sleep.
 */
bool xvt_formats_send(void)
{
	struct entry e = { .buf = NULL };
	unsigned long type;
	bool all = true;

	refill();
	for_each_set_bit(type, xvt_types_plain, XVT_TYPES)
	{
		if (test_bit(type, handled))
			continue;
		if (!allowance) {
			all = false;
			break;
		}
		if (!e.buf)
			e.buf = kvmalloc(FORMAT_MAX, GFP_KERNEL);
		if (!e.buf)
			return false;
		allowance--;
		set_bit(type, handled);
		send(&e, type);
		cond_resched();
	}
	kvfree(e.buf);
	return all;
}

/* Called by one CPU's timer: events that may go are met again. */
void xvt_formats_poll(void)
{
	unsigned long type;

	if (time_before(jiffies, renewed + msecs_to_jiffies(RENEW_MS)))
		return;
	renewed = jiffies;
	for_each_set_bit(type, may_go, XVT_TYPES)
	{
		clear_bit(type, may_go);
		clear_bit(type, handled);
		clear_bit(type, xvt_types_plain);
	}
}

/* The formats that were sent are of a generation that has ended. */
void xvt_formats_forget(void)
{
	xvt_types_forget();
	bitmap_zero(handled, XVT_TYPES);
	bitmap_zero(may_go, XVT_TYPES);
}

/* NULL: this kernel has no such function, no kprobes, or cannot call what it does not export. */
static void *find_function(const char *name)
{
	struct kprobe p = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	void *address;

	if (!xvt_can_call_any() || register_kprobe(&p))
		return NULL;
	address = p.addr;
	unregister_kprobe(&p);
	return address;
}

static void find_functions(void)
{
	struct trace_event_file *file = trace_get_event_file(NULL, "sched", "sched_switch");
	struct device *dev = &xvt_guest.pdev->dev;

	kernel.lock = find_function("trace_event_read_lock");
	kernel.unlock = find_function("trace_event_read_unlock");
	if (kernel.lock && kernel.unlock)
		kernel.find = find_function("ftrace_find_event");
	if (!IS_ERR(file)) {
		kernel.fields_known = check_fields(file->event_call->class);
		trace_put_event_file(file);
	}
	if (!kernel.find)
		dev_info(dev, "formats of events come from xvt-guest sync only: this kernel does "
			      "not let the module find an event by its type\n");
	else if (!kernel.fields_known)
		dev_info(dev, "formats of system calls and of probe events come from xvt-guest "
			      "sync only: this kernel keeps fields in a form of its own\n");
}

/* Before the sources of events start. */
void xvt_formats_start(void)
{
	if (!kernel.find)
		find_functions();
	xvt_formats_forget();
	allowance = BURST;
	refill_ns = ktime_get_ns();
	renewed = jiffies;
	told_full = false;
}

/*
 * Put one event's format into the metadata area. Returns 0; -EOPNOTSUPP: its fields cannot be
 * known here, user space must send the file; -ENOENT: no such event; others as
 * xvt_meta_put().
 */
int xvt_format_put(const char *system, const char *event)
{
	struct trace_event_file *file = trace_get_event_file(NULL, system, event);
	struct entry e;
	int err = -ENOMEM;

	if (IS_ERR(file))
		return PTR_ERR(file) == -EINVAL ? -ENOENT : PTR_ERR(file);
	e.buf = kvmalloc(FORMAT_MAX, GFP_KERNEL);
	if (e.buf) {
		begin_entry(&e, system, event);
		err = put_text(&e.text, file->event_call);
		if (!err)
			err = put_entry(&e, file->event_call->event.type);
		kvfree(e.buf);
	}
	trace_put_event_file(file);
	return err;
}
