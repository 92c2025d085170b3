// SPDX-License-Identifier: Apache-2.0
#include "attach/hook/quiet_names.h"

#include <string.h>

// POSIX (XSH 2.9.5.2) names the functions that are cancellation points and those that may be. None of these is among
// them, and glibc declares them as not throwing (__THROW), which it does not of any cancellation point. No function is
// here that takes one of the program's (qsort, pthread_once), or that writes to a stream before it ends the program
// (__assert_fail), which is a cancellation point.
static const char *const returning[] = {
	"__errno_location",
	"__memcpy_chk",
	"__memmove_chk",
	"__memset_chk",
	"__mempcpy_chk",
	"__strcpy_chk",
	"__strncpy_chk",
	"__tls_get_addr",
	"__rawmemchr",
	"__sched_cpucount",
	"bcmp",
	"bcopy",
	"brk",
	"bzero",
	"clock_gettime",
	"explicit_bzero",
	"getauxval",
	"getenv",
	"getpagesize",
	"getpid",
	"getrusage",
	"gettid",
	"gettimeofday",
	"madvise",
	"memccpy",
	"memchr",
	"memcmp",
	"memcpy",
	"memmove",
	"mempcpy",
	"memrchr",
	"memset",
	"mincore",
	"mlock",
	"mmap",
	"mmap64",
	"mprotect",
	"mremap",
	"munlock",
	"munmap",
	"prctl",
	"pthread_cond_broadcast",
	"pthread_cond_signal",
	"pthread_equal",
	"pthread_getspecific",
	"pthread_key_create",
	"pthread_mutex_destroy",
	"pthread_mutex_init",
	"pthread_mutex_lock",
	"pthread_mutex_trylock",
	"pthread_mutex_unlock",
	"pthread_mutexattr_destroy",
	"pthread_mutexattr_init",
	"pthread_mutexattr_settype",
	"pthread_self",
	"pthread_setspecific",
	"pthread_sigmask",
	"pthread_spin_destroy",
	"pthread_spin_init",
	"pthread_spin_lock",
	"pthread_spin_trylock",
	"pthread_spin_unlock",
	"rawmemchr",
	"sbrk",
	"sched_getaffinity",
	"sched_getcpu",
	"sched_yield",
	"secure_getenv",
	"sem_post",
	"sem_trywait",
	"sigaction",
	"sigprocmask",
	"stpcpy",
	"stpncpy",
	"strcat",
	"strchr",
	"strchrnul",
	"strcmp",
	"strcpy",
	"strcspn",
	"strlen",
	"strncat",
	"strncmp",
	"strncpy",
	"strnlen",
	"strrchr",
	"strspn",
	"strstr",
	"strtol",
	"strtoul",
	"sysconf",
	"time",
};

static const char *const ending[] = { "__chk_fail", "__stack_chk_fail", "_Exit", "_exit", "abort" };

