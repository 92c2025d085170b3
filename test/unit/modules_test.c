// SPDX-License-Identifier: Apache-2.0
// Reads the modules of this very process and compares with what its own loader says.
#include "attach/elf/modules.h"
#include "check.h"
#include "held_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct reading {
	struct proc_maps maps;
	struct target_memory memory;
	struct module_list modules;
};

static bool read_self(struct reading *ret)
{
	struct hs_error *error = proc_maps_read(held_process(getpid()), &ret->maps);

	if (!error)
		error = target_memory_open(held_process(getpid()), &ret->memory);
	if (!error)
		error = modules_read(held_process(getpid()), &ret->maps, &ret->memory, &ret->modules);
	CHECK(error == NULL);
	if (error)
		fprintf(stderr, "%s\n", error->message);
	return !error;
}

static void release(struct reading *reading)
{
	modules_deinit(&reading->modules);
	target_memory_close(&reading->memory);
	proc_maps_deinit(&reading->maps);
}

static const struct module *find_bias(const struct module_list *modules, uint64_t load_bias, uint64_t inside)
{
	for (size_t i = 0; i < modules->count; i++) {
		const struct module *module = &modules->items[i];

		if (module->load_bias == load_bias && inside >= module->start && inside < module->end)
			return module;
	}
	return NULL;
}

static int compare_object(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct reading *reading = context;
	const struct module *module = NULL;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		uint64_t address = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		module = find_bias(&reading->modules, info->dlpi_addr, address);
		CHECK(module != NULL);
		if (module && (info->dlpi_phdr[i].p_flags & PF_X)) {
			CHECK(address >= module->text_low && address + info->dlpi_phdr[i].p_memsz <= module->text_high);
			CHECK(address >= module->readable_low && address < module->readable_high);
		}
	}
	CHECK(module && module->link_map != 0);
	CHECK(module && module->elf.build_id_size == 20);
	return 0;
}

static void test_against_loader(void)
{
	struct link_map *head = NULL;
	void *self = dlopen(NULL, RTLD_NOW);
	struct reading reading;
	size_t order = 0;
	uint32_t tid = 0;

	CHECK(dlinfo(self, RTLD_DI_LINKMAP, &head) == 0);
	if (!read_self(&reading))
		return;
	CHECK(reading.modules.count > 3);
	dl_iterate_phdr(compare_object, &reading);
	for (struct link_map *map = head; map; map = map->l_next) {
		const struct module *module = find_bias(&reading.modules, map->l_addr, (uint64_t)(uintptr_t)map->l_ld);

		CHECK(module && module->link_map == (uint64_t)(uintptr_t)map);
		CHECK(module && module->link_order == ++order);
	}
	CHECK(reading.modules.items[0].is_main);
	CHECK_EQUAL(reading.modules.entry, getauxval(AT_ENTRY));
	// Not &_r_debug: that may be a copy in the executable, made when it was linked.
	for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag != DT_DEBUG)
			continue;
		CHECK_EQUAL(reading.modules.r_debug, entry->d_un.d_ptr);
		CHECK_EQUAL(reading.modules.loader_event, ((const struct r_debug *)entry->d_un.d_ptr)->r_brk);
	}
	CHECK(reading.modules.loader_event != 0);
	CHECK(reading.modules.tid_offset != 0 && reading.modules.tid_offset < reading.modules.tcb_size);
	memcpy(&tid, (const char *)pthread_self() + reading.modules.tid_offset, sizeof(tid));
	CHECK_EQUAL(tid, gettid());
	for (size_t i = 1; i < reading.modules.count; i++) {
		const struct module *module = &reading.modules.items[i];
		struct elf_symbol symbol;

		CHECK(!module->is_main);
		if (i > 1)
			CHECK(module->start >= module[-1].end);
		if (module->is_loader)
			CHECK_EQUAL(module->load_bias, getauxval(AT_BASE));
		if (module->is_vdso) {
			CHECK_EQUAL(module->start, getauxval(AT_SYSINFO_EHDR));
			CHECK_STRING(module->path, "[vdso]");
			CHECK(elf_view_find_symbol(&module->elf, "__vdso_clock_gettime", &symbol));
		}
	}
	release(&reading);
	dlclose(self);
}

