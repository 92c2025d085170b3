// SPDX-License-Identifier: Apache-2.0
#include "attach/process/target_access.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc_status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CAP_SYS_PTRACE_BIT (UINT64_C(1) << 19)

static bool same_user(const struct access_facts *facts)
{
	for (int i = 0; i < 3; i++) {
		if (facts->uids[i] != facts->tool_uid || facts->gids[i] != facts->tool_gid)
			return false;
	}
	return true;
}

// __ptrace_may_access in kernel/ptrace.c, cap_ptrace_access_check in security/commoncap.c, yama_ptrace_access_check.
enum access_verdict access_decide(const struct access_facts *facts)
{
	bool has_capability = (facts->tool_effective & CAP_SYS_PTRACE_BIT) != 0;
	bool capable = has_capability && facts->same_namespace;
	enum access_verdict lacking = has_capability ? ACCESS_NAMESPACE : ACCESS_USER;

	if (facts->yama_scope >= 3)
		return ACCESS_YAMA_NEVER;
	if (capable)
		return ACCESS_ALLOWED;
	if (!same_user(facts))
		return lacking;
	if (facts->proc_owner != facts->uids[1])
		return has_capability ? ACCESS_NAMESPACE : ACCESS_DUMPABLE;
	if (!facts->same_namespace)
		return ACCESS_NAMESPACE;
	if (facts->target_permitted & ~facts->tool_permitted)
		return ACCESS_CAPABILITIES;
	if (facts->yama_scope == 2 || (facts->yama_scope == 1 && !facts->is_descendant))
		return ACCESS_YAMA;
	return ACCESS_ALLOWED;
}

const char *access_verdict_name(enum access_verdict verdict)
{
	switch (verdict) {
	case ACCESS_USER:
		return "user";
	case ACCESS_DUMPABLE:
		return "dumpable";
	case ACCESS_CAPABILITIES:
		return "capabilities";
	case ACCESS_NAMESPACE:
		return "namespace";
	case ACCESS_YAMA:
		return "yama";
	case ACCESS_YAMA_NEVER:
		return "yama_never";
	case ACCESS_ALLOWED:
		break;
	}
	return "other";
}

#define SANDBOXED                                                                                                      \
	"a security module (SELinux, AppArmor) or a sandbox around heapsnap forbids it; run heapsnap outside of it"

void access_judge(pid_t pid, const char *name, enum access_verdict verdict, const struct access_facts *facts,
		  struct diagnostics *diagnostics)
{
	static const char sandboxed[] = SANDBOXED,
			  without_capability[] = SANDBOXED " (in a container: --cap-add=SYS_PTRACE)";
	static const char as_root[] = "run heapsnap as root (CAP_SYS_PTRACE)";
	const enum diagnostic_category category = CATEGORY_permission;

	switch (verdict) {
	case ACCESS_USER:
		diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL,
				"run it as that user or as root (CAP_SYS_PTRACE)",
				"process %d (%s) belongs to user %u, group %u, and heapsnap runs as user %u, group %u",
				(int)pid, name, facts->uids[1], facts->gids[1], facts->tool_uid, facts->tool_gid);
		return;
	case ACCESS_DUMPABLE:
		diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL, as_root,
				"process %d (%s) is not dumpable (it changed its user, or forbids tracing with prctl)",
				(int)pid, name);
		return;
	case ACCESS_CAPABILITIES:
		diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL, as_root,
				"process %d (%s) has capabilities that heapsnap lacks", (int)pid, name);
		return;
	case ACCESS_NAMESPACE:
		diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL,
				"run heapsnap inside that container or as root of the host",
				"process %d (%s) is in another user namespace, where heapsnap has no CAP_SYS_PTRACE",
				(int)pid, name);
		return;
	case ACCESS_YAMA:
		diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL,
				"run heapsnap as root (CAP_SYS_PTRACE), or set it to 0",
				"process %d (%s) may not be traced because kernel.yama.ptrace_scope is %d", (int)pid,
				name, facts->yama_scope);
		return;
	case ACCESS_YAMA_NEVER:
		diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL, "it can be lowered only by a reboot",
				"process %d (%s) may not be traced because kernel.yama.ptrace_scope is %d", (int)pid,
				name, facts->yama_scope);
		return;
	case ACCESS_ALLOWED:
		break;
	}
	diagnostics_add(diagnostics, category, DIAGNOSTIC_REFUSAL,
			facts->tool_effective & CAP_SYS_PTRACE_BIT ? sandboxed : without_capability,
			"process %d (%s) may not be traced", (int)pid, name);
}

