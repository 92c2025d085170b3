// SPDX-License-Identifier: Apache-2.0
// What an attach would meet. Touches nothing.
#ifndef HEAPSNAP_LIB_CHECK_H
#define HEAPSNAP_LIB_CHECK_H

#include "base/error.h"
#include "base/process.h"
#include "lib/attach.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_diagnostic {
	const char *category; // static: "process", "work", ...; see heapsnap-check(1)
	bool is_refusal;      // else a warning
	const char *message;  // one line
	const char *remedy;   // what would help; "" = nothing, or the message says it
};

struct hs_check_allocator {
	const char *module; // its path
	const char *family; // "glibc", "musl", "jemalloc", ..., "other"
	bool in_use;        // its malloc is the one that the program gets
	size_t hooks, hooks_refused;
};

struct hs_check_function {
	const char *name; // cut to fit
	const char *module;
	uint64_t address;
	bool is_hooked, is_refused; // neither: it needs none, because it only leads to functions that are hooked
	bool is_loader_event;       // no allocation function
	const char *verdict;        // "ok", or what speaks against hooking it, in a word
	const char *reason;         // the same in words
};

enum { HS_CHECK_NAMESPACES_MAX = 8 };

struct hs_check_namespace {
	const char *name; // "cgroup", "ipc", ...: namespaces(7)
	enum { HS_NAMESPACE_UNKNOWN, HS_NAMESPACE_SAME, HS_NAMESPACE_DIFFERS } answer; // compared with the tool's
};

// What can be seen from outside of a process's memory limits. Bytes.
struct hs_check_limits {
	uint64_t address_space, address_space_used; // UINT64_MAX = no limit
	unsigned cgroup_version;                    // 1 or 2; 0 = no limit of a cgroup
	// Of the one that leaves least. The last is page cache, which is given up first.
	uint64_t cgroup, cgroup_used, cgroup_cache;
	uint64_t locked;
};

struct hs_check_result {
	pid_t pid;
	bool would_attach;                       // no diagnostic is a refusal
	const struct hs_diagnostic *diagnostics; // in the order in which attach asks
	size_t diagnostic_count;
	const char *name;       // NULL: there is no such process, and what follows is empty
	const char *executable; // NULL: cannot be read
	char state;             // proc_pid_stat(5)
	bool is_kernel_thread;
	bool has_memory; // it is a process with a memory of its own; else what follows is empty
	bool is_attached, is_32_bit;
	bool may_trace;           // attach would not refuse for want of permission
	bool may_open_memory;     // the kernel lets the tool open its memory, which asks for the same right
	const char *trace_reason; // why not: "user", "dumpable", ...; "" = it may
	uint32_t tracer;          // 0 = none
	const char *tracer_name;
	int yama_scope; // -1 = no Yama
	uint32_t threads, threads_stopped, threads_uninterruptible;
	uint32_t seccomp_mode, seccomp_threads; // the strongest: 0 none, 1 strict, 2 filter; threads with one
	bool seccomp_can_suspend;               // attach would not refuse because of it
	uint32_t shadow_stacks;                 // threads with one
	struct hs_check_namespace namespaces[HS_CHECK_NAMESPACES_MAX];
	size_t namespace_count;
	uint32_t pid_inside;                                     // in its own PID namespace; 0 = unknown
	uint64_t region_bytes, fixed_bytes, address_space_bytes; // for records; for all else; mapped, mostly never used
	struct hs_check_limits limits;
	bool has_modules; // its files could be read; else what follows is empty
	size_t modules;
	const char *libc, *libc_version; // "glibc", "musl", "unknown"; "" = unknown
	bool is_static, is_go;
	const struct hs_check_allocator *allocators;
	size_t allocator_count;
	const struct hs_check_function *functions; // in the order in which they would be hooked
	size_t function_count;
	size_t hooks, hooks_refused; // as attach counts them
	bool loader_followed;        // libraries loaded later would be seen
	void *owned;                 // what the pointers above point to
};

// Of the options only those count that make a difference to whether attach would go ahead: max_memory, allocators. An
// error only when memory runs out, or when an allocator's name cannot be understood: everything else is a diagnostic.
// On success *ret is owned by the caller (hs_check_result_deinit).
struct hs_error *hs_check(const struct process *process, const struct hs_attach_options *options,
			  struct hs_check_result *ret) HS_MUST_CHECK;
void hs_check_result_deinit(struct hs_check_result *result);

#endif