static const struct module *find_path(const struct module_list *modules, const char *part, size_t *count_ret)
{
	const struct module *found = NULL;

	*count_ret = 0;
	for (size_t i = 0; i < modules->count; i++) {
		if (strstr(modules->items[i].path, part)) {
			found = &modules->items[i];
			(*count_ret)++;
		}
	}
	return found;
}

static void test_namespaces_and_data(void)
{
	struct reading before, after;
	struct link_map *map = NULL;
	const char *path = "/lib/x86_64-linux-gnu/libc.so.6";
	struct stat status;
	size_t count, count_after;
	void *library;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *data;

	if (fd < 0 || fstat(fd, &status) < 0 || !read_self(&before))
		return;
	CHECK(modules_same_text(&before.maps, &before.maps));
	// A library that is only read as data is no module.
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!read_self(&after))
		return;
	find_path(&before.modules, "/libc.so.6", &count);
	find_path(&after.modules, "/libc.so.6", &count_after);
	CHECK_EQUAL(count_after, count);
	CHECK(modules_same_text(&before.maps, &after.maps));
	release(&after);
	munmap(data, (size_t)status.st_size);
	close(fd);
	// A second copy of libc, in a namespace of its own.
	library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	CHECK(library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	if (!map || !read_self(&after))
		return;
	find_path(&after.modules, "/libc.so.6", &count_after);
	CHECK_EQUAL(count_after, count + 1);
	const struct module *second = find_bias(&after.modules, map->l_addr, (uint64_t)(uintptr_t)map->l_ld);
	CHECK(second && second->link_map == (uint64_t)(uintptr_t)map && second->link_order == 0);
	CHECK(!modules_same_text(&before.maps, &after.maps));
	release(&after);
	release(&before);
	dlclose(library);
}

// Text that was mapped anew between the plan and the stop, each property by itself: a hook would be written into the
// file of a shared one.
static void test_text_changed(void)
{
	const struct proc_map old = { .start = 0x1000,
				      .end = 0x3000,
				      .offset = 0x1000,
				      .inode = 7,
				      .device_major = 8,
				      .device_minor = 1,
				      .readable = true,
				      .executable = true };
	struct proc_map now[8];
	struct proc_map same = old;
	const struct proc_maps before = { .items = (struct proc_map *)&old, .count = 1 };

	for (size_t i = 0; i < 8; i++)
		now[i] = old;
	now[0].shared = true;
	now[1].start = 0x2000;
	now[2].end = 0x4000;
	now[3].offset = 0;
	now[4].inode = 9;
	now[5].device_major = 9;
	now[6].device_minor = 9;
	now[7].executable = false;
	for (size_t i = 0; i < 8; i++)
		CHECK(!modules_same_text(&before, &(struct proc_maps){ .items = &now[i], .count = 1 }));
	same.writable = true; // of a private one that changes nothing in the file
	CHECK(modules_same_text(&before, &(struct proc_maps){ .items = &same, .count = 1 }));
	now[0] = old;
	now[1] = old;
	now[1].start = 0x8000;
	now[1].end = 0x9000;
	CHECK(!modules_same_text(&before, &(struct proc_maps){ .items = now, .count = 2 }));
}

