// SPDX-License-Identifier: GPL-2.0
/*
 * constants.c - see print.h. Constants whose names a format has in place of numbers, because the
 * kernel does not know there what its compiler knew. Here are only those that no version of Linux
 * has changed: of its user API, of protocols, and some that are as fixed. The flags of inodes, for
 * example, differ between versions, so they stay numbers.
 */
#include "decode/print.h"

#include <string.h>

bool xvt_known_constant(const char *name, uint64_t *value)
{
	static const struct {
		const char *name;
		uint64_t value;
	} known[] = {
		/* Softirqs, in the order of their numbers. */
		{ "HI_SOFTIRQ", 0 },
		{ "TIMER_SOFTIRQ", 1 },
		{ "NET_TX_SOFTIRQ", 2 },
		{ "NET_RX_SOFTIRQ", 3 },
		{ "BLOCK_SOFTIRQ", 4 },
		{ "IRQ_POLL_SOFTIRQ", 5 },
		{ "TASKLET_SOFTIRQ", 6 },
		{ "SCHED_SOFTIRQ", 7 },
		{ "HRTIMER_SOFTIRQ", 8 },
		{ "RCU_SOFTIRQ", 9 },
		/* Timers. */
		{ "HRTIMER_NORESTART", 0 },
		{ "HRTIMER_RESTART", 1 },
		{ "HRTIMER_MODE_ABS", 0 },
		{ "HRTIMER_MODE_REL", 1 },
		{ "HRTIMER_MODE_ABS_PINNED", 2 },
		{ "HRTIMER_MODE_REL_PINNED", 3 },
		{ "HRTIMER_MODE_ABS_SOFT", 4 },
		{ "HRTIMER_MODE_REL_SOFT", 5 },
		{ "HRTIMER_MODE_ABS_PINNED_SOFT", 6 },
		{ "HRTIMER_MODE_REL_PINNED_SOFT", 7 },
		{ "HRTIMER_MODE_ABS_HARD", 8 },
		{ "HRTIMER_MODE_REL_HARD", 9 },
		{ "HRTIMER_MODE_ABS_PINNED_HARD", 10 },
		{ "HRTIMER_MODE_REL_PINNED_HARD", 11 },
		{ "VDSO_CLOCKMODE_NONE", 0 },
		{ "VDSO_CLOCKMODE_TSC", 1 },
		/* C's own. */
		{ "true", 1 },
		{ "false", 0 },
		{ "NULL", 0 },
		/* Classes of block requests (linux/ioprio.h). */
		{ "IOPRIO_CLASS_NONE", 0 },
		{ "IOPRIO_CLASS_RT", 1 },
		{ "IOPRIO_CLASS_BE", 2 },
		{ "IOPRIO_CLASS_IDLE", 3 },
		{ "IOPRIO_CLASS_INVALID", 7 },
		/* States of TCP, protocols and families (RFC 9293's order, linux/in.h). */
		{ "TCP_ESTABLISHED", 1 },
		{ "TCP_SYN_SENT", 2 },
		{ "TCP_SYN_RECV", 3 },
		{ "TCP_FIN_WAIT1", 4 },
		{ "TCP_FIN_WAIT2", 5 },
		{ "TCP_TIME_WAIT", 6 },
		{ "TCP_CLOSE", 7 },
		{ "TCP_CLOSE_WAIT", 8 },
		{ "TCP_LAST_ACK", 9 },
		{ "TCP_LISTEN", 10 },
		{ "TCP_CLOSING", 11 },
		{ "TCP_NEW_SYN_RECV", 12 },
		{ "TCP_BOUND_INACTIVE", 13 },
		{ "IPPROTO_IP", 0 },
		{ "IPPROTO_ICMP", 1 },
		{ "IPPROTO_TCP", 6 },
		{ "IPPROTO_UDP", 17 },
		{ "IPPROTO_DCCP", 33 },
		{ "IPPROTO_SCTP", 132 },
		{ "IPPROTO_UDPLITE", 136 },
		{ "IPPROTO_MPTCP", 262 },
		{ "AF_UNSPEC", 0 },
		{ "AF_UNIX", 1 },
		{ "AF_INET", 2 },
		{ "AF_INET6", 10 },
		/* Power. */
		{ "PM_QOS_ADD_REQ", 0 },
		{ "PM_QOS_UPDATE_REQ", 1 },
		{ "PM_QOS_REMOVE_REQ", 2 },
		{ "DEV_PM_QOS_RESUME_LATENCY", 1 },
		{ "DEV_PM_QOS_FLAGS", 5 },
		{ "RPM_INVALID", (uint64_t)-1 },
		{ "RPM_ACTIVE", 0 },
		{ "RPM_RESUMING", 1 },
		{ "RPM_SUSPENDED", 2 },
		{ "RPM_SUSPENDING", 3 },
		/* Page faults. */
		{ "FAULT_FLAG_WRITE", 1 },
		{ "FAULT_FLAG_MKWRITE", 2 },
		{ "FAULT_FLAG_ALLOW_RETRY", 4 },
		{ "FAULT_FLAG_RETRY_NOWAIT", 8 },
		{ "FAULT_FLAG_KILLABLE", 16 },
		{ "FAULT_FLAG_TRIED", 32 },
		{ "FAULT_FLAG_USER", 64 },
		{ "FAULT_FLAG_REMOTE", 128 },
		{ "FAULT_FLAG_INSTRUCTION", 256 },
		{ "FAULT_FLAG_INTERRUPTIBLE", 512 },
		{ "FAULT_FLAG_UNSHARE", 1024 },
		{ "FAULT_FLAG_ORIG_PTE_VALID", 2048 },
		{ "FAULT_FLAG_VMA_LOCK", 4096 },
		{ "VM_FAULT_OOM", 1 },
		{ "VM_FAULT_SIGBUS", 2 },
		{ "VM_FAULT_MAJOR", 4 },
		{ "VM_FAULT_WRITE", 8 },
		{ "VM_FAULT_HWPOISON", 16 },
		{ "VM_FAULT_HWPOISON_LARGE", 32 },
		{ "VM_FAULT_SIGSEGV", 64 },
		{ "VM_FAULT_NOPAGE", 256 },
		{ "VM_FAULT_LOCKED", 512 },
		{ "VM_FAULT_RETRY", 1024 },
		{ "VM_FAULT_FALLBACK", 2048 },
		{ "VM_FAULT_DONE_COW", 4096 },
		{ "VM_FAULT_NEEDDSYNC", 8192 },
		{ "VM_FAULT_COMPLETED", 16384 },
		/* Memory. */
		{ "MIGRATE_ASYNC", 0 },
		{ "MIGRATE_SYNC_LIGHT", 1 },
		{ "MIGRATE_SYNC", 2 },
		{ "MM_FILEPAGES", 0 },
		{ "MM_ANONPAGES", 1 },
		{ "MM_SWAPENTS", 2 },
		{ "MM_SHMEMPAGES", 3 },
		{ "VMSCAN_THROTTLE_WRITEBACK", 0 },
		{ "VMSCAN_THROTTLE_ISOLATED", 1 },
		{ "VMSCAN_THROTTLE_NOPROGRESS", 2 },
		{ "VMSCAN_THROTTLE_CONGESTED", 3 },
		/* Answers of ChromeOS' embedded controller. */
		{ "EC_RES_SUCCESS", 0 },
		{ "EC_RES_INVALID_COMMAND", 1 },
		{ "EC_RES_ERROR", 2 },
		{ "EC_RES_INVALID_PARAM", 3 },
		{ "EC_RES_ACCESS_DENIED", 4 },
		{ "EC_RES_INVALID_RESPONSE", 5 },
		{ "EC_RES_INVALID_VERSION", 6 },
		{ "EC_RES_INVALID_CHECKSUM", 7 },
		{ "EC_RES_IN_PROGRESS", 8 },
		{ "EC_RES_UNAVAILABLE", 9 },
		{ "EC_RES_TIMEOUT", 10 },
		{ "EC_RES_OVERFLOW", 11 },
		{ "EC_RES_INVALID_HEADER", 12 },
		{ "EC_RES_REQUEST_TRUNCATED", 13 },
		{ "EC_RES_RESPONSE_TOO_BIG", 14 },
		{ "EC_RES_BUS_ERROR", 15 },
		{ "EC_RES_BUSY", 16 },
		{ "EC_RES_INVALID_HEADER_VERSION", 17 },
		{ "EC_RES_INVALID_HEADER_CRC", 18 },
		{ "EC_RES_INVALID_DATA_CRC", 19 },
		{ "EC_RES_DUP_UNAVAILABLE", 20 },
		/* Errors of VMX (Intel's manual). */
		{ "VMXERR_VMLAUNCH_NONCLEAR_VMCS", 4 },
		{ "VMXERR_VMRESUME_NONLAUNCHED_VMCS", 5 },
		{ "VMXERR_VMRESUME_AFTER_VMXOFF", 6 },
		{ "VMXERR_ENTRY_INVALID_CONTROL_FIELD", 7 },
		{ "VMXERR_ENTRY_INVALID_HOST_STATE_FIELD", 8 },
		{ "VMXERR_ENTRY_EVENTS_BLOCKED_BY_MOV_SS", 26 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0) {
			*value = known[i].value;
			return true;
		}
	return false;
}
