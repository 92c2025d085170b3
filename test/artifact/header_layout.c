// SPDX-License-Identifier: Apache-2.0
// Prints what the headers say, one "name value" a line, for the checks of the linked payload (payload_checks.py), whose assembly
// repeats some of these numbers.
#include "arch.h"
#include "inject/abi/limits.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/region.h"

#include <inttypes.h>
#include <stdio.h>

#define NUMBER(expression) printf("%s %" PRIu64 "\n", #expression, (uint64_t)(expression))
#define FIELD(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define SIZE(type) printf("sizeof.%s %zu\n", #type, sizeof(struct type))

int main(void)
{
	NUMBER(HS_PAYLOAD_MAGIC);
	NUMBER(HS_ABI_VERSION);
	NUMBER(HS_PAGE_SIZE);
	NUMBER(HS_ISLAND_TRAMPOLINE_OFFSET);
	FIELD(payload_header, magic);
	FIELD(payload_header, abi_version);
	FIELD(payload_header, image_size);
	FIELD(payload_header, entry);
	FIELD(payload_header, syscall_gadget);
	FIELD(payload_header, sigreturn_gadget);
	FIELD(payload_header, config);
	SIZE(payload_header);
	FIELD(payload_config, state);
	FIELD(hook_island, hook_index);
	FIELD(hook_island, companion);
	FIELD(payload_config, region);
	FIELD(region_header, hook_trust);
	FIELD(thread_slot, thread_pointer);
	FIELD(thread_slot, guard);
	FIELD(thread_slot, interval);
	FIELD(thread_slot, countdown);
	SIZE(thread_slot);
	NUMBER(HS_OFFSET_SLOTS);
	NUMBER(HS_OFFSET_FILTER);
	NUMBER(HS_THREAD_SLOTS);
	NUMBER(HS_TRUST_CALLS);
	NUMBER(HS_FILTER_FACTOR);
	NUMBER(HS_FILTER_SHIFT);
	NUMBER(HS_SLOT_SHIFT);
#define X(kind, doc) printf("kind.%s %d\n", #kind, HOOK_##kind);
	HS_HOOK_KINDS(X)
#undef X
	FIELD(entry_frame, r15);
	FIELD(entry_frame, r14);
	FIELD(entry_frame, r13);
	FIELD(entry_frame, r12);
	FIELD(entry_frame, rbx);
	FIELD(entry_frame, rbp);
	FIELD(entry_frame, return_address);
	FIELD(call_frame, result);
	FIELD(call_frame, island);
	FIELD(call_frame, rax);
	FIELD(call_frame, arguments);
	FIELD(call_frame, entry);
	SIZE(call_frame);
	return 0;
}
