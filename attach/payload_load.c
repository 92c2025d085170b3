// SPDX-License-Identifier: Apache-2.0
#include "attach/payload_load.h"

#include "attach/interrupt.h"
#include "attach/payload_image.h"
#include "attach/region_access.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/live_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // since Linux 6.3
#endif

// Nothing that Linux or a common sanitizer places lies here: programs are below or at 0x55..., libraries and stacks at 0x7f....
#define LAYOUT_LOW UINT64_C(0x100000000000)
#define LAYOUT_HIGH UINT64_C(0x400000000000)
#define LAYOUT_GAP UINT64_C(0x200000)

struct hs_error *payload_layout_choose(const struct proc_maps *maps, uint64_t region_size, uint64_t random, struct payload_layout *ret)
{
	// A random start in the lower half of the range; if there is no room above it, anywhere.
	uint64_t low = LAYOUT_LOW + random % ((LAYOUT_HIGH - LAYOUT_LOW) / 2 / LAYOUT_GAP) * LAYOUT_GAP;
	const struct payload_header *image = (const struct payload_header *)payload_image;
	uint64_t code_size = (uint64_t)(payload_image_end - payload_image);
	uint64_t room = code_size + HS_STATE_SIZE + LAYOUT_GAP + region_size;

	*ret = (struct payload_layout){ .code_size = code_size, .region_size = region_size };
	ret->code = proc_maps_find_hole(maps, low, LAYOUT_HIGH, room, LAYOUT_GAP, false);
	if (!ret->code)
		ret->code = proc_maps_find_hole(maps, LAYOUT_LOW, LAYOUT_HIGH, room, LAYOUT_GAP, false);
	if (!ret->code)
		return hs_error_create(HS_ERROR_REFUSED, "no free range of %" PRIu64 " MiB in the target's address space; "
				       "ask for less with --max-memory", room >> 20);
	ret->state = ret->code + code_size;
	ret->region = (ret->state + HS_STATE_SIZE + LAYOUT_GAP) & ~(LAYOUT_GAP - 1);
	for (unsigned kind = 0; kind < HOOK_KIND_COUNT; kind++)
		ret->goals.entries[kind] = ret->code + image->entry[kind];
	ret->goals.state = ret->state;
	ret->syscall_gadget = ret->code + image->syscall_gadget;
	ret->sigreturn_gadget = ret->code + image->sigreturn_gadget;
	return NULL;
}

struct hs_error *payload_code_build(const struct payload_layout *layout, const struct payload_config *config,
				    const struct hook_plan *plan, uint8_t **bytes_ret, size_t *size_ret)
{
	uint64_t area_offset[16];
	uint64_t size = layout->code_size;
	uint8_t *bytes;

	for (size_t i = 0; i < plan->area_count; i++) {
		area_offset[i] = size;
		size += plan->areas[i].pages * HS_PAGE_SIZE;
	}
	bytes = malloc(size);
	if (!bytes)
		return &hs_error_no_memory;
	memset(bytes, 0xcc, size); // int3, should anything ever run into it
	memcpy(bytes, payload_image, layout->code_size);
	memcpy(bytes + offsetof(struct payload_header, config), config, sizeof(*config));
	for (size_t i = 0; i < plan->count; i++) {
		const struct planned_hook *hook = &plan->hooks[i];

		if (hook->record.verdict == VERDICT_ok)
			memcpy(bytes + area_offset[hook->island_area] + hook->island_slot * sizeof(hook->island), &hook->island,
			       sizeof(hook->island));
	}
	*bytes_ret = bytes;
	*size_ret = size;
	return NULL;
}

static void note_mapping(struct loaded_payload *loaded, uint64_t address, uint64_t size)
{
	loaded->mapped[loaded->mapped_count++] = (struct region_part){ address, size };
}

