// SPDX-License-Identifier: Apache-2.0
#include "attach/process/fault_reason.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

bool smaps_search_line(struct smaps_search *search, const char *line, bool *registered_ret)
{
	static const char key[] = "VmFlags:";
	uint64_t start, end;
	int length = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %n", &start, &end, &length) == 2 && length > 0)
		search->is_inside = start <= search->address && search->address < end;
	if (!search->is_inside || strncmp(line, key, strlen(key)) != 0)
		return false;
	*registered_ret = false;
	// Each flag is of two letters: " rd wr mr mw me um sd ".
	for (const char *flag = line + strlen(key); *flag && *flag != '\n'; flag += strcspn(flag, " \n")) {
		flag += strspn(flag, " ");
		if (strcspn(flag, " \n") == 2 && flag[0] == 'u' && strchr("mwi", flag[1]))
			*registered_ret = true;
	}
	return true;
}

static bool is_registered(const struct process *process, uint64_t address)
{
	struct smaps_search search = { .address = address };
	const int fd = process_openat(process, "smaps", O_RDONLY);
	HS_CLEANUP_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	HS_CLEANUP_FREE char *line = NULL;
	bool registered = false;
	size_t capacity = 0;

	if (fd >= 0 && !file)
		close(fd);
	while (file && getline(&line, &capacity, file) > 0)
		if (smaps_search_line(&search, line, &registered))
			break;
	return registered;
}

struct hs_error *fault_explain(struct hs_error *error, const struct process *process)
{
	if (!error || error->code != HS_ERROR_FAULT || error->address == 0 || !is_registered(process, error->address))
		return error;
	return hs_error_prefix(
		error,
		"memory of process %d is registered with userfaultfd, and a page that its handler has not filled in yet cannot be read "
		"from outside; try again when the process has touched it",
		(int)process->pid);
}
