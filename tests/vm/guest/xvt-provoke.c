// SPDX-License-Identifier: GPL-2.0
/* xvt-provoke.c - does many things once that the kernel has events of. What fails is left out. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void streams(int family, const struct sockaddr *any, socklen_t len, int protocol)
{
	struct sockaddr_storage at;
	socklen_t at_len = sizeof(at);
	char bytes[3000] = "";
	int s = socket(family, SOCK_STREAM, protocol), c, d;

	if (s < 0 || bind(s, any, len) || listen(s, 1) ||
	    getsockname(s, (struct sockaddr *)&at, &at_len))
		return;
	c = socket(family, SOCK_STREAM, protocol);
	if (connect(c, (struct sockaddr *)&at, at_len))
		return;
	d = accept(s, NULL, NULL);
	(void)!write(c, bytes, sizeof(bytes));
	(void)!read(d, bytes, sizeof(bytes));
	setsockopt(d, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
	close(d); /* resets */
	(void)!read(c, bytes, sizeof(bytes));
	close(c);
	close(s);
	c = socket(family, SOCK_STREAM, protocol);
	if (connect(c, (struct sockaddr *)&at, at_len)) /* refused */
		close(c);
}

static void packets(int family, const struct sockaddr *any, socklen_t len)
{
	struct sockaddr_storage at;
	socklen_t at_len = sizeof(at);
	char byte;
	int s = socket(family, SOCK_DGRAM, 0);

	if (s < 0 || bind(s, any, len) || getsockname(s, (struct sockaddr *)&at, &at_len))
		return;
	sendto(s, "y", 1, 0, (struct sockaddr *)&at, at_len);
	recv(s, &byte, 1, MSG_DONTWAIT);
	close(s);
	s = socket(family, SOCK_DGRAM, 0);
	sendto(s, "y", 1, 0, (struct sockaddr *)&at, at_len); /* nobody is there */
	close(s);
}

/* The kernel makes something of this address that is neither a number nor a function there. */
static void vsyscall(void)
{
	if (fork() == 0) {
		((void (*)(void *))0xffffffffff600000)(NULL);
		_exit(0);
	}
	wait(NULL);
}

static void networks(void)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int pair[2];
	char byte;

	streams(AF_INET, (const struct sockaddr *)&v4, sizeof(v4), 0);
	streams(AF_INET6, (const struct sockaddr *)&v6, sizeof(v6), 0);
	streams(AF_INET, (const struct sockaddr *)&v4, sizeof(v4), 262 /* MPTCP */);
	packets(AF_INET, (const struct sockaddr *)&v4, sizeof(v4));
	packets(AF_INET6, (const struct sockaddr *)&v6, sizeof(v6));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	(void)!write(pair[0], "z", 1);
	(void)!read(pair[1], &byte, 1);
	close(pair[0]);
	close(pair[1]);
}

static void memory(void)
{
	const size_t len = 4 << 20;
	char *m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *volatile wild = (char *)8;

	m[5] = 1;
	madvise(m, len, MADV_HUGEPAGE);
	memset(m, 1, len);
	madvise(m, len, MADV_COLD);
	madvise(m, len, MADV_PAGEOUT);
	madvise(m, len, MADV_MERGEABLE);
	madvise(m, len, 25 /* MADV_COLLAPSE */);
	mlock(m, 4096);
	mprotect(m, 8192, PROT_READ);
	m = mremap(m, len, 2 * len, MREMAP_MAYMOVE);
	madvise(m, len, MADV_DONTNEED);
	munmap(m, 2 * len);
	m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1,
		 0);
	if (fork() == 0)
		*wild = 1; /* SIGSEGV */
	wait(NULL);
}

static void files(const char *dir)
{
	char path[100], bytes[99999] = "";
	int f, to[2], g;

	snprintf(path, sizeof(path), "%s/provoked", dir);
	f = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (f < 0)
		return;
	(void)!write(f, bytes, sizeof(bytes));
	fsync(f);
	(void)!ftruncate(f, 5);
	posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED);
	fallocate(f, FALLOC_FL_KEEP_SIZE, 0, 1 << 16);
	fallocate(f, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 4096, 8192);
	fallocate(f, FALLOC_FL_ZERO_RANGE, 0, 4096);
	lseek(f, 0, SEEK_DATA);
	(void)!lockf(f, F_LOCK, 5);
	(void)!lockf(f, F_ULOCK, 5);
	flock(f, LOCK_EX);
	fcntl(f, F_SETLEASE, F_WRLCK);
	g = open(path, O_RDONLY | O_NONBLOCK);
	fcntl(f, F_SETLEASE, F_UNLCK);
	close(g);
	if (pipe(to) == 0) {
		sendfile(to[1], f, NULL, 5);
		splice(f, NULL, to[1], NULL, 5, SPLICE_F_NONBLOCK);
	}
	(void)!read(f, bytes, 5);
	flock(f, LOCK_UN);
	fdatasync(f);
	sync_file_range(f, 0, 0, SYNC_FILE_RANGE_WRITE);
	syncfs(f);
	close(f);
	unlink(path);
}