static struct hs_error *remote_map(struct remote_caller *caller, struct loaded_payload *loaded, const char *what, uint64_t address,
				   uint64_t size, int protection, int flags, int64_t fd, uint64_t offset)
{
	const uint64_t arguments[6] = { address, size, (uint64_t)protection, (uint64_t)(flags | MAP_FIXED_NOREPLACE), (uint64_t)fd,
					offset };
	uint64_t result;
	struct hs_error *error = fault_point(what);

	if (error)
		return error;
	error = remote_call_checked(caller, what, SYS_mmap, arguments, &result);
	// Where the tool lost sight of the call, it may have been made: the range was free, so undoing it is right in any case.
	if (error && error->code != HS_ERROR_REMOTE)
		note_mapping(loaded, address, size);
	if (error && error->code == HS_ERROR_REMOTE && error->error_number == EAGAIN) // mlock_future_ok in the kernel's mm/mmap.c
		return hs_error_prefix(error, "the target locks all that it maps (mlockall), and its limit of locked memory has no room "
				       "for it; raise that (prlimit --memlock)");
	if (error)
		return error;
	note_mapping(loaded, result, size);
	if (result != address) // a kernel before 4.17 takes the address as a hint only
		return hs_error_create(HS_ERROR_REFUSED, "the kernel placed a mapping elsewhere; a kernel of 4.17 or newer is needed");
	return NULL;
}

static struct hs_error *remote_advise(struct remote_caller *caller, uint64_t address, uint64_t size, int advice, const char *what)
{
	const uint64_t arguments[6] = { address, size, (uint64_t)advice };
	uint64_t result;
	struct hs_error *error = fault_point(what);

	return error ? error : remote_call_checked(caller, what, SYS_madvise, arguments, &result);
}

// A memfd of the target, opened by the tool as well. *refused_ret: the target's kernel or policy forbids this kind of memfd.
static struct hs_error *create_memfd(struct remote_caller *caller, const char *name, bool executable, int64_t *target_fd, int *fd_ret,
				     bool *refused_ret)
{
	uint64_t scratch = remote_call_scratch(caller);
	uint64_t flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	uint64_t arguments[6] = { scratch, flags | (executable ? MFD_EXEC : 0) };
	HS_CLEANUP_FREE char *path = NULL;
	struct hs_error *error = fault_point("memfd_create");
	int64_t result;

	*refused_ret = false;
	if (!error)
		error = target_memory_write(caller->memory, scratch, name, strlen(name) + 1, caller->victim->tid);
	if (!error)
		error = remote_call(caller, SYS_memfd_create, arguments, &result);
	if (!error && result == -EINVAL && executable) { // before 6.3 there is no MFD_EXEC and every memfd is executable
		arguments[1] = flags;
		error = remote_call(caller, SYS_memfd_create, arguments, &result);
	}
	if (error)
		return error;
	if (result == -EACCES && executable) {
		*refused_ret = true;
		return NULL;
	}
	if (result < 0)
		return hs_error_with_errno(HS_ERROR_REMOTE, (int)-result, "the target cannot create a memory file%s",
					   result == -EMFILE ? " (raise its limit of open files: prlimit --nofile)" : "");
	*target_fd = result;
	error = hs_format(&path, "/proc/%d/fd/%" PRId64, hs_live_thread(caller->process->pid), result);
	if (error)
		return error;
	*fd_ret = open(path, O_RDWR | O_CLOEXEC);
	if (*fd_ret < 0)
		return hs_error_system(errno, "cannot open the target's memory file");
	return NULL;
}

static struct hs_error *close_remote(struct remote_caller *caller, int64_t *fd)
{
	const uint64_t arguments[6] = { (uint64_t)*fd };
	uint64_t result;

	if (*fd < 0)
		return NULL;
	*fd = -1;
	return remote_call_checked(caller, "close", SYS_close, arguments, &result);
}

