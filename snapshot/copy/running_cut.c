// SPDX-License-Identifier: Apache-2.0
// docs/consistency.md has the protocol.
#include "snapshot/copy/running_cut.h"

#include "attach/guard/interrupt.h"
#include "base/clock.h"
#include "base/log.h"
#include "inject/abi/page.h"
#include "snapshot/copy/membarrier.h"
#include "snapshot/copy/racing_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 5000, LOCK_PAUSE_MS = 10, LOG_WAIT_MS = 1000, LOG_PAUSE_MS = 1 };

const char *running_obstacle_text(enum running_obstacle obstacle)
{
	static const char *const texts[] = {
#define X(name, text) text,
		HS_RUNNING_OBSTACLES(X)
#undef X
	};

	return obstacle < OBSTACLE_COUNT ? texts[obstacle] : "";
}

// A lock of the open description: it is gone with the process that has it, however that ends.
static struct hs_error *take_lock(int fd, enum running_obstacle *obstacle)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	uint64_t deadline = hs_monotonic_ns() + LOCK_WAIT_MS * UINT64_C(1000000);

	for (;;) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		struct hs_error *error = interrupt_check();

		if (error || fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return error;
		if ((errno != EAGAIN && errno != EACCES) || hs_monotonic_ns() > deadline) {
			*obstacle = OBSTACLE_other_dump;
			return NULL;
		}
		nanosleep(&pause, NULL);
	}
}

static void give_lock(int fd)
{
	struct flock lock = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	(void)fcntl(fd, F_OFD_SETLK, &lock);
}

