// SPDX-License-Identifier: Apache-2.0
// The main thread of a process may end while others live on. It gives up its memory, then its files, which may take the
// kernel seconds; then it is a zombie, and keeps its number and the directory /proc/PID; but the process's memory,
// files and namespaces are shown only below the number of a thread that lives: /proc/TID is there for each of them, and
// the same in all (proc(5) does not list these directories).
#ifndef HEAPSNAP_BASE_LIVE_THREAD_H
#define HEAPSNAP_BASE_LIVE_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

// `pid` itself as long as its main thread lives, else another thread of it; `pid` again when there is none.
pid_t hs_live_thread(pid_t pid);

// Pure: whether the thread whose stat file says `stat` will run an instruction of the program yet: it is not dead, and
// the kernel is not about to take it down ("number (name) state ...", proc_pid_stat(5); the name may hold anything).
bool hs_stat_lives(const char *stat);

#endif
