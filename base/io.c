// SPDX-License-Identifier: Apache-2.0
#include "base/io.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_READ_BYTES = 16384 };

struct hs_error *hs_read_fd(int fd, const char *name, size_t limit, char **text_ret, size_t *size_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	size_t room = 0, size = 0;

	// Files of /proc do not tell their size, so read until the end; and there 1 byte more than `limit` shows
	// that the file is longer.
	for (;;) {
		if (room - size < 2) {
			if (ARRAY_RESERVE(text, room ? room + 1 : FIRST_READ_BYTES, &room))
				return &hs_error_no_memory;
		}

		ssize_t count = read(fd, text + size, room - size - 1);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return hs_error_system(errno, "cannot read %s", name);
		if (count == 0)
			break;
		size += (size_t)count;
		if (size > limit)
			return hs_error_create(HS_ERROR_BAD_DATA, "%s is longer than %zu bytes", name, limit);
	}
	text[size] = 0;
	*text_ret = HS_STEAL_POINTER(text);
	*size_ret = size;
	return NULL;
}

struct hs_error *hs_read_file(const char *path, size_t limit, char **text_ret, size_t *size_ret)
{
	HS_CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return hs_error_system(errno, "cannot open %s", path);
	return hs_read_fd(fd, path, limit, text_ret, size_ret);
}

struct hs_error *hs_pread_exact(int fd, void *buffer, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return hs_error_system(errno, "cannot read %zu bytes at offset %llu", size,
					       (unsigned long long)offset);
		if (count == 0)
			return hs_error_create(HS_ERROR_BAD_DATA, "file ends inside %zu bytes at offset %llu", size,
					       (unsigned long long)offset);
		done += (size_t)count;
	}
	return NULL;
}

struct hs_error *hs_write_all(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = write(fd, (const char *)data + done, size - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return hs_error_system(errno, "cannot write");
		done += (size_t)count;
	}
	return NULL;
}

struct hs_error *hs_pwrite_all(int fd, const void *data, size_t size, uint64_t offset)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = pwrite(fd, (const char *)data + done, size - done, (off_t)(offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return hs_error_system(errno, "cannot write %zu bytes at offset %llu", size,
					       (unsigned long long)offset);
		done += (size_t)count;
	}
	return NULL;
}

int hs_open_nothing(int flags)
{
	int ends[2];

	if (pipe2(ends, flags) != 0)
		return -1;
	close(ends[1]);
	return ends[0];
}

struct hs_error *hs_format(char **text_ret, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return &hs_error_no_memory;
	*text_ret = text;
	return NULL;
}
