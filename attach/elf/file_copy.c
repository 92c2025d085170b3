// SPDX-License-Identifier: Apache-2.0
#include "attach/elf/file_copy.h"

#include "attach/guard/refused_reads.h"
#include "base/io.h"
#include "inject/abi/limits.h"

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

// `bytes` stays NULL where there is no room.
static void get_room(uint64_t size, size_t piece, struct file_copy *copy)
{
	copy->size = (size_t)size;
	copy->piece = piece;
	copy->bytes =
		mmap(NULL, copy->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy->bytes == MAP_FAILED)
		copy->bytes = NULL;
	if (copy->bytes) // so its size is a possible one
		copy->loaded = calloc(1, copy->size / piece / 8 + 1);
}

struct hs_error *file_copy_begin(uint64_t size, struct file_copy *ret)
{
	*ret = (struct file_copy){ .fd = -1 };
	get_room(size, HS_PAGE_SIZE, ret);
	if (ret->bytes && ret->loaded)
		return NULL;
	file_copy_close(ret);
	return &hs_error_no_memory;
}

struct hs_error *file_copy_open(int fd, struct file_copy *ret)
{
	struct stat status;

	*ret = (struct file_copy){ .fd = -1 };
	if (fstat(fd, &status) < 0)
		return hs_error_system(errno, "cannot examine the file");
	if (!S_ISREG(status.st_mode) || status.st_size <= 0)
		return hs_error_create(HS_ERROR_BAD_DATA, "not a file with content");
	get_room((uint64_t)status.st_size, PIECE, ret);
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
	uint64_t left = copy->size - piece * copy->piece;

	return left < copy->piece ? left : copy->piece;
}

void file_copy_close(struct file_copy *copy)
{
	for (uint64_t piece = 0; copy->loaded && piece * copy->piece < copy->size; piece++)
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

	if (copy->fd < 0 || size > LOADED_MAX - loaded_bytes)
		return false;
	error = refused_reads_file();
	if (!error)
		error = hs_pread_exact(copy->fd, copy->bytes + piece * copy->piece, size, piece * copy->piece);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	loaded_bytes += size;
	copy->loaded[piece / 8] |= (uint8_t)(1u << (piece % 8));
	return true;
}

static bool is_in_part(const struct file_copy *copy, uint64_t offset, uint64_t size)
{
	return offset >= copy->part_offset && offset - copy->part_offset <= copy->part_size &&
	       size <= copy->part_size - (offset - copy->part_offset);
}

bool file_copy_load(struct file_copy *copy, uint64_t offset, uint64_t size)
{
	if (offset > copy->size || size > copy->size - offset)
		return false;
	if (is_in_part(copy, offset, size))
		return true;
	for (uint64_t piece = offset / copy->piece; size && piece <= (offset + size - 1) / copy->piece; piece++)
		if (!is_loaded(copy, piece) && !load_piece(copy, piece))
			return false;
	return true;
}

bool file_copy_put_page(struct file_copy *copy, uint64_t offset)
{
	uint64_t piece = offset / copy->piece;

	if (is_loaded(copy, piece))
		return true;
	if (copy->piece > LOADED_MAX - loaded_bytes)
		return false;
	loaded_bytes += piece_size(copy, piece);
	copy->loaded[piece / 8] |= (uint8_t)(1u << (piece % 8));
	return true;
}

void file_copy_put_part(struct file_copy *copy, uint64_t offset, uint64_t size)
{
	copy->part_offset = offset;
	copy->part_size = size;
}
