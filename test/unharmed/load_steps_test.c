// SPDX-License-Identifier: Apache-2.0
// The steps by which the payload is brought in. The tool loses sight of a call that the target has made for it: what
// that call has mapped is taken out again with the rest. The tool is killed after a write: the region is known for what
// it is, by its header or as one that has none yet. Each call and each write in turn. The build lets reads of registers
// and writes to the target go through this program (--wrap).
#include "attach/hook/payload_image.h"
#include "attach/ptrace/memory_write.h"
#include "attach/ptrace/ptrace_call.h"
#include "attach/ptrace/remote_call.h"
#include "attach/region/payload_load.h"
#include "check.h"
#include "harness.h"
#include "held_process.h"

#include <errno.h>
#include <stdlib.h>

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static unsigned reads, failing_read; // 0 = none

struct hs_error *__real_ptrace_get_registers(pid_t tid, struct user_regs_struct *registers);
struct hs_error *__wrap_ptrace_get_registers(pid_t tid, struct user_regs_struct *registers);

struct hs_error *__wrap_ptrace_get_registers(pid_t tid, struct user_regs_struct *registers)
{
	if (failing_read && ++reads == failing_read)
		return hs_error_system(EIO, "made to fail");
	return __real_ptrace_get_registers(tid, registers);
}

static uint64_t region;               // where one is being filled; 0 = none
static unsigned bare, half, complete; // how often it was found so behind a write

struct hs_error *__real_target_memory_write(const struct target_memory *memory, uint64_t address, const void *data,
					    size_t size, pid_t stopped_tid);
struct hs_error *__wrap_target_memory_write(const struct target_memory *memory, uint64_t address, const void *data,
					    size_t size, pid_t stopped_tid);

struct hs_error *__wrap_target_memory_write(const struct target_memory *memory, uint64_t address, const void *data,
					    size_t size, pid_t stopped_tid)
{
	struct hs_error *error = __real_target_memory_write(memory, address, data, size, stopped_tid);
	struct region_header header;

	if (!region || address < region)
		return error;
	must(target_memory_read(memory, region, &header, sizeof(header)));
	if (header.stable.magic == 0)
		bare++;
	else if (header.stable.magic == HS_REGION_MAGIC && header.stable.region_address == region &&
		 header.log_limit == 42)
		complete++;
	else
		half++;
	return error;
}

// Something in each part that is written, and at both ends of the header.
static void fill(struct region_header *header, void *layout)
{
	region = ((const struct payload_layout *)layout)->region;
	*header = (struct region_header){ .stable = { .magic = HS_REGION_MAGIC, .region_address = region },
					  .log_limit = 42,
					  .module_count = 1,
					  .string_bytes = 8,
					  .first_page = HS_OFFSET_PAGES / HS_PAGE_SIZE,
					  .next_page = HS_OFFSET_PAGES / HS_PAGE_SIZE + 1 };
}

// Ranges and names of all mappings, as one text.
static char *list(pid_t pid)
{
	char *text = NULL;
	size_t size;
	struct proc_maps maps;
	FILE *stream = open_memstream(&text, &size);

	must(proc_maps_read(held_process(pid), &maps));
	for (size_t i = 0; i < maps.count; i++)
		fprintf(stream, "%" PRIx64 "-%" PRIx64 " %s\n", maps.items[i].start, maps.items[i].end,
			maps.items[i].name);
	fclose(stream);
	proc_maps_deinit(&maps);
	return text;
}

// One load, of which the call that reads registers for the `number`th time fails. False = there is no such call, and it
// succeeded.
static bool load_and_unload(struct remote_caller *caller, unsigned number)
{
	struct payload_config config = { 0 };
	struct hook_plan plan = { 0 };
	struct loaded_payload loaded = { .own_fd = -1, .target_fd = -1 };
	struct payload_layout layout;
	struct proc_maps maps;
	struct hs_error *error;
	uint8_t *code;
	size_t size;

	must(proc_maps_read(caller->frozen->process, &maps));
	must(payload_layout_choose(&maps, HS_OFFSET_PAGES + (1 << 20), 1, &layout));
	proc_maps_deinit(&maps);
	must(payload_code_build(&layout, &config, &plan, &code, &size));
	reads = 0;
	failing_read = number;
	error = payload_load(caller, &layout, code, size, &plan, fill, &layout, &loaded);
	failing_read = 0;
	region = 0;
	free(code);
	CHECK(!error || strstr(error->message, "made to fail"));
	CHECK(error || loaded.region_is_there);
	must(payload_unload(caller, &loaded));
	hs_error_destroy(error);
	return error != NULL;
}

static int run_all(void)
{
	struct program program = program_start("ptrace_sleepers", ARGUMENTS("2"));
	struct frozen_process process;
	struct remote_caller caller;
	struct target_memory memory;
	char *before, *after;
	unsigned calls = 0;

	must(target_memory_open(held_process(program.pid), &memory));
	must(freeze_prepared(&memory, 2000, &process));
	must(remote_call_open(&process, &memory, &caller));
	before = list(program.pid);
	// Registers are read twice for each call: before it is made, where nothing is lost, and when it was.
	while (load_and_unload(&caller, 2 * ++calls)) {
		CHECK_EQUAL(complete, 0); // the last step of all
		after = list(program.pid);
		CHECK_STRING(after, before);
		free(after);
	}
	after = list(program.pid);
	CHECK_STRING(after, before);
	printf("%u calls; behind %u writes the region was bare, behind %u complete\n", calls - 1, bare, complete);
	CHECK(calls > 8);
	CHECK(bare >= 4 && half == 0 && complete == 1);
	free(after);
	free(before);
	must(remote_call_close(&caller));
	must(threads_thaw(&process));
	target_memory_close(&memory);
	CHECK_EQUAL(program_finish(&program, NULL, 0), 0);
	return CHECK_RESULT();
}

int main(void) { return run_unless_starved(run_all); }