// The memfd that the code is mapped from. *anonymous_ret: there may be none, and anonymous memory has to do.
static struct hs_error *make_code_file(struct remote_caller *caller, const uint8_t *code, size_t code_size, struct loaded_payload *ret,
				       bool *anonymous_ret)
{
	HS_CLEANUP_CLOSE int fd = -1;
	struct hs_error *error = create_memfd(caller, HS_CODE_NAME, true, &ret->code_fd, &fd, anonymous_ret);

	if (error || *anonymous_ret)
		return error;
	fault_request();
	error = hs_write_all(fd, code, code_size);
	fault_request();
	if (!error && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		error = hs_error_system(errno, "cannot seal the payload");
	return error;
}

static struct hs_error *map_code(struct remote_caller *caller, const struct payload_layout *layout, const uint8_t *code,
				 const struct hook_plan *plan, bool anonymous, struct loaded_payload *ret)
{
	int flags = MAP_PRIVATE | (anonymous ? MAP_ANONYMOUS : 0);
	struct hs_error *error = NULL;
	uint64_t offset = 0;

	for (size_t i = 0; i <= plan->area_count && !error; i++) {
		uint64_t address = i ? plan->areas[i - 1].address : layout->code;
		uint64_t size = i ? plan->areas[i - 1].pages * HS_PAGE_SIZE : layout->code_size;

		error = remote_map(caller, ret, "map code", address, size, PROT_READ | PROT_EXEC, flags, ret->code_fd, offset);
		if (!error && anonymous)
			error = target_memory_write(caller->memory, address, code + offset, size, caller->victim->tid);
		offset += size;
	}
	if (!error)
		error = close_remote(caller, &ret->code_fd);
	if (!error)
		error = remote_map(caller, ret, "map the state pages", layout->state, HS_STATE_SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!error)
		error = remote_advise(caller, layout->state, HS_STATE_SIZE, MADV_WIPEONFORK, "mark the state pages");
	return error;
}

// Mapped without access first and unlocked: under mlockall(MCL_FUTURE) an accessible mapping would be populated whole at once.
static struct hs_error *map_region(struct remote_caller *caller, const struct payload_layout *layout, struct loaded_payload *ret)
{
	const uint64_t range[6] = { layout->region, layout->region_size, PROT_READ | PROT_WRITE };
	uint64_t result;
	struct hs_error *error = remote_map(caller, ret, "map the region", layout->region, layout->region_size, PROT_NONE,
					    MAP_SHARED | MAP_NORESERVE, ret->region_fd, 0);

	if (!error)
		error = remote_call_checked(caller, "munlock", SYS_munlock, range, &result);
	if (!error)
		error = remote_advise(caller, layout->region, layout->region_size, MADV_DONTFORK, "keep the region from children");
	if (!error)
		error = remote_advise(caller, layout->region, layout->region_size, MADV_DONTDUMP, "keep the region from core dumps");
	if (!error)
		error = remote_call_checked(caller, "mprotect of the region", SYS_mprotect, range, &result);
	return error;
}

static struct hs_error *load_region(struct remote_caller *caller, const struct payload_layout *layout,
				    void (*fill)(struct region_header *, void *), void *context, struct loaded_payload *ret)
{
	HS_CLEANUP_CLOSE int fd = -1;
	bool refused;
	struct hs_error *error = create_memfd(caller, HS_REGION_NAME, false, &ret->region_fd, &fd, &refused);
	void *view;

	if (error)
		return error;
	fault_request();
	if (ftruncate(fd, (off_t)layout->region_size) != 0)
		return hs_error_system(errno, "cannot size the region");
	fault_request();
	// Shrinking would kill whoever has it mapped, with SIGBUS.
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return hs_error_system(errno, "cannot seal the region");
	view = mmap(NULL, layout->region_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (view == MAP_FAILED)
		return hs_error_system(errno, "cannot map the region");
	ret->header = view;
	ret->region_size = layout->region_size;
	fault_request();
	fill(ret->header, context);
	fault_request();
	error = map_region(caller, layout, ret);
	if (!error)
		error = close_remote(caller, &ret->region_fd);
	return error;
}

struct hs_error *payload_load(struct remote_caller *caller, const struct payload_layout *layout, const uint8_t *code, size_t code_size,
			      const struct hook_plan *plan, void (*fill)(struct region_header *, void *), void *context,
			      struct loaded_payload *ret)
{
	bool anonymous;
	struct hs_error *error = make_code_file(caller, code, code_size, ret, &anonymous);

	// Anonymous code that is not yet filled is known by nothing but its address: the region, which names that, is there first.
	if (!error && anonymous)
		error = load_region(caller, layout, fill, context, ret);
	if (!error)
		error = map_code(caller, layout, code, plan, anonymous, ret);
	if (!error && !anonymous)
		error = load_region(caller, layout, fill, context, ret);
	return error;
}

struct hs_error *payload_unload(struct remote_caller *caller, struct loaded_payload *loaded)
{
	struct hs_error *errors = close_remote(caller, &loaded->code_fd);

	errors = hs_error_join(errors, close_remote(caller, &loaded->region_fd));
	while (loaded->mapped_count > 0) {
		const struct region_part *part = &loaded->mapped[--loaded->mapped_count];
		const uint64_t arguments[6] = { part->offset, part->size };
		uint64_t result;

		errors = hs_error_join(errors, remote_call_checked(caller, "munmap", SYS_munmap, arguments, &result));
	}
	payload_release(loaded);
	return errors;
}

void payload_release(struct loaded_payload *loaded)
{
	if (loaded->header)
		munmap(loaded->header, loaded->region_size);
	loaded->header = NULL;
}
