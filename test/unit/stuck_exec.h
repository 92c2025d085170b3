// SPDX-License-Identifier: Apache-2.0
// A process that stays in the middle of execve(2), with the locks held that the kernel takes for it: it closes a file
// of a file system in user space (FUSE), and that is this test, which does not answer.
#ifndef HEAPSNAP_TEST_UNIT_STUCK_EXEC_H
#define HEAPSNAP_TEST_UNIT_STUCK_EXEC_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	int device;
	char file[64]; // on which it is mounted, a file system of this one file
	pthread_t server;
	sem_t is_stuck;         // the flush has come
	_Atomic uint64_t flush; // its number; 0 = answered
} stuck = { .device = -1 };

static void stuck_reply(uint64_t unique, int error, const void *data, size_t size)
{
	char buffer[512];
	struct fuse_out_header header = { (uint32_t)(sizeof(header) + size), error, unique };

	memcpy(buffer, &header, sizeof(header));
	if (size)
		memcpy(buffer + sizeof(header), data, size);
	if (write(stuck.device, buffer, header.len) < 0)
		perror("answer to FUSE");
}

static void stuck_answer(const struct fuse_in_header *in, const void *body)
{
	const struct fuse_init_in *wanted = body;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .max_write = 4096 };
	struct fuse_attr_out attributes = { .attr = { .ino = FUSE_ROOT_ID, .mode = S_IFREG | 0644, .nlink = 1 } };
	struct fuse_open_out open = { .fh = 1 };

	switch (in->opcode) {
	case FUSE_INIT:
		init.minor = wanted->minor < FUSE_KERNEL_MINOR_VERSION ? wanted->minor : FUSE_KERNEL_MINOR_VERSION;
		stuck_reply(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		stuck_reply(in->unique, 0, &attributes, sizeof(attributes));
		break;
	case FUSE_OPEN:
		stuck_reply(in->unique, 0, &open, sizeof(open));
		break;
	case FUSE_FLUSH:
		stuck.flush = in->unique;
		sem_post(&stuck.is_stuck);
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break; // want no answer
	default:
		stuck_reply(in->unique, in->opcode == FUSE_RELEASE ? 0 : -ENOSYS, NULL, 0);
	}
}

static void *stuck_serve(void *unused)
{
	static _Alignas(8) char buffer[FUSE_MIN_READ_BUFFER * 2];
	ssize_t size;

	while ((size = read(stuck.device, buffer, sizeof(buffer))) > 0)
		stuck_answer((const struct fuse_in_header *)buffer, buffer + sizeof(struct fuse_in_header));
	return unused;
}

// In a mount namespace of the test's own. False, with errno: not allowed, or no FUSE here.
static bool stuck_exec_mount(void)
{
	char options[100];
	int file;

	stuck.device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (stuck.device < 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	strcpy(stuck.file, "/tmp/stuck_exec.XXXXXX");
	file = mkstemp(stuck.file);
	if (file < 0)
		return false;
	close(file);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100644,user_id=0,group_id=0", stuck.device);
	if (mount("stuck", stuck.file, "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
		unlink(stuck.file);
		return false;
	}
	sem_init(&stuck.is_stuck, 0, 0);
	return pthread_create(&stuck.server, NULL, stuck_serve, NULL) == 0;
}

static void stuck_exec_unmount(void)
{
	umount2(stuck.file, MNT_DETACH);
	unlink(stuck.file);
	pthread_join(stuck.server, NULL); // with its last file the file system ends, and so does the read
	close(stuck.device);
}

// Returns when it is in the middle of it.
static pid_t stuck_exec_begin(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		int file = open(stuck.file, O_RDONLY | O_CLOEXEC);

		close(stuck.device); // with the server's the last one goes, if that dies, and so does every wait for it
		if (file < 0)
			_exit(1);
		execl("/bin/true", "true", (char *)NULL);
		_exit(2);
	}
	while (sem_wait(&stuck.is_stuck) != 0)
		;
	return pid;
}

// Lets it go on. Returns how it has ended.
static int stuck_exec_end(pid_t pid)
{
	int status = -1;

	stuck_reply(stuck.flush, 0, NULL, 0);
	waitpid(pid, &status, 0);
	return status;
}

#endif