// Files of huge pages have seals as well, but are no memory to be mapped: reading a hole there can raise SIGBUS.
static bool map_region(struct running_cut *cut)
{
	const struct region_access *access = cut->access;
	struct statfs system;
	void *bytes, *header;

	if (fstatfs(access->fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
		return false;
	bytes = mmap(NULL, access->size, PROT_READ, MAP_SHARED | MAP_NORESERVE, access->fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	header = mmap(NULL, HS_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, access->fd, 0);
	if (header == MAP_FAILED) {
		munmap(bytes, access->size);
		return false;
	}
	cut->bytes = bytes;
	cut->header = header;
	return true;
}

static uint32_t log_limit(const struct running_cut *cut)
{
	uint32_t limit = racing_u32(&cut->header->log_limit);

	return limit < HS_LOG_ENTRIES ? limit : HS_LOG_ENTRIES;
}

static const struct log_entry *log_entries(const struct running_cut *cut)
{
	return (const struct log_entry *)(cut->bytes + HS_OFFSET_LOG);
}

// Whether no thread will write into one of the first `count` entries any more.
static bool is_complete(const struct running_cut *cut, uint32_t count, uint32_t generation)
{
	for (uint32_t i = 0; i < count; i++)
		if (racing_u32(&log_entries(cut)[i].generation) != generation)
			return false;
	return true;
}

// Gives the log's memory back, but for its first entries: a thread that saw the flag long ago may take one of them even
// now.
static void empty_log(const struct running_cut *cut, uint32_t count)
{
	const uint64_t kept = HS_LOG_ENTRIES_MIN * sizeof(struct log_entry);
	uint64_t used = page_up(count * sizeof(struct log_entry));

	if (used <= kept)
		return;
	fault_request();
	// Where this fails the memory stays in use until the next dump or the detach.
	(void)fallocate(cut->access->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(HS_OFFSET_LOG + kept),
			(off_t)(used - kept));
}

// Has the log begin at its first entry again, if no thread writes into it. pre: REMOVAL_LOGS is not set
static void begin_log_anew(const struct running_cut *cut)
{
	uint64_t taken = racing_u64(&cut->header->log_taken);

	while ((uint32_t)taken) {
		uint32_t limit = log_limit(cut), count = (uint32_t)taken < limit ? (uint32_t)taken : limit;

		if (!is_complete(cut, count, (uint32_t)(taken >> 32)))
			return;
		fault_request();
		if (__atomic_compare_exchange_n(&cut->header->log_taken, &taken, ((taken >> 32) + 1) << 32, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			empty_log(cut, count);
			return;
		}
	}
}

static uint32_t stop_logging(const struct running_cut *cut)
{
	fault_request();
	return __atomic_fetch_and(&cut->header->removal_flags, ~(uint32_t)REMOVAL_LOGS, __ATOMIC_SEQ_CST);
}

// Whether half of the log is free. A thread that is in the middle of writing an entry of an earlier dump needs a
// processor for a moment only, unless somebody keeps it stopped.
static struct hs_error *wait_for_log(const struct running_cut *cut, bool *ret)
{
	const struct timespec pause = { .tv_nsec = LOG_PAUSE_MS * 1000000L };
	uint64_t deadline = hs_monotonic_ns() + LOG_WAIT_MS * UINT64_C(1000000);

	for (;;) {
		struct hs_error *error;

		*ret = (uint32_t)racing_u64(&cut->header->log_taken) <= log_limit(cut) / 2;
		if (*ret || hs_monotonic_ns() > deadline)
			return NULL;
		error = interrupt_check();
		if (error)
			return error;
		nanosleep(&pause, NULL);
		begin_log_anew(cut);
	}
}

struct hs_error *running_cut_open(const struct region_access *access, struct running_cut *ret,
				  enum running_obstacle *obstacle)
{
	struct hs_error *error;

	*ret = (struct running_cut){ .access = access };
	*obstacle = OBSTACLE_earlier_version;
	if (!region_layout_is_own(access->layout))
		return NULL;
	*obstacle = OBSTACLE_not_mapped;
	if (access->fd < 0)
		return NULL;
	*obstacle = OBSTACLE_none;
	error = take_lock(access->fd, obstacle);
	if (error || *obstacle != OBSTACLE_none)
		return error;
	if (!map_region(ret)) {
		*obstacle = OBSTACLE_not_mapped;
		give_lock(access->fd);
		return NULL;
	}
	if (racing_u32(&ret->header->removal_flags) & REMOVAL_LOGS)
		(void)stop_logging(ret); // of a dump that was killed
	begin_log_anew(ret);
	return NULL;
}

void running_cut_close(struct running_cut *cut)
{
	if (!cut->bytes)
		return;
	munmap((void *)(uintptr_t)cut->bytes, cut->access->size);
	munmap(cut->header, HS_HEADER_SIZE);
	give_lock(cut->access->fd);
	*cut = (struct running_cut){ 0 };
}

struct hs_error *running_cut_begin(struct running_cut *cut, enum running_obstacle *obstacle)
{
	bool has_room;
	struct hs_error *error = wait_for_log(cut, &has_room);

	*obstacle = OBSTACLE_none;
	if (error)
		return error;
	if (!has_room)
		*obstacle = OBSTACLE_log_in_use;
	else if (!membarrier_exists())
		*obstacle = OBSTACLE_no_membarrier;
	if (*obstacle != OBSTACLE_none)
		return NULL;
	error = fault_point("have removals logged");
	if (error)
		return error;
	cut->generation = (uint32_t)(racing_u64(&cut->header->log_taken) >> 32);
	cut->epoch = racing_u32(&cut->header->epoch) + 1;
	fault_request();
	__atomic_fetch_or(&cut->header->removal_flags, REMOVAL_LOGS, __ATOMIC_SEQ_CST);
	fault_request();
	__atomic_store_n(&cut->header->epoch, cut->epoch, __ATOMIC_SEQ_CST);
	cut->wall_ns = hs_wall_ns();
	cut->monotonic_ns = hs_monotonic_ns();
	if (membarrier_run())
		return NULL;
	running_cut_end(cut, obstacle);
	*obstacle = OBSTACLE_no_membarrier;
	return NULL;
}

uint32_t running_cut_logged(const struct running_cut *cut)
{
	uint32_t count = (uint32_t)racing_u64(&cut->header->log_taken), limit = log_limit(cut);

	return count < limit ? count : limit;
}

void running_cut_end(struct running_cut *cut, enum running_obstacle *obstacle)
{
	bool is_disturbed = racing_u32(&cut->header->epoch) != cut->epoch || !(stop_logging(cut) & REMOVAL_LOGS);
	uint64_t taken = racing_u64(&cut->header->log_taken);

	*obstacle = is_disturbed || taken >> 32 != cut->generation ? OBSTACLE_disturbed
		    : (uint32_t)taken > log_limit(cut)             ? OBSTACLE_log_full
								   : OBSTACLE_none;
	hs_verbose("%u entries of the log were taken", (uint32_t)taken);
	begin_log_anew(cut);
}
