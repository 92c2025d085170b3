// SPDX-License-Identifier: Apache-2.0
// Prints what the headers say, one "name value" a line, for the checks of the linked payload (payload_checks.py), whose
// assembly repeats some of these numbers.
#include "inject/abi/limits.h"
#include "inject/abi/payload_header.h"
#include "inject/abi/region.h"
#include "inject/arch/entry_frame.h"
#include "inject/hook/hooks.h"

#include <inttypes.h>
#include <stdio.h>

#define NUMBER(expression) printf("%s %" PRIu64 "\n", #expression, (uint64_t)(expression))
#define FIELD(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define SIZE(type)         printf("sizeof.%s %zu\n", #type, sizeof(struct type))

int main(void)
{
	NUMBER(HS_PAYLOAD_MAGIC);
	NUMBER(HS_ABI_VERSION);
	NUMBER(HS_PAGE_SIZE);
	NUMBER(HS_ISLAND_STUB_OFFSET);
	NUMBER(HS_ISLAND_FAST_PATH_OFFSET);
	NUMBER(HS_ISLAND_TRAMPOLINE_OFFSET);
	FIELD(payload_header, magic);
	FIELD(payload_header, abi_version);
	FIELD(payload_header, image_size);
	FIELD(payload_header, entry);
	FIELD(payload_header, syscall_gadget);
	FIELD(payload_header, thread_pointer_reads);
	FIELD(payload_header, thread_pointer_reads_end);
	FIELD(payload_header, sigreturn_gadget);
	FIELD(payload_header, config);
	FIELD(payload_header, island_head);
	FIELD(payload_header, island_begin);
	SIZE(payload_header);
	FIELD(payload_config, state);
	FIELD(hook_island, companion);
	FIELD(hook_island, layout);
	FIELD(hook_island, hook_index);
	FIELD(payload_state, hook_trust);
	FIELD(payload_state, bloom);
	FIELD(payload_state, credits);
	FIELD(sampling_credit, thread_pointer);
	FIELD(sampling_credit, countdown);
	SIZE(sampling_credit);
	NUMBER(HS_SAMPLING_CREDITS);
	NUMBER(HS_FAST_PATH_STATE);
	NUMBER(HS_FAST_PATH_TRUST);
	NUMBER(HS_TRUST_CALLS);
	NUMBER(HS_HASH_FACTOR);
	NUMBER(HS_BLOOM_SHIFT);
#define X(kind, doc) printf("kind.%s %d\n", #kind, HOOK_##kind);
	HS_HOOK_KINDS(X)
#undef X
	NUMBER(HOOK_DONE);
	NUMBER(HOOK_NOT_BEGUN);
	FIELD(entry_frame, r15);
	FIELD(entry_frame, r14);
	FIELD(entry_frame, r13);
	FIELD(entry_frame, r12);
	FIELD(entry_frame, rbx);
	FIELD(entry_frame, fp);
	FIELD(entry_frame, return_address);
	FIELD(call_frame, result);
	FIELD(call_frame, island);
	FIELD(call_frame, before);
	FIELD(call_frame, arguments);
	FIELD(call_frame, changed);
	FIELD(call_frame, r10);
	FIELD(call_frame, r11);
	FIELD(call_frame, entry);
	SIZE(call_frame);
	return 0;
}
