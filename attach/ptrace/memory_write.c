// SPDX-License-Identifier: Apache-2.0
#include "attach/ptrace/memory_write.h"

#include "attach/guard/interrupt.h"
#include "attach/ptrace/ptrace_call.h"
#include "base/process.h"
#include "inject/abi/page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

// Eight bytes at a time, wherever they begin (PTRACE_POKEDATA does not ask for alignment); the bytes around the range
// are read and written back. No step crosses a page, so that a range of up to eight bytes within a page is changed at
// one instant: a tool that is killed leaves a jump whole or not at all.
static struct hs_error *write_by_words(const struct target_memory *memory, uint64_t address, const void *data,
				       size_t size, pid_t tid)
{
	size_t done = 0;

	while (done < size) {
		uint64_t next = address + done, page_end = page_of(next) + HS_PAGE_SIZE;
		uint64_t word_address = page_end - next < 8 ? page_end - 8 : next;
		size_t skip = (size_t)(next - word_address);
		size_t count = 8 - skip < size - done ? 8 - skip : size - done;
		struct hs_error *error;
		uint64_t word;

		error = target_memory_read(memory, word_address, &word, sizeof(word));
		if (!error) {
			memcpy((char *)&word + skip, (const char *)data + done, count);
			error = ptrace_poke(tid, word_address, word);
		}
		if (error)
			return error;
		done += count;
	}
	return NULL;
}

struct hs_error *target_memory_write(const struct target_memory *memory, uint64_t address, const void *data,
				     size_t size, pid_t stopped_tid)
{
	struct hs_error *absent = target_memory_check_present(memory, address, size);
	size_t done = 0;

	if (absent)
		return absent;
	fault_request();
	while (done < size) {
		ssize_t count = pwrite(memory->fd, (const char *)data + done, size - done, (off_t)(address + done));
		int error_number = errno;
		struct hs_error *error;

		if (count > 0) {
			done += (size_t)count;
			continue;
		}
		if (count == 0)
			return process_gone(memory->process);
		if (error_number == EINTR)
			continue;
		// With proc_mem.force_override=never or ptrace (Linux 6.12) this is how a read-only page answers.
		if (stopped_tid != 0) {
			error = write_by_words(memory, address + done, (const char *)data + done, size - done,
					       stopped_tid);
			if (!error || error->code == HS_ERROR_GONE)
				return error;
			hs_error_destroy(error);
		}
		return hs_error_fault(error_number, address + done,
				      "cannot write %zu bytes at 0x%" PRIx64 " of process %d", size, address,
				      (int)memory->process->pid);
	}
	return NULL;
}
