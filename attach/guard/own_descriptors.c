// SPDX-License-Identifier: Apache-2.0
#include "attach/guard/own_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

// A folder of /proc and one below it, a file of those, a pidfd, the memory file and its proofs; and some more. The
// handle of the process is open already when these are asked for.
enum { SPARE = 12 };

bool own_descriptors_lack(const struct hs_error *error)
{
	return error->error_number == EMFILE || error->error_number == ENFILE;
}

struct hs_error *own_descriptors_explain(struct hs_error *error)
{
	struct rlimit files = { 0 };

	error->code = HS_ERROR_REFUSED;
	if (error->error_number == ENFILE)
		return hs_error_prefix(error, "the system's limit of open files (fs.file-max) is reached");
	getrlimit(RLIMIT_NOFILE, &files);
	return hs_error_prefix(
		error,
		"heapsnap may have no more than %lu open files, and needs one for each module of the target, and %d more; raise its "
		"limit (ulimit -n)",
		(unsigned long)files.rlim_cur, SPARE);
}

struct hs_error *own_descriptors_check(int fd)
{
	struct hs_error *error = NULL;
	int copies[SPARE], count = 0;

	for (; count < SPARE && !error; count++) {
		copies[count] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (copies[count] < 0) {
			error = hs_error_system(errno, "cannot open another file");
			break;
		}
	}
	while (count-- > 0)
		close(copies[count]);
	return error && own_descriptors_lack(error) ? own_descriptors_explain(error) : error;
}
