// SPDX-License-Identifier: Apache-2.0
// Which program this is.
#ifndef HEAPSNAP_CLI_VERSION_H
#define HEAPSNAP_CLI_VERSION_H

#include <stdio.h>

// One line: "heapsnap 0.1.0 (commit 0123456789ab, RelWithDebInfo, GNU 12.2.0, ABI 12)". The commit has "-dirty" behind
// it where the tree differed from it, and is "unknown" where nobody knew it. No time: a build can be repeated.
void version_print(FILE *file);

#endif