static void ring_of_io(void)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	struct io_uring_sqe *sqe;
	char *sq;
	unsigned int n = 0;

	if (fd < 0)
		return;
	sq = mmap(NULL, p.sq_off.array + 8 * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  IORING_OFF_SQ_RING);
	sqe = mmap(NULL, 8 * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || sqe == MAP_FAILED)
		return;
	memset(sqe, 0, 8 * sizeof(*sqe));
	sqe[n++].opcode = IORING_OP_NOP;
	sqe[n].opcode = IORING_OP_POLL_ADD;
	sqe[n].fd = 0;
	sqe[n].poll32_events = 1;
	sqe[n++].user_data = 7;
	sqe[n].opcode = IORING_OP_TIMEOUT;
	sqe[n].addr = (uintptr_t) & (struct __kernel_timespec){ 0, 1000000 };
	sqe[n].len = 1;
	sqe[n++].user_data = 8;
	sqe[n].opcode = IORING_OP_READ;
	sqe[n].fd = 999; /* fails */
	sqe[n].flags = IOSQE_IO_LINK;
	sqe[n++].user_data = 9;
	sqe[n++].opcode = IORING_OP_NOP; /* so this one fails, too */
	sqe[n].opcode = IORING_OP_NOP;
	sqe[n++].flags = IOSQE_ASYNC;
	for (unsigned int i = 0; i < n; i++)
		((unsigned int *)(sq + p.sq_off.array))[i] = i;
	__atomic_store_n((unsigned int *)(sq + p.sq_off.tail), n, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, fd, n, 3, IORING_ENTER_GETEVENTS, NULL, 0);
	syscall(SYS_io_uring_register, fd, IORING_REGISTER_FILES, (int[]){ 0, 1 }, 2);
	close(fd);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void *nothing(void *arg)
{
	return arg;
}

static void times(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 10000 };
	const struct itimerspec later = { .it_value.tv_nsec = 5000000 };
	uint64_t ticks;
	int fd;

	signal(SIGALRM, on_alarm);
	signal(SIGIO, SIG_IGN); /* of a lease */
	setitimer(ITIMER_REAL, &soon, NULL);
	pause();
	setitimer(ITIMER_PROF, &soon, NULL);
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
	for (int clock = CLOCK_REALTIME; clock <= CLOCK_BOOTTIME_ALARM; clock++) {
		fd = timerfd_create(clock, 0);
		if (fd < 0)
			continue;
		timerfd_settime(fd, 0, &later, NULL);
		(void)!read(fd, &ticks, sizeof(ticks));
		timerfd_settime(fd, 0, &(struct itimerspec){ .it_value.tv_sec = 99 }, NULL);
		close(fd);
	}
}

static void tasks(void)
{
	pthread_t thread;
	int latency = open("/dev/cpu_dma_latency", O_RDWR), epoll = epoll_create1(0);

	(void)!write(latency, &(int32_t){ 100 }, 4);
	(void)!write(latency, &(int32_t){ 50 }, 4);
	close(latency);
	epoll_wait(epoll, &(struct epoll_event){ 0 }, 1, 10);
	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
	prctl(1499557217, 2, 3, 4, 5);
	prctl(PR_SET_NAME, "a name: 1,2");
	syscall(SYS_membarrier, 16, 0, 0);
	syscall(SYS_membarrier, 8, 0, 0);
	if (fork() == 0) {
		kill(getpid(), SIGUSR1);
		_exit(3);
	}
	wait(NULL);
	raise(SIGALRM);
	if (fork() == 0)
		execl("/bin/true", "true", NULL);
	wait(NULL);
}

/* xvt-provoke [short]: in /tmp and, if not short, in /tmp/disk and networks, too. */
int main(int argc, char **argv)
{
	(void)argv;
	times();
	tasks();
	memory();
	files("/tmp");
	if (argc > 1)
		return 0;
	vsyscall();
	files("/tmp/disk");
	networks();
	ring_of_io();
	return 0;
}
