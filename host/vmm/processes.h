/* SPDX-License-Identifier: GPL-2.0 */
/*
 * processes.h - processes of this host that map a file, and their threads: by /proc. The VMM of a
 * machine is found by the region that it maps, whatever starts it.
 */
#ifndef XVT_PROCESSES_H
#define XVT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define XVT_TASK_NAME_LEN 16 /* of the kernel, with the final zero */

struct xvt_mapped_file {
	dev_t dev;
	ino_t ino;
};

/*
 * A search of /proc in steps, because it takes 35 to 100 us for each process. The search calls
 * mapping() for each process, but this one, that maps one of the files, with the file's index; and
 * after all processes vhost() for each thread of the kernel whose name is "vhost-PID": QEMU's
 * network back-end, on kernels before 6.4; or kvm-nx-lpage-recovery-PID of KVM. NULL: none is
 * looked for. Processes of other users are found by root only.
 */
struct xvt_process_finder {
	void (*mapping)(void *arg, int32_t pid, size_t file);
	void (*vhost)(void *arg, int32_t tid, const char *name, int32_t pid);
	void *arg;
};
struct xvt_process_search;

/* Begin a search. The files are copied. Returns 0, -ENOMEM, or -errno of /proc. */
int xvt_process_search_begin(struct xvt_process_search **search,
			     const struct xvt_process_finder *finder,
			     const struct xvt_mapped_file *files, size_t count);
/* Read the mappings of these processes only. */
void xvt_process_search_only(struct xvt_process_search *search,
			     bool (*wanted)(void *arg, int32_t pid));
/* Search for most_ns, and as long as one process or some lines of its mappings take. Returns true
 * when all is searched. */
bool xvt_process_search_step(struct xvt_process_search *search, uint64_t most_ns);
/* End a search at any time. NULL is allowed. */
void xvt_process_search_end(struct xvt_process_search *search);

/* Call fn for each thread of a process. Returns 0; -ESRCH: no such process; or -errno. */
int xvt_process_threads(int32_t pid, void (*fn)(void *arg, int32_t tid), void *arg);

/* Find the process of a thread, and whether it is the kernel's. Returns false if there is no such
 * thread. */
bool xvt_thread_process(int32_t tid, int32_t *tgid, bool *kernel);

/* Returns whether a process has the name of QEMU, which anybody can give his; *uid: its user. */
bool xvt_process_is_qemu(int32_t pid, uid_t *uid);

/* Read when a process or a thread was started, in clock ticks since the host's boot. Returns false
 * if there is none. */
bool xvt_process_start(int32_t pid, unsigned long long *ticks);
/* Read when a thread was started, in ns of CLOCK_MONOTONIC, at most a tick of 10 ms too early; 0:
 * there is no such thread. */
uint64_t xvt_thread_start_ns(int32_t tid);

/* Read the name of a process's thread. Returns false if there is no such thread. */
bool xvt_thread_name(int32_t pid, int32_t tid, char name[XVT_TASK_NAME_LEN]);

/*
 * Whether a process has a file open for writing, or maps it so. Takes microseconds: the kernel
 * refuses a read lease on such a file. Returns 1; 0: none has; -errno: unknown (-EACCES: only the
 * file's owner and a user with CAP_LEASE may ask). Counts this process, too.
 */
int xvt_file_has_writer(const char *path);

/* Returns a process that maps a file for writing, but its own copy of it (MAP_PRIVATE), as a QEMU
 * without share=on does; 0: none, or unknown. Takes 35 to 100 us for each process of the host. */
pid_t xvt_file_copied_by(const struct xvt_mapped_file *file);

/* Whether a region's file is what a machine left that has ended: no process uses it, and it has the
 * size in bytes that a new device takes. */
bool xvt_file_is_left(const char *path, uint64_t size);

/* Returns the process that holds flock() on a file, which is what a recorder does with a region;
 * 0: none, or unknown. */
pid_t xvt_file_locker(const struct xvt_mapped_file *file);

/*
 * Says which xvtrace a process is, "process 17 (xvtrace record -d g1), which writes /x/g1.xvt", as
 * far as this user and the sandbox may see that. The words are the process's own: unclean.
 */
void xvt_process_describe(pid_t pid, char *text, size_t size);

#endif /* XVT_PROCESSES_H */
