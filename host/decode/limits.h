/* SPDX-License-Identifier: GPL-2.0 */
/*
 * limits.h - limits of the time and memory that a reader spends on text of a guest or a file. A
 * guest chooses its formats, records and symbols, and so without limits the cost to read them. All
 * limits are far above the need of Linux: the largest of the 2,323 formats of a 6.18 have 20
 * fields, 51 nodes and 176 names; the longest of 6.1 has 20 KiB. Text that is cut is marked at the
 * cut. Events of a format beyond a limit are shown as fields, or as bytes.
 */
#ifndef XVT_READ_LIMITS_H
#define XVT_READ_LIMITS_H

/* Text of one event: fields in `report`, values in JSON lines. A longer text ends in "...[cut]", a
 * JSON object gets "cut":true. A page, as ftrace's own trace_seq has for a line. */
#define XVT_LIMIT_TEXT		(4u << 10)

/* A format: bytes of its text, fields, and bytes of its names. */
#define XVT_LIMIT_FORMAT_BYTES	(64u << 10)
#define XVT_LIMIT_FORMAT_FIELDS 128u
#define XVT_LIMIT_NAME_BYTES	128u

/* A print fmt: nodes in all; nodes and names that printing one event may visit. */
#define XVT_LIMIT_NODES		4096u
#define XVT_LIMIT_NODES_EVENT	512u
#define XVT_LIMIT_NAMES_EVENT	1024u

/* Bytes of a mask of CPUs that are shown: Linux has 8,192 at most. */
#define XVT_LIMIT_CPUMASK_BYTES 1024u

/* Name of a kernel symbol (KSYM_NAME_LEN), and a text of printk_formats. */
#define XVT_LIMIT_SYMBOL_BYTES	512u
#define XVT_LIMIT_PRINTK_BYTES	2048u

/* What a machine says of its kernel: five texts of `struct new_utsname` in Linux. */
#define XVT_LIMIT_KERNEL_BYTES	(5u * 65)

/* Number of tasks' names of a machine. */
#define XVT_LIMIT_COMMS		(128u << 10)

/* Formats of older boots that are tried when a record does not fit its own boot's format. */
#define XVT_LIMIT_OLDER		4u

/* Decoding: bytes for all machines together; upper and lower limit of each machine's equal part of
 * them. A kernel's symbols take 10 MiB. */
#define XVT_LIMIT_DECODE_BYTES	(160u << 20)
#define XVT_LIMIT_MACHINE_BYTES (48u << 20)
#define XVT_LIMIT_MACHINE_LEAST (1u << 20)

#endif /* XVT_READ_LIMITS_H */
