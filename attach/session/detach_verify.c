// SPDX-License-Identifier: Apache-2.0
#include "attach/session/detach_verify.h"

#include "attach/hook/hook_apply.h"
#include "attach/process/memory.h"
#include "attach/process/memory_file.h"
#include "attach/region/region_access.h"
#include "attach/session/leftovers.h"
#include "base/log.h"
#include "base/proc_maps.h"

#include <string.h>

static void add_answer(struct detach_report *report, const char *text, enum detach_answer answer)
{
	report->checks[report->check_count].text = text;
	report->checks[report->check_count].answer = answer;
	report->check_count++;
}

static void add_check(struct detach_report *report, const char *text, bool holds)
{
	add_answer(report, text, holds ? DETACH_HOLDS : DETACH_DOES_NOT_HOLD);
}

static bool text_is_back(const struct process *process, const struct hook_record *hooks, size_t count)
{
	struct target_memory memory;
	struct hs_error *error = target_memory_open(process, &memory);
	bool back = true;

	if (error) {
		hs_verbose("%s", error->message);
		hs_error_destroy(error);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		const struct hook_record *hook = &hooks[i];
		uint8_t now[sizeof(hook->old_bytes)];

		// size 0: no such hook (attach/session/inherited.h)
		if (hook->verdict != VERDICT_ok || hook->size == 0 || hook->size > sizeof(now))
			continue;
		error = target_memory_read(&memory, hook->address, now, hook->size);
		if (!error && memcmp(now, hook->new_bytes, hook->size) == 0) {
			hs_verbose("%s still begins with the hook's bytes", hook->name);
			back = false;
		}
		// Where a module has gone, nothing of ours can be left.
		if (error && !hook_place_is_gone(hook, &memory)) {
			hs_verbose("%s: %s", hook->name, error->message);
			back = false;
		}
		hs_error_destroy(error);
	}
	target_memory_close(&memory);
	return back;
}

static bool maps_are_clean(const struct process *process, const struct code_names *names)
{
	struct target_memory memory;
	struct proc_maps maps;
	struct hs_error *error = proc_maps_read(process, &maps);
	bool clean = !error;

	if (error) {
		hs_error_destroy(error);
		return false;
	}
	for (size_t i = 0; i < maps.count; i++)
		clean &= !memory_file_is_mapped(process, names, &maps.items[i]);
	error = clean ? target_memory_open(process, &memory) : NULL;
	if (clean && !error) {
		clean = !region_find(&maps, &memory);
		target_memory_close(&memory);
	}
	clean &= !error;
	hs_error_destroy(error);
	proc_maps_deinit(&maps);
	return clean;
}

void detach_verify(const struct detach_before *before, const struct code_names *names, const struct hook_record *hooks,
		   size_t count, struct detach_report *report)
{
	const struct process *process = before->process;
	const struct threads_seen threads = threads_see(process);

	add_check(report, "code bytes restored", text_is_back(process, hooks, count));
	add_check(report, "no mapping of heapsnap left", maps_are_clean(process, names));
	add_check(report, "no descriptor of heapsnap left", !leftover_descriptors_exist(process, names));
	add_check(report, "not traced", threads.is_untraced);
	// A program makes and ends threads, and changes masks, itself: a difference is told, and is no failure.
	add_answer(report, "threads and signal masks as before",
		   threads.count == before->threads.count && threads.masks == before->threads.masks
			   ? DETACH_HOLDS
			   : DETACH_NOT_COMPARABLE);
}

struct detach_before detach_look_before(const struct process *process)
{
	return (struct detach_before){ process, threads_see(process) };
}
