// SPDX-License-Identifier: Apache-2.0
#include "attach/region/payload_load.h"

#include "attach/arch/thread_pointer_code.h"
#include "attach/guard/interrupt.h"
#include "attach/hook/payload_image.h"
#include "attach/process/memory_file.h"
#include "attach/ptrace/memory_write.h"
#include "attach/region/region_access.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U // since Linux 6.3
#endif

struct hs_error *payload_layout_choose(const struct proc_maps *maps, uint64_t region_size, uint64_t random,
				       struct payload_layout *ret)
{
	// A random start in the lower half of the range; if there is no room above it, anywhere.
	uint64_t low = HS_LAYOUT_LOW + random % ((HS_LAYOUT_HIGH - HS_LAYOUT_LOW) / 2 / HS_LAYOUT_GAP) * HS_LAYOUT_GAP;
	const struct payload_header *image = (const struct payload_header *)payload_image;
	uint64_t code_size = (uint64_t)(payload_image_end - payload_image);
	uint64_t room = code_size + HS_STATE_SIZE + HS_LAYOUT_GAP + region_size;

	*ret = (struct payload_layout){ .code_size = code_size, .region_size = region_size };
	ret->code = proc_maps_find_hole(maps, low, HS_LAYOUT_HIGH, room, HS_LAYOUT_GAP, false);
	if (!ret->code)
		ret->code = proc_maps_find_hole(maps, HS_LAYOUT_LOW, HS_LAYOUT_HIGH, room, HS_LAYOUT_GAP, false);
	if (!ret->code)
		return hs_error_create(HS_ERROR_REFUSED,
				       "no free range of %" PRIu64 " MiB in the target's address space; "
				       "ask for less with --max-memory",
				       room >> 20);
	ret->state = ret->code + code_size;
	ret->region = (ret->state + HS_STATE_SIZE + HS_LAYOUT_GAP) & ~(HS_LAYOUT_GAP - 1);
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
	uint64_t area_offset[HS_ISLAND_AREAS_MAX];
	uint64_t size = layout->code_size;
	uint8_t *bytes;

	for (size_t i = 0; i < plan->area_count; i++) {
		area_offset[i] = size;
		size += plan->areas[i].pages * HS_PAGE_SIZE;
	}
	bytes = malloc(size);
	if (!bytes)
		return &hs_error_no_memory;
	memset(bytes, HS_TRAP_BYTE, size); // should anything ever run into it
	memcpy(bytes, payload_image, layout->code_size);
	if (thread_pointer_code_is_allowed() && !thread_pointer_code_replace_in_image(bytes, layout->code_size)) {
		free(bytes);
		return hs_error_create(
			HS_ERROR_BAD_DATA,
			"the payload's image is damaged: it reads the thread pointer where its header does not say");
	}
	memcpy(bytes + offsetof(struct payload_header, config), config, sizeof(*config));
	for (size_t i = 0; i < plan->count; i++) {
		const struct planned_hook *hook = &plan->hooks[i];

		if (hook->record.verdict == VERDICT_ok)
			memcpy(bytes + area_offset[hook->island_area] + hook->island_slot * sizeof(hook->island),
			       &hook->island, sizeof(hook->island));
	}
	*bytes_ret = bytes;
	*size_ret = size;
	return NULL;
}

static void note_mapping(struct loaded_payload *loaded, uint64_t address, uint64_t size)
{
	loaded->mapped[loaded->mapped_count++] = (struct address_range){ address, size };
}

static struct hs_error *remote_map(struct remote_caller *caller, struct loaded_payload *loaded, const char *what,
				   uint64_t address, uint64_t size, int protection, int flags, int64_t fd,
				   uint64_t offset)
{
	const uint64_t arguments[6] = { address, size, (uint64_t)protection, (uint64_t)flags, (uint64_t)fd, offset };
	uint64_t result;
	struct hs_error *error = fault_point(what);

	if (error)
		return error;
	error = remote_call_checked(caller, what, SYS_mmap, arguments, &result);
	// Where the tool lost sight of the call, it may have been made: the range was free, so undoing it is right in
	// any case.
	if (error && error->code != HS_ERROR_REMOTE)
		note_mapping(loaded, address, size);
	// mlock_future_ok in the kernel's mm/mmap.c
	if (error && error->code == HS_ERROR_REMOTE && error->error_number == EAGAIN)
		return hs_error_prefix(
			error,
			"the target locks all that it maps (mlockall), and its limit of locked memory has no room "
			"for it; raise that (prlimit --memlock)");
	if (error)
		return error;
	note_mapping(loaded, result, size);
	if (result != address) // a kernel before 4.17 takes the address as a hint only
		return hs_error_create(HS_ERROR_REFUSED,
				       "the kernel placed a mapping elsewhere; a kernel of 4.17 or newer is needed");
	return NULL;
}

