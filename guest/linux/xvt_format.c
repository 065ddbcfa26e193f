// SPDX-License-Identifier: GPL-2.0
/*
 * xvt_format.c - the text of tracefs' "format" file of one event, for events that the host
 * switched on: no user space runs then that could copy the file, and a module cannot read
 * it. Made of what the public structures say, as the kernel itself makes it.
 */
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/trace_events.h>

#include "xvtrace.h"

#define FORMAT_MAX (64u << 10)

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
		seq_buf_printf(s, "%s", array);
	seq_buf_printf(s, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n", offset, size, is_signed);
}

/* The kernel lays the fields out by the same rule when it registers the event. */
static int put_fields(struct seq_buf *s, const struct trace_event_fields *f)
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

#ifndef XVT_PREEMPT_LAZY_COUNT
XVT_ASSERT(sizeof(struct trace_entry) == 8, "a common field that put_text() does not know");
#endif

#define PUT_COMMON(s, type, member, is_signed)                                      \
	put_field(s, type, "common_" #member, offsetof(struct trace_entry, member), \
		  sizeof_field(struct trace_entry, member), is_signed, 0)

static int put_text(struct seq_buf *s, struct trace_event_call *call)
{
	int err;

	seq_buf_printf(s, "name: %s\nID: %d\nformat:\n", trace_event_name(call), call->event.type);
	PUT_COMMON(s, "unsigned short", type, false);
	PUT_COMMON(s, "unsigned char", flags, false);
	PUT_COMMON(s, "unsigned char", preempt_count, false);
	PUT_COMMON(s, "int", pid, true);
#ifdef XVT_PREEMPT_LAZY_COUNT
	PUT_COMMON(s, "unsigned char", preempt_lazy_count, false);
#endif
	seq_buf_printf(s, "\n");
	err = put_fields(s, call->class->fields_array);
	if (err)
		return err;
	seq_buf_printf(s, "\nprint fmt: %s\n", call->print_fmt);
	return seq_buf_has_overflowed(s) ? -E2BIG : 0;
}

/*
 * Put one event's format into the metadata area. Returns 0; -EOPNOTSUPP: its fields cannot be
 * known here, user space must send the file; -ENOENT: no such event; others as
 * xvt_meta_put().
 */
int xvt_format_put(const char *system, const char *event)
{
	struct trace_event_file *file = trace_get_event_file(NULL, system, event);
	struct seq_buf s;
	char *buf;
	u32 head_len;
	int err = -ENOMEM;

	if (IS_ERR(file))
		return PTR_ERR(file) == -EINVAL ? -ENOENT : PTR_ERR(file);
	buf = kvmalloc(FORMAT_MAX, GFP_KERNEL);
	if (buf) {
		head_len = scnprintf(buf, FORMAT_MAX, "%s%c%s", system, 0, event) + 1;
		seq_buf_init(&s, buf + head_len, FORMAT_MAX - head_len);
		err = put_text(&s, file->event_call);
		if (!err)
			err = xvt_meta_put(XVT_META_FORMAT, file->event_call->event.type, buf,
					   head_len, s.buffer, s.len);
		kvfree(buf);
	}
	trace_put_event_file(file);
	return err;
}
