// SPDX-License-Identifier: Apache-2.0
#include "lib/run_holds.h"

enum { ALWAYS = 40 }; // programs, however long that takes

bool run_holds_allow(const struct run_holds *holds, uint64_t now_ns)
{
	return holds->programs < ALWAYS || holds->held_ns < (now_ns - holds->began_ns) / 4;
}