static struct hs_error *remote_advise(struct remote_caller *caller, uint64_t address, uint64_t size, int advice,
				      const char *what)
{
	const uint64_t arguments[6] = { address, size, (uint64_t)advice };
	uint64_t result;
	struct hs_error *error = fault_point(what);

	return error ? error : remote_call_checked(caller, what, SYS_madvise, arguments, &result);
}

// A memory file of the target, and the tool's own descriptor of it. *refused_ret: the target's kernel or policy forbids
// executable ones.
static struct hs_error *create_memory_file(struct remote_caller *caller, bool executable, struct loaded_payload *ret,
					   bool *refused_ret)
{
	uint64_t scratch = remote_call_scratch(caller);
	uint64_t flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	uint64_t arguments[6] = { scratch, flags | (executable ? MFD_EXEC : 0) };
	struct code_names names;
	char name[HS_CODE_NAME_SIZE];
	struct hs_error *error = fault_point("memfd_create");
	int64_t result;

	*refused_ret = false;
	code_names_read_key(caller->memory, &names);
	if (!error)
		error = code_names_make(&names, name, &ret->code_nonce);
	if (!error)
		error = target_memory_write(caller->memory, scratch, name, strlen(name) + 1, caller->carrier->tid);
	if (!error)
		error = remote_call(caller, SYS_memfd_create, arguments, &result);
	// before 6.3 there is no MFD_EXEC and every memfd is executable
	if (!error && result == -EINVAL && executable) {
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
					   result == -EMFILE ? " (raise its limit of open files: prlimit --nofile)"
							     : "");
	error = memory_file_take(caller->frozen->process, caller->carrier->tid, result, name, &ret->own_fd);
	if (!error)
		ret->target_fd = result; // only now: what is not ours is not closed
	return error;
}

// A process that shares the target's descriptors may have put something else there meanwhile. That is left.
static struct hs_error *close_code_file(struct remote_caller *caller, struct loaded_payload *loaded)
{
	const uint64_t arguments[6] = { (uint64_t)loaded->target_fd };
	bool is_ours = loaded->target_fd >= 0 && memory_file_is_at(caller->frozen->process, caller->carrier->tid,
								   loaded->target_fd, loaded->own_fd);
	uint64_t result;

	loaded->target_fd = -1;
	return is_ours ? remote_call_checked(caller, "close", SYS_close, arguments, &result) : NULL;
}

