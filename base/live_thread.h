// SPDX-License-Identifier: Apache-2.0
// The main thread of a process may end while others live on. It gives up its memory, then its files, which may take the
// kernel seconds; then it is a zombie, and keeps its number and the directory /proc/PID; but the process's memory,
// files and namespaces are shown only below the number of a thread that lives: /proc/TID is there for each of them, and
// the same in all (proc(5) does not list these directories).
#ifndef HEAPSNAP_BASE_LIVE_THREAD_H
#define HEAPSNAP_BASE_LIVE_THREAD_H

#include <sys/types.h>

// `pid` itself as long as its main thread lives, else another thread of it; `pid` again when there is none.
pid_t hs_live_thread(pid_t pid);

#endif
