// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * writer.c - the writing process: begins a generation in a region that exists, writes, and is
 * interrupted all the time by a timer's signal whose handler writes too. It does not mind being
 * killed.
 *
 *	writer REGION TRUTH LAST-NUMBER
 */
#define _GNU_SOURCE
#include "load.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL_PERIOD_NS 50000

static struct load load;

static void on_signal(int sig)
{
	(void)sig;
	load_event(&load, STRESS_SIGNAL);
}

static void *map(const char *path, size_t *size)
{
	int fd = open(path, O_RDWR);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		exit(1);
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	*size = (size_t)st.st_size;
	return p;
}

static void start_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct itimerspec every = { { 0, SIGNAL_PERIOD_NS }, { 0, SIGNAL_PERIOD_NS } };
	timer_t timer;

	sigemptyset(&sa.sa_mask);
	if (sigaction(SIGALRM, &sa, NULL) || timer_create(CLOCK_MONOTONIC, NULL, &timer) ||
	    timer_settime(timer, 0, &every, NULL)) {
		perror("writer: timer");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct xvt_layout layout = { .kind = XVT_KIND_USER, .clock_id = XVT_CLOCK_NATIVE };
	uint8_t uuid[16] = { 0 };
	struct xvt_geometry g;
	struct xvt_fault fault;
	uint64_t last;
	size_t size;
	void *region;

	if (argc != 4) {
		fprintf(stderr, "usage: writer REGION TRUTH LAST-NUMBER\n");
		return 2;
	}
	region = map(argv[1], &size);
	if (xvt_check_header(region, size, &g, &fault)) {
		fprintf(stderr, "writer: %s: %s\n", argv[1], fault.why);
		return 1;
	}
	load.truth = map(argv[2], &size);
	last = strtoull(argv[3], NULL, 0);
	layout.enable = XVT_ENABLE_STOP;
	xvt_store(&load.truth->generation, xvt_region_new_generation(region, &g, &layout, uuid));
	xvt_writer_init(&load.w, region, &g, 0);
	load.w.ctl->state = XVT_RING_ONLINE;
	start_signals();
	load_run(&load, last);
	signal(SIGALRM, SIG_IGN);
	load.w.ctl->state = XVT_RING_OFFLINE;
	return 0;
}
