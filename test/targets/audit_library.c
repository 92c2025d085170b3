// SPDX-License-Identifier: Apache-2.0
// An auditor that looks on (rtld-audit(7)): the loader has a namespace for it, and says so to debuggers first.
#include <link.h>

unsigned la_version(unsigned version) { return version; }
