// SPDX-License-Identifier: Apache-2.0
// How a process is after a command on it did not end as it should.
#ifndef HEAPSNAP_CLI_AFTERMATH_H
#define HEAPSNAP_CLI_AFTERMATH_H

#include "base/error.h"
#include "cli/console.h"

#include <sys/types.h>

// As console_fail. Where the process is said to be gone but lives, it has executed another program meanwhile, and that
// is said. After an interrupt it looks at the process, and says how it is.
enum exit_status fail_and_look(const struct options *options, pid_t pid, struct hs_error *error);

#endif
