// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/file_copy.h"

#include "attach/guard/refused_reads.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 65536 };

// Code and symbols of all modules of the largest programs stay below this; a sparse file can claim any size.
static const uint64_t LOADED_MAX = UINT64_C(4) << 30;
static uint64_t loaded_bytes; // of all copies

struct hs_error *file_copy_open(int fd, struct file_copy *ret)
{
	struct stat status;

	*ret = (struct file_copy){ .fd = -1 };
	if (fstat(fd, &status) < 0)
		return hs_error_system(errno, "cannot examine the file");
	if (!S_ISREG(status.st_mode) || status.st_size <= 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "not a file with content");
	ret->size = (size_t)status.st_size;
	ret->bytes = mmap(NULL, ret->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (ret->bytes == MAP_FAILED)
		ret->bytes = NULL;
	if (ret->bytes) // so its size is a possible one
		ret->loaded = calloc(1, ret->size / PIECE / 8 + 1);
	ret->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!ret->loaded || !ret->bytes || ret->fd < 0) {
		int error_number = ret->fd < 0 ? errno : ENOMEM;

		file_copy_close(ret);
		return hs_error_system(error_number, "cannot copy the file");
	}
	return NULL;
}

static bool is_loaded(const struct file_copy *copy, uint64_t piece)
{
	return copy->loaded[piece / 8] >> (piece % 8) & 1;
}

static uint64_t piece_size(const struct file_copy *copy, uint64_t piece)
{
	uint64_t left = copy->size - piece * PIECE;

	return left < PIECE ? left : PIECE;
}

void file_copy_close(struct file_copy *copy)
{
	for (uint64_t piece = 0; copy->loaded && piece * PIECE < copy->size; piece++)
		loaded_bytes -= is_loaded(copy, piece) ? piece_size(copy, piece) : 0;
	if (copy->bytes)
		munmap(copy->bytes, copy->size);
	if (copy->fd >= 0)
		close(copy->fd);
	free(copy->loaded);
	*copy = (struct file_copy){ .fd = -1 };
}

struct file_copy *file_copy_share(struct file_copy *copy)
{
	copy->users++;
	return copy;
}

void file_copy_release(struct file_copy *copy)
{
	if (copy->users-- > 0)
		return;
	file_copy_close(copy);
	free(copy);
}

static bool load_piece(struct file_copy *copy, uint64_t piece)
{
	uint64_t size = piece_size(copy, piece);
	struct hs_error *error;

	if (size > LOADED_MAX - loaded_bytes)
		return false;
	error = refused_reads_file();
	if (!error)
		error = hs_pread_exact(copy->fd, copy->bytes + piece * PIECE, size, piece * PIECE);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	loaded_bytes += size;
	copy->loaded[piece / 8] |= (uint8_t)(1u << (piece % 8));
	return true;
}

bool file_copy_load(struct file_copy *copy, uint64_t offset, uint64_t size)
{
	if (offset > copy->size || size > copy->size - offset)
		return false;
	for (uint64_t piece = offset / PIECE; size && piece <= (offset + size - 1) / PIECE; piece++)
		if (!is_loaded(copy, piece) && !load_piece(copy, piece))
			return false;
	return true;
}