static void read_ids(const char *status, const char *key, unsigned ret[3])
{
	if (!proc_status_ids(status, key, ret))
		ret[0] = ret[1] = ret[2] = UINT32_MAX;
}

// 0 = unknown.
static pid_t parent_of(const struct process *process)
{
	HS_CLEANUP_FREE char *status = NULL;
	struct hs_error *error = process_read_file(process, "status", &status, NULL);

	hs_error_destroy(error);
	return error ? 0 : (pid_t)proc_status_number(status, "PPid:", 10, 0);
}

static bool descends_from(const struct process *process, pid_t ancestor)
{
	pid_t parent = parent_of(process);

	for (int depth = 0; depth < 1000 && parent > 1 && parent != ancestor; depth++) {
		HS_CLEANUP_PROCESS struct process next = PROCESS_CLOSED;
		struct hs_error *error = process_glance(parent, &next);

		parent = error ? 0 : parent_of(&next);
		hs_error_destroy(error);
	}
	return parent == ancestor;
}

static struct hs_error *read_own(const char *path, char **text_ret)
{
	size_t size;

	return hs_read_file(path, PROC_STATUS_LIMIT, text_ret, &size);
}

// The link in ns/ can be read only by who may trace the process; uid_map by everybody, and it tells different
// namespaces apart.
static bool same_user_namespace(const struct process *process)
{
	HS_CLEANUP_CLOSE int folder = process_live_folder(process);
	HS_CLEANUP_FREE char *own_map = NULL, *map = NULL;
	struct stat own, other;
	struct hs_error *error;

	if (folder >= 0 && stat("/proc/self/ns/user", &own) == 0 && fstatat(folder, "ns/user", &other, 0) == 0)
		return own.st_ino == other.st_ino;
	error = read_own("/proc/self/uid_map", &own_map);
	if (!error)
		error = process_read_file(process, "uid_map", &map, NULL);
	if (error) {
		hs_error_destroy(error);
		return false;
	}
	return strcmp(own_map, map) == 0;
}

struct hs_error *access_facts_read(const struct process *process, struct access_facts *ret)
{
	HS_CLEANUP_FREE char *own = NULL, *status = NULL, *yama = NULL;
	HS_CLEANUP_CLOSE int folder = process_live_folder(process);
	struct stat status_file;
	struct hs_error *error;
	size_t size;

	error = read_own("/proc/self/status", &own);
	if (!error)
		error = process_read_file(process, "status", &status, NULL);
	if (error)
		return error;
	*ret = (struct access_facts){ .tool_uid = getuid(), .tool_gid = getgid(), .yama_scope = -1 };
	ret->tool_effective = proc_status_number(own, "CapEff:", 16, 0);
	ret->tool_permitted = proc_status_number(own, "CapPrm:", 16, 0);
	ret->target_permitted = proc_status_number(status, "CapPrm:", 16, 0);
	read_ids(status, "Uid:", ret->uids);
	read_ids(status, "Gid:", ret->gids);

	// Not the directory, which belongs to the user in any case: task_dump_owner in fs/proc/base.c.
	ret->proc_owner =
		folder >= 0 && fstatat(folder, "status", &status_file, 0) == 0 ? status_file.st_uid : ret->uids[1];
	ret->same_namespace = same_user_namespace(process);
	ret->is_descendant = descends_from(process, getpid());
	error = hs_read_file("/proc/sys/kernel/yama/ptrace_scope", 16, &yama, &size);
	if (error)
		hs_error_destroy(error);
	else
		ret->yama_scope = atoi(yama);
	return NULL;
}
