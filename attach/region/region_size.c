// SPDX-License-Identifier: Apache-2.0
#include "attach/region/region_size.h"

#include "base/available_memory.h"
#include "inject/abi/region.h"

#include <inttypes.h>

#define MIB   (UINT64_C(1) << 20)
#define FIXED (HS_OFFSET_PAGES + 4 * MIB) // the region's fixed parts, code, islands

static struct hs_error *refuse(const char *what, uint64_t left, uint64_t share, uint64_t size, const char *remedy)
{
	return hs_error_create(HS_ERROR_REFUSED,
			       "%s leaves %" PRIu64 " MiB, of which heapsnap would take no more than %" PRIu64
			       ", and %" PRIu64 " are needed, %" PRIu64 " of them whatever --max-memory says; %s%s",
			       what, left / MIB, share / MIB, (FIXED + size + MIB - 1) / MIB, (FIXED + MIB - 1) / MIB,
			       remedy, FIXED + HS_REGION_MEMORY_MIN <= share ? " or ask for less" : "");
}

struct hs_error *region_size_decide(const struct memory_room *room, uint64_t asked, uint64_t *ret)
{
	const uint64_t most = UINT64_C(64) << 30, least = 16 * MIB;
	const struct {
		uint64_t left;
		const char *name, *remedy;
	} limits[] = {
		{ room->address_space, "the target's address space limit (ulimit -v)", "raise it (prlimit --as)" },
		{ room->commit, "the system's commit limit (vm.overcommit_memory is 2)",
		  "raise it (vm.overcommit_ratio, vm.overcommit_kbytes)" },
	};
	uint64_t chosen = room->machine / 4 < room->group / 8 ? room->machine / 4 : room->group / 8;

	chosen = chosen > most ? most : chosen < least ? least : chosen;
	for (int i = 0; i < 2; i++) {
		uint64_t share = limits[i].left / 8;

		if (limits[i].left != UINT64_MAX && FIXED + chosen > share)
			chosen = share > FIXED + HS_REGION_MEMORY_MIN ? share - FIXED : HS_REGION_MEMORY_MIN;
	}
	*ret = asked ? asked : chosen;
	if (FIXED + *ret > room->group)
		return refuse("the limit of the target's memory cgroup", room->group, room->group, *ret, "raise it");
	if (HS_OFFSET_PAGES + *ret > room->mapping)
		return refuse("the kernel's limit of one mapping (vm.overcommit_memory is 0: all memory and swap)",
			      room->mapping, room->mapping, *ret, "add swap");
	for (int i = 0; i < 2; i++)
		if (limits[i].left != UINT64_MAX && FIXED + *ret > limits[i].left / 4)
			return refuse(limits[i].name, limits[i].left, limits[i].left / 4, *ret, limits[i].remedy);
	return NULL;
}

struct hs_error *region_size_choose(const struct target_info *target, uint64_t asked, uint64_t *ret)
{
	struct memory_room room = {
		.machine = hs_available_memory(),
		.group = memory_group_room(&target->group),
		.address_space = UINT64_MAX,
		.commit = hs_commit_room(),
		.mapping = hs_mapping_most(),
	};

	if (target->address_space_limit != UINT64_MAX)
		room.address_space = target->address_space_limit > target->address_space_used
					     ? target->address_space_limit - target->address_space_used
					     : 0;
	return region_size_decide(&room, asked, ret);
}
