// SPDX-License-Identifier: Apache-2.0
#include "snapshot/symbols/module_files.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"
#include "base/proc_status.h"
#include "snapshot/symbols/debuginfod.h"
#include "snapshot/symbols/debuginfod_place.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

enum { OPEN_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

static const char DEBUG_DIRECTORY[] = "/usr/lib/debug";

void module_files_open(const struct process *process, struct module_files *ret)
{
	struct debuginfod_place place;

	*ret = (struct module_files){ .process = process,
				      .root_fd = process_openat(process, "root", O_PATH | O_DIRECTORY) };
	debuginfod_place_read(&place);
	if (*place.folder)
		ret->fetched = strdup(place.folder);

	struct hs_error *error = proc_maps_read(process, &ret->maps);

	if (error)
		hs_verbose("symbols: %s", error->message);
	hs_error_destroy(error);
}

void module_files_close(struct module_files *files)
{
	if (files->root_fd >= 0)
		close(files->root_fd);
	proc_maps_deinit(&files->maps);
	free(files->fetched);
	files->fetched = NULL;
	files->root_fd = -1;
}

bool module_files_has_our_root(const struct module_files *files)
{
	struct stat theirs, ours;

	return files->root_fd >= 0 && fstat(files->root_fd, &theirs) == 0 && stat("/", &ours) == 0 &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

// Takes ownership of a handle (O_PATH). Returns the file, opened for reading, when it is a plain file that begins as an
// ELF file, else -1: opening a device can act on it, and what is no ELF file is nothing that a reader of symbols has to
// see.
static int open_elf(int handle)
{
	struct stat status;
	char path[32];
	int fd = -1;

	if (handle < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	if (fstat(handle, &status) == 0 && S_ISREG(status.st_mode))
		fd = open(path, OPEN_FLAGS);
	close(handle);
	if (fd >= 0 && !is_elf(fd)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

// Opens a path of the target's file system. Absolute links must not lead out of it into ours: openat2(2), Linux 5.6.
static int open_in_root(const struct module_files *files, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	if (files->root_fd < 0)
		return -1;
	return open_elf((int)syscall(SYS_openat2, files->root_fd, path, &how, sizeof(how)));
}

static int open_in_ours(const char *path) { return open_elf(open(path, O_PATH | O_CLOEXEC)); }

// Takes ownership of `fd`. Returns it when it is accepted, else -1.
static int offer(int fd, bool is_mapped, module_file_accept *accept, void *context)
{
	if (fd >= 0 && !accept(fd, is_mapped, context)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

// The mapping of a file where the module is, NULL when it is unloaded or the process is gone.
static const struct proc_map *find_mapping(const struct module_files *files, const struct profile_module *module)
{
	if (module->unloaded)
		return NULL;
	for (size_t i = 0; i < files->maps.count; i++) {
		const struct proc_map *map = &files->maps.items[i];

		if (map->start >= module->start && map->end <= module->end && map->inode)
			return map;
	}
	return NULL;
}

// The loader's path may lead over links (/lib to /usr/lib), so that only the last part is the same as in the maps.
// The main program may have none. Another name says that another file has been loaded there since.
static bool is_mapping_of(const struct proc_map *map, const struct profile_module *module)
{
	const char *map_slash = strrchr(map->name, '/'), *slash = strrchr(module->path, '/');

	return !*module->path || strcmp(map_slash ? map_slash + 1 : map->name, slash ? slash + 1 : module->path) == 0;
}

// Whether `fd` is the file of the mapping by its numbers. On file systems where a file shows other numbers than its
// mapping (btrfs, overlayfs) it says no, which costs names and never gives wrong ones.
static bool is_file_of(int fd, const struct proc_map *map)
{
	struct stat status;

	return map && fstat(fd, &status) == 0 && status.st_ino == map->inode && !map->deleted &&
	       major(status.st_dev) == map->device_major && minor(status.st_dev) == map->device_minor;
}

int module_files_find(const struct module_files *files, const struct profile_module *module, module_file_accept *accept,
		      void *context)
{
	const struct proc_map *map = find_mapping(files, module);
	char path[96];
	int fd = -1;

	if (map) {
		// Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and is the file even when it is deleted or
		// replaced (proc(5)).
		snprintf(path, sizeof(path), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
		fd = offer(open_elf(process_openat(files->process, path, O_PATH)), is_mapping_of(map, module), accept,
			   context);
	}
	if (fd < 0 && module->path[0] == '/') {
		int candidate = open_in_root(files, module->path);

		fd = offer(candidate, candidate >= 0 && is_file_of(candidate, map), accept, context);
	}
	if (fd < 0 && module->path[0] == '/') {
		int candidate = open_in_ours(module->path);

		fd = offer(candidate, candidate >= 0 && is_file_of(candidate, map), accept, context);
	}
	return fd;
}

// Opens "<directory><middle><file>" in our root, then in the target's.
static int find_debug_at(const struct module_files *files, const char *directory, const char *middle, const char *file,
			 module_file_accept *accept, void *context)
{
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = hs_format(&path, "%s%s%s", directory, middle, file);

	if (error) {
		hs_error_destroy(error);
		return -1;
	}

	int fd = offer(open_in_ours(path), false, accept, context);

	return fd >= 0 ? fd : offer(open_in_root(files, path), false, accept, context);
}

static int find_by_build_id(const struct module_files *files, const uint8_t *build_id, size_t size,
			    module_file_accept *accept, void *context)
{
	char name[2 * 64 + sizeof(".debug") + 1];
	char *end = name;

	if (size < 2 || size > 64)
		return -1;
	for (size_t i = 0; i < size; i++)
		end += sprintf(end, i == 0 ? "%02x/" : "%02x", build_id[i]);
	memcpy(end, ".debug", sizeof(".debug"));
	return find_debug_at(files, DEBUG_DIRECTORY, "/.build-id/", name, accept, context);
}

// Where packages and whoever builds put debug files.
static int find_installed(const struct module_files *files, const uint8_t *build_id, size_t build_id_size,
			  const char *beside, const char *link, module_file_accept *accept, void *context)
{
	int fd = find_by_build_id(files, build_id, build_id_size, accept, context);

	if (fd >= 0 || !link || !*link)
		return fd;
	if (link[0] == '/')
		return find_debug_at(files, "", "", link, accept, context);

	// The places where gdb looks (its manual, "Debugging Information in Separate Files").
	const char *slash = strrchr(beside, '/');

	if (!slash)
		return -1;

	HS_CLEANUP_FREE char *directory = strndup(beside, (size_t)(slash - beside) + 1);

	if (!directory)
		return -1;
	fd = find_debug_at(files, directory, "", link, accept, context);
	if (fd < 0)
		fd = find_debug_at(files, directory, ".debug/", link, accept, context);
	if (fd < 0)
		fd = find_debug_at(files, DEBUG_DIRECTORY, directory, link, accept, context);
	return fd;
}

// CACHE/BUILDID/debuginfo (debuginfod_find_debuginfo(3)).
static int find_fetched(const struct module_files *files, const uint8_t *build_id, size_t size,
			module_file_accept *accept, void *context)
{
	HS_CLEANUP_FREE char *path = NULL;
	char name[2 * 64 + 1] = "";
	char *end = name;

	if (!files->fetched || size == 0 || size > 64)
		return -1;
	for (size_t i = 0; i < size; i++)
		end += sprintf(end, "%02x", build_id[i]);

	struct hs_error *error = hs_format(&path, "%s/%s/debuginfo", files->fetched, name);

	if (error) {
		hs_error_destroy(error);
		return -1;
	}
	return offer(open_in_ours(path), false, accept, context);
}

int module_files_find_debug(const struct module_files *files, const uint8_t *build_id, size_t build_id_size,
			    const char *beside, const char *link, module_file_accept *accept, void *context)
{
	const char *name = *beside ? beside : "the program";
	int fd = find_installed(files, build_id, build_id_size, beside, link, accept, context);

	if (fd < 0)
		fd = find_fetched(files, build_id, build_id_size, accept, context);
	if (fd < 0 && files->debuginfod && debuginfod_fetch(files->debuginfod, build_id, build_id_size, name))
		fd = find_fetched(files, build_id, build_id_size, accept, context);
	if (fd < 0 && files->debuginfod)
		debuginfod_was_refused(files->debuginfod, build_id, build_id_size, name);
	return fd;
}

// Effective user, and the process id in the innermost namespace.
static bool read_identity(const struct process *process, uid_t *user_ret, pid_t *pid_ret)
{
	HS_CLEANUP_FREE char *text = NULL;
	struct hs_error *error = process_read_file(process, "status", &text, NULL);
	unsigned users[3];
	pid_t inside;

	if (error || !proc_status_ids(text, "Uid:", users)) {
		hs_error_destroy(error);
		return false;
	}
	*user_ret = users[1];
	inside = proc_status_innermost_id(text);
	*pid_ret = inside ? inside : process->pid;
	return true;
}

int module_files_open_perf_map(const struct module_files *files)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	HS_CLEANUP_CLOSE int handle = -1;
	struct stat status;
	char path[64];
	uid_t user;
	pid_t pid;

	if (files->root_fd < 0 || !read_identity(files->process, &user, &pid))
		return -1;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	handle = (int)syscall(SYS_openat2, files->root_fd, path, &how, sizeof(how));
	// In /tmp anybody may have put anything there, and to open a device can act on it.
	if (handle < 0 || fstat(handle, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != user)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	return open(path, OPEN_FLAGS);
}