// With the right to map_files its file is read, else its memory.
static void read_deleted_library(void)
{
	char path[] = "/tmp/modules_test.XXXXXX";
	char command[200];
	int fd = mkstemp(path);
	struct reading reading;
	const struct module *module;
	struct elf_symbol symbol;
	size_t count;
	void *library;

	CHECK(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cp /lib/x86_64-linux-gnu/libm.so.6 %s", path);
	CHECK(system(command) == 0);
	library = dlopen(path, RTLD_NOW);
	CHECK(library != NULL);
	unlink(path);
	if (!read_self(&reading))
		return;
	module = find_path(&reading.modules, path, &count);
	CHECK_EQUAL(count, 1);
	CHECK_EQUAL(reading.modules.unread_count, 0);
	CHECK(module && module->deleted && strcmp(module->path, path) == 0);
	CHECK(module && module->link_map && module->elf.build_id_size == 20 && module->text_high > module->text_low);
	CHECK(module && elf_view_find_symbol(&module->elf, "lgamma", &symbol));
	release(&reading);
	dlclose(library);
}

// Neither its file nor its memory tells anything of it any more; the loader still lists it.
static void read_cut_library(void)
{
	char path[] = "/tmp/modules_test.XXXXXX", command[200];
	int fd = mkstemp(path);
	struct reading reading;
	struct link_map *map = NULL;
	void *library;

	snprintf(command, sizeof(command), "cp /lib/x86_64-linux-gnu/libm.so.6 %s", path);
	CHECK(fd >= 0 && system(command) == 0);
	library = dlopen(path, RTLD_NOW);
	CHECK(library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	unlink(path);
	if (!map || !read_self(&reading))
		return;
	CHECK_EQUAL(reading.modules.unread_count, 0);
	release(&reading);
	CHECK(ftruncate(fd, 0) == 0);
	if (!read_self(&reading))
		return;
	CHECK_EQUAL(reading.modules.unread_count, 1);
	if (reading.modules.unread_count == 1) {
		const struct unread_module *unread = &reading.modules.unread[0];

		CHECK_STRING(unread->path, path);
		CHECK(unread->reason[0] != '\0' && !unread->is_loader && unread->link_order > 1);
		CHECK_EQUAL(unread->start, map->l_addr);
		CHECK(modules_find_unread(&reading.modules, (uint64_t)(uintptr_t)map->l_ld) == unread);
		CHECK(!modules_find_unread(&reading.modules, unread->start - 1));
		CHECK(!modules_find_unread(&reading.modules, unread->end));
		CHECK(!find_bias(&reading.modules, map->l_addr, map->l_addr));
	}
	release(&reading);
}

static void test_cut_library(void)
{
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) { // which cannot even unload it
		int failures = check_failures;

		read_cut_library();
		_exit(check_failures != failures);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQUAL(status, 0);
}

// Without the capability for map_files the files are found by their paths.
static void test_without_privilege(void)
{
	pid_t child;
	int status = 0;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		struct reading reading;
		int failures = check_failures;

		if (setgid(65534) < 0 || setuid(65534) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
		    access("/proc/self/exe", R_OK) < 0) {
			_exit(CHECK_SKIPPED);
		}
		if (read_self(&reading)) {
			dl_iterate_phdr(compare_object, &reading);
			release(&reading);
		}
		read_deleted_library();
		_exit(check_failures != failures);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIPPED)
		CHECK_LEFT_OUT("no unprivileged user here");
	else
		CHECK_EQUAL(status, 0);
}

// The memory that was opened before an exec has nothing any more: the process is what it was not, and not one without
// an executable.
static void test_after_exec(void)
{
	struct target_memory memory;
	struct module_list modules;
	struct proc_maps maps;
	struct hs_error *error;
	int ready[2], go[2];
	char byte;
	pid_t pid;

	CHECK(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/sleep", "sleep", "1000", NULL); // which closes `ready`
		_exit(1);
	}
	close(ready[1]);
	CHECK(target_memory_open(held_process(pid), &memory) == NULL);
	CHECK_EQUAL(write(go[1], "x", 1), 1);
	CHECK_EQUAL(read(ready[0], &byte, 1), 0);
	CHECK(proc_maps_read(held_process(pid), &maps) == NULL);
	error = modules_read(held_process(pid), &maps, &memory, &modules);
	CHECK(error && error->code == HS_ERROR_GONE);
	if (error)
		printf("after an exec: %s\n", error->message);
	hs_error_destroy(error);
	proc_maps_deinit(&maps);
	target_memory_close(&memory);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	for (int i = 0; i < 2; i++)
		close(go[i]);
}

int main(void)
{
	test_against_loader();
	test_namespaces_and_data();
	test_text_changed();
	read_deleted_library();
	test_cut_library();
	test_without_privilege();
	test_after_exec();
	return CHECK_RESULT();
}
