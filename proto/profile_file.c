// SPDX-License-Identifier: Apache-2.0
#include "proto/profile_file.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "proto/gzip_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FOR_EVER = -1, FIRST_BYTES = 1 << 16 };

// What is read, and how.
struct source {
	int fd;
	bool is_pipe;
	int silence_ms; // for which a writer may pause
};

static const char *remedy(int error_number)
{
	switch (error_number) {
	case ENOENT:
	case ENOTDIR:
		return "check the name";
	case EACCES:
	case EPERM:
		return "run the command as the file's owner or as root";
	case EAGAIN:
		return "it is no file that ends; copy what is in it into one";
	default:
		return "copy it to another place";
	}
}

static struct hs_error *system_error(int error_number)
{
	char buffer[128];

	return hs_error_create(HS_ERROR_SYSTEM, "%s; %s", strerror_r(error_number, buffer, sizeof(buffer)),
			       remedy(error_number));
}

static struct hs_error *refuse_type(const struct stat *status)
{
	if (S_ISDIR(status->st_mode))
		return hs_error_create(HS_ERROR_REFUSED, "it is a directory; name a file in it");
	return hs_error_create(HS_ERROR_REFUSED, "it is neither a file nor a pipe; name a profile's file");
}

static struct hs_error *open_standard_input(struct source *ret)
{
	struct stat status;

	if (isatty(STDIN_FILENO))
		return hs_error_create(HS_ERROR_REFUSED,
				       "it is a terminal and a profile is binary; name a file or redirect one into it");
	if (fstat(STDIN_FILENO, &status) < 0)
		return system_error(errno);
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
		return refuse_type(&status);
	ret->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	ret->is_pipe = !S_ISREG(status.st_mode);
	ret->silence_ms = FOR_EVER;
	return ret->fd < 0 ? system_error(errno) : NULL;
}

// First a handle, which opens nothing: of that it is decided, and through it the file is opened, the same one.
static struct hs_error *open_named(const char *path, int silence_ms, struct source *ret)
{
	HS_CLEANUP_CLOSE int handle = open(path, O_PATH | O_CLOEXEC);
	char by_handle[64];
	struct stat status;

	if (handle < 0 || fstat(handle, &status) < 0)
		return system_error(errno);
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		return refuse_type(&status);
	snprintf(by_handle, sizeof(by_handle), "/proc/self/fd/%d", handle);
	ret->fd = open(by_handle, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ret->is_pipe = S_ISFIFO(status.st_mode);
	ret->silence_ms = silence_ms;
	return ret->fd < 0 ? system_error(errno) : NULL;
}

static struct hs_error *wait_for_bytes(const struct source *source)
{
	struct pollfd poll_fd = { .fd = source->fd, .events = POLLIN };
	int ready = poll(&poll_fd, 1, source->silence_ms);

	if (ready < 0 && errno != EINTR)
		return system_error(errno);
	if (ready == 0)
		return hs_error_create(
			HS_ERROR_TIMEOUT,
			"nobody has written into the pipe for %g s; have it written into standard input, "
			"which is named -",
			source->silence_ms / 1000.0);
	return NULL;
}

static struct hs_error *refuse_size(size_t limit)
{
	return hs_error_create(HS_ERROR_BAD_DATA, "it is longer than %zu bytes; no profile is that large", limit);
}

// Until the end, and there 1 byte more than `limit` shows that it is longer.
static struct hs_error *read_source(const struct source *source, size_t limit, uint8_t **ret, size_t *size_ret)
{
	HS_CLEANUP_FREE uint8_t *data = NULL;
	size_t room = 0, size = 0;

	for (;;) {
		struct hs_error *error = NULL;
		ssize_t count;

		if (size == room && ARRAY_RESERVE(data, room ? room + 1 : FIRST_BYTES, &room))
			return &hs_error_no_memory;
		count = read(source->fd, data + size, room - size);
		if (count == 0)
			break;
		if (count < 0 && errno == EAGAIN && source->is_pipe)
			error = wait_for_bytes(source);
		else if (count < 0 && errno != EINTR)
			error = system_error(errno);
		size += count > 0 ? (size_t)count : 0;
		if (!error && size > limit)
			error = refuse_size(limit);
		if (error)
			return error;
	}
	if (size == 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "%s",
				       source->is_pipe ? "nothing was written into the pipe; see what its writer says"
						       : "it is empty; write the profile again");
	*ret = HS_STEAL_POINTER(data);
	*size_ret = size;
	return NULL;
}

static struct hs_error *read_bytes(const char *path, const struct profile_file_limits *limits, uint8_t **ret,
				   size_t *size_ret)
{
	struct source source = { .fd = -1 };
	struct hs_error *error =
		strcmp(path, "-") == 0 ? open_standard_input(&source) : open_named(path, limits->silence_ms, &source);
	struct stat status;

	if (error)
		return error;
	// so that a file that is too long is not read first
	if (fstat(source.fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
	    (uint64_t)status.st_size > limits->size)
		error = refuse_size(limits->size);
	if (!error)
		error = read_source(&source, limits->size, ret, size_ret);
	close(source.fd);
	return error;
}

static struct hs_error *read_and_expand(const char *path, const struct profile_file_limits *limits, uint8_t **ret,
					size_t *size_ret)
{
	HS_CLEANUP_FREE uint8_t *data = NULL;
	size_t size = 0;
	struct hs_error *error = read_bytes(path, limits, &data, &size);

	if (!error && gzip_is(data, size)) {
		uint8_t *expanded = NULL;

		error = gzip_expand(data, size, limits->size, &expanded, &size);
		free(data);
		data = expanded;
		if (!error && size == 0)
			error = hs_error_create(HS_ERROR_BAD_DATA, "it is an empty gzip; write the profile again");
	}
	if (error)
		return error;
	*ret = HS_STEAL_POINTER(data);
	*size_ret = size;
	return NULL;
}

struct hs_error *profile_file_read(const char *path, const struct profile_file_limits *limits, uint8_t **ret,
				   size_t *size_ret)
{
	struct hs_error *error = read_and_expand(path, limits, ret, size_ret);

	return error ? hs_error_prefix(error, "cannot read %s", strcmp(path, "-") == 0 ? "standard input" : path)
		     : NULL;
}
