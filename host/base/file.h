/* SPDX-License-Identifier: GPL-2.0 */
/* file.h - reads and writes of a file that are whole or fail; they wait, and use no loop. And the
 * descriptors that a program is started with. */
#ifndef XVT_FILE_H
#define XVT_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Write all bytes at the end of a file. Returns 0 or -errno. */
int xvt_write_all(int fd, const void *p, size_t len);

/* Write all bytes from an offset on. Returns 0 or -errno. */
int xvt_write_all_at(int fd, const void *p, size_t len, uint64_t offset);

/* Read all bytes from an offset on. Returns 0, -errno, or -EIO at the file's end. */
int xvt_read_all_at(int fd, void *p, size_t len, uint64_t offset);

/*
 * Open /dev/null as each of the descriptors 0, 1 and 2 that the program was started without: the
 * first file that it opens would get that number, and whatever is printed. Returns 0 or -errno.
 */
int xvt_open_standard(void);

#endif /* XVT_FILE_H */
