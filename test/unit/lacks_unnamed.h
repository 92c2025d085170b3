// SPDX-License-Identifier: Apache-2.0
// A file system on which no file can be made without a name (O_TMPFILE), as some are.
#ifndef HEAPSNAP_TEST_UNIT_LACKS_UNNAMED_H
#define HEAPSNAP_TEST_UNIT_LACKS_UNNAMED_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool lacks_unnamed; // set by the test

// Stands before the C library's.
int openat(int fd, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (lacks_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, fd, path, flags, mode);
}

#endif