// The memory file that the code is mapped from. *refused_ret: it may not be executable.
static struct hs_error *make_code_file(struct remote_caller *caller, const uint8_t *code, size_t code_size,
				       bool executable, struct loaded_payload *ret, bool *refused_ret)
{
	struct hs_error *error = create_memory_file(caller, executable, ret, refused_ret);

	if (error || *refused_ret)
		return error;
	fault_request();
	error = hs_pwrite_all(ret->own_fd, code, code_size, 0);
	fault_request();
	if (!error && fcntl(ret->own_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		error = hs_error_system(errno, "cannot seal the payload");
	return error;
}

static struct hs_error *refuse_exchanged(const struct remote_caller *caller, int64_t number)
{
	return hs_error_create(HS_ERROR_REFUSED,
			       "descriptor %" PRId64
			       " of thread %d no longer refers to the memory file made there: another process changes "
			       "its descriptors",
			       number, (int)caller->carrier->tid);
}

// A piece of the memory file. The number may have come to stand for something else while the target mapped it.
static struct hs_error *map_file(struct remote_caller *caller, const char *what, uint64_t address, uint64_t size,
				 int protection, uint64_t offset, struct loaded_payload *ret)
{
	struct hs_error *error = remote_map(caller, ret, what, address, size, protection,
					    MAP_PRIVATE | MAP_FIXED_NOREPLACE, ret->target_fd, offset);
	bool is_ours = false;

	if (error && error->code == HS_ERROR_REMOTE &&
	    !memory_file_is_at(caller->frozen->process, caller->carrier->tid, ret->target_fd, ret->own_fd)) {
		hs_error_destroy(error);
		return refuse_exchanged(caller, ret->target_fd);
	}
	if (!error)
		error = memory_file_is_mapped_at(caller->frozen->process, address, size, ret->own_fd, &is_ours);
	return error || is_ours ? error : refuse_exchanged(caller, ret->target_fd);
}

static struct hs_error *map_state_pages(struct remote_caller *caller, const struct payload_layout *layout,
					struct loaded_payload *ret)
{
	struct hs_error *error =
		remote_map(caller, ret, "map the state pages", layout->state, HS_STATE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return error ? error
		     : remote_advise(caller, layout->state, HS_STATE_SIZE, MADV_WIPEONFORK, "mark the state pages");
}

static struct hs_error *map_code(struct remote_caller *caller, const struct payload_layout *layout, const uint8_t *code,
				 const struct hook_plan *plan, bool anonymous, struct loaded_payload *ret)
{
	struct hs_error *error = NULL;
	uint64_t offset = 0;

	for (size_t i = 0; i <= plan->area_count && !error; i++) {
		uint64_t address = i ? plan->areas[i - 1].address : layout->code;
		uint64_t size = i ? plan->areas[i - 1].pages * HS_PAGE_SIZE : layout->code_size;

		if (!anonymous) {
			error = map_file(caller, "map code", address, size, PROT_READ | PROT_EXEC, offset, ret);
		} else {
			// The image goes where the note is (map_note), in one step.
			error = remote_map(caller, ret, "map code", address, size, PROT_READ | PROT_EXEC,
					   MAP_PRIVATE | MAP_ANONYMOUS | (i ? MAP_FIXED_NOREPLACE : MAP_FIXED), -1, 0);
			if (!error)
				error = target_memory_write(caller->memory, address, code + offset, size,
							    caller->carrier->tid);
		}
		offset += size;
	}
	return error;
}

static struct hs_error *explain_lack(struct hs_error *error, uint64_t size)
{
	struct hs_error *better =
		hs_error_create(HS_ERROR_REMOTE,
				"%s: the kernel does not commit %" PRIu64
				" MiB to the target (vm.overcommit_memory, vm.max_map_count, or a limit of its address "
				"space); ask for less with --max-memory",
				error->message, size >> 20);

	if (better != &hs_error_no_memory)
		better->error_number = error->error_number;
	hs_error_destroy(error);
	return better;
}

// Shared anonymous memory, and not MAP_NORESERVE: all of it is charged to the system's commit limit here and now
// (shmem_zero_setup in mm/shmem.c), or refused, so that no page that a hook touches later can lack that, whatever
// becomes of vm.overcommit_memory. A memory file's pages are charged one by one, and a page that cannot be is a SIGBUS.
// Mapped without access first and unlocked: under mlockall(MCL_FUTURE) an accessible mapping would be populated whole
// at once.
static struct hs_error *map_region(struct remote_caller *caller, const struct payload_layout *layout,
				   struct loaded_payload *ret)
{
	const uint64_t range[6] = { layout->region, layout->region_size, PROT_READ | PROT_WRITE };
	uint64_t result;
	struct hs_error *error = remote_map(caller, ret, "map the region", layout->region, layout->region_size,
					    PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (error && error->code == HS_ERROR_REMOTE && error->error_number == ENOMEM)
		return explain_lack(error, layout->region_size);
	if (!error)
		error = remote_call_checked(caller, "munlock", SYS_munlock, range, &result);
	if (!error)
		error = remote_advise(caller, layout->region, layout->region_size, MADV_DONTFORK,
				      "keep the region from children");
	if (!error)
		error = remote_advise(caller, layout->region, layout->region_size, MADV_DONTDUMP,
				      "keep the region from core dumps");
	if (!error)
		error = remote_call_checked(caller, "mprotect of the region", SYS_mprotect, range, &result);
	return error;
}

// What `fill` has written; the magic number last, by which the region is known.
static struct hs_error *copy_filled(struct loaded_payload *loaded)
{
	const struct region_header *header = loaded->filled;
	const struct region_part parts[] = {
		{ HS_OFFSET_MODULES, header->module_count * sizeof(struct module_record) },
		{ HS_OFFSET_STRINGS, header->string_bytes },
		{ HS_OFFSET_SLOTS + thread_slot_index(0) * HS_SLOT_STRIDE, sizeof(uint64_t) }, // its key
		{ HS_OFFSET_PAGES, (header->next_page - header->first_page) * HS_PAGE_SIZE },
		{ sizeof(header->stable.magic), sizeof(*header) - sizeof(header->stable.magic) },
		{ 0, sizeof(header->stable.magic) },
	};
	struct hs_error *error = NULL;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !error; i++)
		if (parts[i].size)
			error = payload_region_write(loaded, parts[i].offset, (const uint8_t *)header + parts[i].offset,
						     parts[i].size);
	loaded->region_is_there = !error;
	return error;
}

static struct hs_error *load_region(struct remote_caller *caller, const struct payload_layout *layout,
				    void (*fill)(struct region_header *, void *), void *context,
				    struct loaded_payload *ret)
{
	struct hs_error *error = map_region(caller, layout, ret);
	void *memory;

	if (error)
		return error;
	memory = mmap(NULL, layout->region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (memory == MAP_FAILED)
		return hs_error_system(errno, "no memory for the region's first content");
	ret->filled = memory;
	fill(ret->filled, context);
	ret->filled->stable.code_nonce = ret->code_nonce;
	return copy_filled(ret);
}

// A region is known by the code that names it until its header is written, and code of no name by the region's header.
// So where the code must be anonymous memory, a memory file that is not executable, with the same content, takes its
// place until the region is there.
static struct hs_error *map_note(struct remote_caller *caller, const struct payload_layout *layout, const uint8_t *code,
				 size_t code_size, struct loaded_payload *ret)
{
	bool refused;
	struct hs_error *error = make_code_file(caller, code, code_size, false, ret, &refused);

	return error ? error : map_file(caller, "map a note", layout->code, layout->code_size, PROT_READ, 0, ret);
}

struct hs_error *payload_load(struct remote_caller *caller, const struct payload_layout *layout, const uint8_t *code,
			      size_t code_size, const struct hook_plan *plan,
			      void (*fill)(struct region_header *, void *), void *context, struct loaded_payload *ret)
{
	bool anonymous;
	struct hs_error *error;

	ret->memory = caller->memory;
	ret->stopped_tid = caller->carrier->tid;
	ret->region = layout->region;
	ret->region_size = layout->region_size;
	error = make_code_file(caller, code, code_size, true, ret, &anonymous);
	if (!error && anonymous)
		error = map_note(caller, layout, code, code_size, ret);
	if (!error && !anonymous)
		error = map_code(caller, layout, code, plan, false, ret);
	if (!error)
		error = close_code_file(caller, ret);
	if (!error && !anonymous)
		error = map_state_pages(caller, layout, ret);
	if (!error)
		error = load_region(caller, layout, fill, context, ret);
	if (!error && anonymous)
		error = map_code(caller, layout, code, plan, true, ret);
	if (!error && anonymous)
		error = map_state_pages(caller, layout, ret);
	return error;
}

struct hs_error *payload_unload(struct remote_caller *caller, struct loaded_payload *loaded)
{
	struct hs_error *errors = close_code_file(caller, loaded);

	while (loaded->mapped_count > 0) {
		const struct address_range *range = &loaded->mapped[--loaded->mapped_count];
		const uint64_t arguments[6] = { range->address, range->size };
		uint64_t result;

		errors = hs_error_join(errors, remote_call_checked(caller, "munmap", SYS_munmap, arguments, &result));
	}
	payload_release(loaded);
	return errors;
}

void payload_release(struct loaded_payload *loaded)
{
	if (loaded->filled)
		munmap(loaded->filled, loaded->region_size);
	loaded->filled = NULL;
	if (loaded->own_fd >= 0)
		close(loaded->own_fd);
	loaded->own_fd = -1;
}

struct hs_error *payload_region_write(const struct loaded_payload *loaded, uint64_t offset, const void *data,
				      size_t size)
{
	return target_memory_write(loaded->memory, loaded->region + offset, data, size, loaded->stopped_tid);
}
