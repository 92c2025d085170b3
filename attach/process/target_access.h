// SPDX-License-Identifier: Apache-2.0
// Why the kernel does not let the tool trace a process: the rules of ptrace(2), "Ptrace access mode checking", applied
// to facts.
#ifndef HEAPSNAP_ATTACH_PROCESS_TARGET_ACCESS_H
#define HEAPSNAP_ATTACH_PROCESS_TARGET_ACCESS_H

#include "attach/process/diagnostics.h"
#include "base/error.h"
#include "base/process.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct access_facts {
	uid_t tool_uid; // real
	gid_t tool_gid;
	uint64_t tool_effective, tool_permitted; // capability sets
	uid_t uids[3];                           // of the target: real, effective, saved
	gid_t gids[3];
	uint64_t target_permitted;
	uid_t proc_owner;    // of the files in /proc/PID: the effective uid, or 0 when the process is not dumpable
	bool same_namespace; // user namespace; false also when it cannot be told
	bool is_descendant;  // the target descends from the tool
	int yama_scope;      // /proc/sys/kernel/yama/ptrace_scope; -1 = no Yama
};

enum access_verdict {
	ACCESS_ALLOWED,      // as far as these rules go
	ACCESS_USER,         // another user's process
	ACCESS_DUMPABLE,     // prctl(PR_SET_DUMPABLE), a set-user-ID program, or an executable that may not be read
	ACCESS_CAPABILITIES, // the target has capabilities that the tool lacks
	ACCESS_NAMESPACE,    // in another user namespace: capabilities count only in the one that they belong to, and a
			     // process of the same user is there as one of another
	ACCESS_YAMA,         // restricted to descendants or CAP_SYS_PTRACE
	ACCESS_YAMA_NEVER,   // scope 3
};

// Pure. The first rule that forbids it. pre: the kernel does. (It lets who has made a user namespace, from outside,
// into it, which these facts do not tell.)
enum access_verdict access_decide(const struct access_facts *facts);
// "user", "dumpable", "capabilities", "namespace", "yama", "yama_never"; "other" for ACCESS_ALLOWED: if it is forbidden
// all the same, these rules do not say by what.
const char *access_verdict_name(enum access_verdict verdict);
// Pure. Adds the refusal that the verdict stands for, with the remedy. ACCESS_ALLOWED: some other rule (a security
// module, a sandbox) forbids it.
void access_judge(pid_t pid, const char *name, enum access_verdict verdict, const struct access_facts *facts,
		  struct diagnostics *diagnostics);

struct hs_error *access_facts_read(const struct process *process, struct access_facts *ret) HS_MUST_CHECK;

#endif
