/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record.h - records of the kernel's events as ftrace and the module's probes write them, and their
 * formats, for tools that make up traces.
 */
#ifndef XVT_TOOL_RECORD_H
#define XVT_TOOL_RECORD_H

#include <stdint.h>

enum {
	TYPE_SOFTIRQ = 138,
	TYPE_EXIT = 139,
	TYPE_ENTRY = 140,
	TYPE_SWITCH = 314,
	TYPE_WAKING = 317,
	TYPE_WAKEUP = 318,
};

struct record {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt_count;
	int32_t pid;
	union {
		struct {
			char prev_comm[16];
			int32_t prev_pid;
			int32_t prev_prio;
			int64_t prev_state;
			char next_comm[16];
			int32_t next_pid;
			int32_t next_prio;
		} sw;
		struct {
			char comm[16];
			int32_t pid;
			int32_t prio;
			int32_t target_cpu;
		} wakeup; /* sched_waking, too */
		struct {
			int32_t irq;
			union {
				struct {
					uint32_t name; /* __data_loc of `text` */
					char text[16];
				};
				char probed_name[16]; /* by the module's probe */
				int32_t ret;
			};
		} irq;
		uint32_t vec;
	};
};

#define SWITCH_LEN	 64u
#define WAKEUP_LEN	 36u
#define ENTRY_LEN	 32u
#define PROBED_ENTRY_LEN 32u
#define EXIT_LEN	 16u
#define SOFTIRQ_LEN	 12u
#define ENTRY_NAME_LOC	 (16u | 16u << 16)

/* "format" files, behind the line with the ID and up to the print format. */
#define COMMON_FIELDS                                                                  \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define SWITCH_FIELDS                                                                  \
	COMMON_FIELDS "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"  \
		      "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"      \
		      "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"       \
		      "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"     \
		      "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n" \
		      "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"      \
		      "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
#define WAKEUP_FIELDS                                                            \
	COMMON_FIELDS "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n" \
		      "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"     \
		      "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"      \
		      "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
#define ENTRY_FIELDS                                                      \
	COMMON_FIELDS "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n" \
		      "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n"
#define PROBED_ENTRY_FIELDS                                                       \
	COMMON_FIELDS "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"         \
		      "\tfield:char name[16];\toffset:12;\tsize:16;\tsigned:0;\n" \
		      "\tfield:int vector;\toffset:28;\tsize:4;\tsigned:1;\n\n"
#define EXIT_FIELDS                                                       \
	COMMON_FIELDS "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n" \
		      "\tfield:int ret;\toffset:12;\tsize:4;\tsigned:1;\n\n"
#define SOFTIRQ_FIELDS COMMON_FIELDS "\tfield:unsigned int vec;\toffset:8;\tsize:4;\tsigned:0;\n\n"

/* The print format of a switch with its state as a number. */
#define SWITCH_PRINT                                                               \
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%ld ==> "   \
	"next_comm=%s next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, " \
	"REC->prev_prio, REC->prev_state, REC->next_comm, REC->next_pid, REC->next_prio\n"

#endif /* XVT_TOOL_RECORD_H */
