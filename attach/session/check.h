// SPDX-License-Identifier: Apache-2.0
// What an attach would meet. Touches nothing: reads /proc and files, makes the plan of an attach
// (attach/session/attach_plan.h) and throws it away.
#ifndef HEAPSNAP_ATTACH_SESSION_CHECK_H
#define HEAPSNAP_ATTACH_SESSION_CHECK_H

#include "attach/process/diagnostics.h"
#include "attach/process/namespaces.h"
#include "attach/process/target.h"
#include "attach/session/attached_list.h"
#include "attach/session/session.h"
#include "base/process.h"

struct check_allocator {
	const char *module; // its path; in check_report.texts
	const char *family; // as allocator_family() names it (attach/hook/allocator_family.h)
	bool in_use;        // the dynamic loader gives its malloc to those who ask; in a static program, the only one
	size_t hooks, refused;
};

struct check_hook {
	char function[56];  // cut to fit
	const char *module; // its path
	uint64_t address;
	bool is_ok, is_refused; // neither: it needs none, because it only leads to functions that are hooked
	bool is_loader_event;
	const char *verdict; // name of enum hook_verdict
	const char *reason;  // its text
};

struct check_report {
	struct diagnostics diagnostics;
	struct target_info target; // name NULL: there is no such process
	bool has_memory;           // it is a process with a memory of its own; else what follows is empty
	enum namespace_answer namespaces[NAMESPACE_COUNT];
	uint32_t pid_inside; // in its own PID namespace; 0 = unknown
	bool is_attached;    // heapsnap is in it: then `attached` is filled, and there is no plan
	struct attached_process attached;
	bool has_modules; // its files could be read; else what follows is empty
	size_t modules;
	const char *libc;      // "glibc", "musl", "unknown"
	char libc_version[32]; // "" = unknown
	bool is_static, is_go;
	struct check_allocator *allocators;
	size_t allocator_count;
	struct check_hook *hooks; // in the order in which they would be applied
	size_t hook_count;
	size_t hooks_ok, hooks_refused; // allocation functions, as attach counts them
	bool loader_followed;
	uint64_t region_bytes; // that records may use
	uint64_t fixed_bytes;  // that everything else may use, with the threads that there are
	uint64_t address_space_bytes;
	char **texts; // owned: what the pointers above point to
	size_t text_count;
};

// An error only when memory runs out: everything else is a diagnostic. *ret is owned by the caller, its texts too
// (check_report_deinit).
struct hs_error *check_process(const struct process *process, const struct attach_options *options,
			       struct check_report *ret) HS_MUST_CHECK;
void check_report_deinit(struct check_report *report);

#endif
