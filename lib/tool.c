// SPDX-License-Identifier: Apache-2.0
#include "lib/tool.h"

#include "attach/guard/interrupt.h"
#include "attach/guard/tool_guard.h"

#include <sys/resource.h>

// A file stays open for each module of the target, and they can be more than the usual 1024.
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

struct hs_error *hs_tool_begin(void)
{
	raise_file_limit();
	interrupt_install();
	return tool_guard_begin_where_immortal();
}
