// SPDX-License-Identifier: Apache-2.0
#include "attach/leftovers.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/live_thread.h"
#include "base/log.h"
#include "inject/abi/limits.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char ours[] = "/memfd:heapsnap-";

// The next descriptor of ours above `after`; -1 = none.
static long next_descriptor(pid_t pid, long after)
{
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = hs_format(&path, "/proc/%d/fd", hs_live_thread(pid));
	DIR *directory = error ? NULL : opendir(path);
	long next = -1;

	hs_error_destroy(error);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		char target[64];
		ssize_t size = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
		long fd = strtol(entry->d_name, NULL, 10);

		target[size > 0 ? size : 0] = 0;
		if (strncmp(target, ours, strlen(ours)) == 0 && fd > after && (next < 0 || fd < next))
			next = fd;
	}
	if (directory)
		closedir(directory);
	return next;
}

bool leftovers_exist(pid_t pid, const struct target_memory *memory)
{
	return next_descriptor(pid, -1) >= 0 || entry_patch_is_left(pid, memory);
}

// A caller that has to write its own code there takes the old one away with it; then the private copy of the page stays.
static struct hs_error *clear_entry_point(struct remote_caller *caller)
{
	uint64_t arguments[6] = { 0, HS_PAGE_SIZE, MADV_DONTNEED };
	struct hs_error *error = NULL;
	int64_t result;

	if (caller->entry.address != 0)
		return NULL;
	if (entry_patch_is_left(caller->process->pid, caller->memory)) {
		hs_verbose("putting back the bytes of the entry point that an unfinished attach has left changed");
		error = entry_patch_remove_left(caller->process, caller->memory, caller->victim->tid, &arguments[0]);
	} else {
		arguments[0] = entry_patch_left_copy(caller->process->pid, caller->memory);
	}
	if (error || arguments[0] == 0)
		return error;
	error = remote_call(caller, SYS_madvise, arguments, &result);
	if (!error && result < 0) // locked memory: the copy stays, and holds what the file holds
		hs_verbose("the copied page at the entry point stays: errno %d", (int)-result);
	return error;
}

struct hs_error *leftovers_clear(struct remote_caller *caller)
{
	pid_t pid = caller->process->pid;
	struct hs_error *errors = NULL;

	for (long fd = next_descriptor(pid, -1); fd >= 0; fd = next_descriptor(pid, fd)) {
		const uint64_t arguments[6] = { (uint64_t)fd };
		uint64_t result;

		hs_verbose("closing a descriptor that an unfinished attach has left");
		errors = hs_error_join(errors, remote_call_checked(caller, "close", SYS_close, arguments, &result));
	}
	return hs_error_join(errors, clear_entry_point(caller));
}