static bool is_among(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

enum call_outcome quiet_name(const char *name)
{
	if (is_among(name, ending, sizeof(ending) / sizeof(ending[0])))
		return OUTCOME_ends;
	return is_among(name, returning, sizeof(returning) / sizeof(returning[0])) ? OUTCOME_returns : OUTCOME_unknown;
}

static const char *const throwing[] = {
	"_Unwind_ForcedUnwind", "_Unwind_RaiseException", "_Unwind_Resume_or_Rethrow", "__cxa_rethrow",
	"__cxa_throw",          "pthread_exit",
};

// Functions of the C library that call functions of the program's, which may do anything.
static const char *const calling_back[] = {
	"__libc_start_main",
	"bsearch",
	"call_once",
	"dl_iterate_phdr",
	"dlclose",
	"dlmopen",
	"dlopen",
	"error",
	"exit",
	"ftw",
	"ftw64",
	"glob",
	"glob64",
	"lfind",
	"lsearch",
	"makecontext",
	"nftw",
	"nftw64",
	"pthread_once",
	"qsort",
	"qsort_r",
	"quick_exit",
	"scandir",
	"scandir64",
	"scandirat",
	"setcontext",
	"swapcontext",
	"tdelete",
	"tdestroy",
	"tfind",
	"tsearch",
	"twalk",
	"twalk_r",
};

// They say who calls, or lead from frame to frame (glibc, libgcc, libunwind).
static const char *const asking_for_callers[] = {
	"_ULx86_64_init_local",
	"_ULx86_64_init_local2",
	"_Unwind_Backtrace",
	"_Unwind_Find_FDE",
	"_Unwind_FindEnclosingFunction",
	"_Unwind_GetCFA",
	"_Unwind_GetIP",
	"_Unwind_GetIPInfo",
	"_Ux86_64_getcontext",
	"backtrace",
	"unw_backtrace",
	"unw_getcontext",
	"unw_init_local",
};

// Those that POSIX (XSH 2.9.5.2) says are cancellation points, with the names that glibc gives them for large files and
// checked buffers; and of those that may be, what is used to write a line.
static const char *const cancellation_points[] = {
	"__dprintf_chk",
	"__fprintf_chk",
	"__poll_chk",
	"__pread64_chk",
	"__pread_chk",
	"__printf_chk",
	"__read_chk",
	"__recv_chk",
	"__recvfrom_chk",
	"__vfprintf_chk",
	"accept",
	"accept4",
	"aio_suspend",
	"clock_nanosleep",
	"close",
	"connect",
	"creat",
	"creat64",
	"dprintf",
	"epoll_pwait",
	"epoll_wait",
	"fdatasync",
	"fflush",
	"fprintf",
	"fputc",
	"fputs",
	"fsync",
	"fwrite",
	"lockf",
	"lockf64",
	"mq_receive",
	"mq_send",
	"mq_timedreceive",
	"mq_timedsend",
	"msgrcv",
	"msgsnd",
	"msync",
	"nanosleep",
	"open",
	"open64",
	"openat",
	"openat64",
	"pause",
	"poll",
	"ppoll",
	"pread",
	"pread64",
	"preadv",
	"printf",
	"pselect",
	"pthread_cond_clockwait",
	"pthread_cond_timedwait",
	"pthread_cond_wait",
	"pthread_join",
	"pthread_testcancel",
	"puts",
	"pwrite",
	"pwrite64",
	"pwritev",
	"read",
	"readv",
	"recv",
	"recvfrom",
	"recvmsg",
	"select",
	"sem_clockwait",
	"sem_timedwait",
	"sem_wait",
	"send",
	"sendmsg",
	"sendto",
	"sigsuspend",
	"sigtimedwait",
	"sigwait",
	"sigwaitinfo",
	"sleep",
	"syslog",
	"system",
	"tcdrain",
	"usleep",
	"vdprintf",
	"vfprintf",
	"vprintf",
	"wait",
	"wait3",
	"wait4",
	"waitid",
	"waitpid",
	"write",
	"writev",
};

// libstdc++'s, such as std::__throw_bad_alloc: in each the name follows its length.
static bool is_thrower_of_library(const char *name)
{
	const char *inner = strncmp(name, "_ZSt", 4) == 0 ? name + 4 + strspn(name + 4, "0123456789") : name;

	return inner > name + 4 && strncmp(inner, "__throw_", 8) == 0;
}

bool name_calls_back(const char *name)
{
	return is_among(name, calling_back, sizeof(calling_back) / sizeof(calling_back[0]));
}

bool name_asks_for_callers(const char *name)
{
	return is_among(name, asking_for_callers, sizeof(asking_for_callers) / sizeof(asking_for_callers[0]));
}

enum unwinding unwinding_name(const char *name)
{
	if (is_among(name, throwing, sizeof(throwing) / sizeof(throwing[0])) || is_thrower_of_library(name))
		return UNWINDS_always;
	return is_among(name, cancellation_points, sizeof(cancellation_points) / sizeof(cancellation_points[0]))
		       ? UNWINDS_cancelled
		       : UNWINDS_not_known;
}
