// SPDX-License-Identifier: Apache-2.0
// The two kinds of entry of .eh_frame, parsed: what the finder (cfi.c) hands to the interpreter (cfi_program.c).
#ifndef HEAPSNAP_UNWIND_CFI_ENTRY_H
#define HEAPSNAP_UNWIND_CFI_ENTRY_H

#include "unwind/cfi.h"
#include "unwind/span_reader.h"

// Common information entry. Offsets are from the start of the span.
struct cfi_cie {
	uint64_t offset; // of the entry itself
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t program, program_end;
	uint8_t pointer_encoding;   // DW_EH_PE_* of the FDEs' addresses
	bool has_augmentation_data; // of FDEs too
	bool is_signal_frame;
};

// Frame description entry: code [pc_begin, pc_begin + pc_range).
struct cfi_fde {
	struct cfi_cie cie;
	uint64_t pc_begin, pc_range;
	uint64_t program, program_end;
};

// Reads a pointer in one of the DW_EH_PE_* encodings into *ret. `data_base`: what datarel is relative to, 0 = not
// known.
enum cfi_result cfi_read_pointer(struct span_reader *reader, uint8_t encoding, uint64_t data_base, uint64_t *ret);

// Reads the entry at *offset from the span's start, which is moved behind it: to the span's end behind the last one.
// CFI_OK: it is an FDE, in *ret. CFI_NO_ENTRY: it is a CIE, or the end. Else it cannot be used; where its length is not
// inside the span, *offset stays. ret->cie holds the last CIE, kept for FDEs that share it: its offset is UINT64_MAX at
// first. pre: *offset < span->size
enum cfi_result cfi_next_fde(const struct memory_span *span, uint64_t *offset, struct cfi_fde *ret);

// Runs the instructions of the CIE and of the FDE up to `pc`, which the FDE covers.
enum cfi_result cfi_program_run(const struct memory_span *span, const struct cfi_fde *fde, uint64_t pc,
				struct cfi_row *ret);

#endif
