// SPDX-License-Identifier: Apache-2.0
// Writes small .eh_frame_hdr and .eh_frame sections: one header, one CIE, one FDE.
#ifndef HEAPSNAP_TEST_UNIT_CFI_IMAGE_H
#define HEAPSNAP_TEST_UNIT_CFI_IMAGE_H

#include "check.h"

#include <stdbool.h>
#include <stddef.h>

#define BASE      UINT64_C(0x400000) // of the span
#define CODE      UINT64_C(0x401000) // first pc of the FDE
#define CODE_SIZE 0x100

// DW_CFA_def_cfa: r7 (rsp) ofs 8; DW_CFA_offset: r16 (rip) at cfa-8. As every compiler begins.
#define USUAL_CIE_PROGRAM 0x0c, 0x07, 0x08, 0x90, 0x01

struct bytes {
	const uint8_t *data;
	size_t size;
};
#define BYTES(...) ((struct bytes){ (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) })
#define NO_BYTES   ((struct bytes){ NULL, 0 })

// A header, one CIE, one FDE and a terminator, laid one behind the other.
struct image {
	uint8_t data[2048];
	size_t size;
	uint64_t fde; // offset
	bool overflow;
};

static void add(struct image *image, uint64_t value, unsigned size)
{
	if (image->size + size > sizeof image->data) {
		image->overflow = true;
		return;
	}
	for (unsigned i = 0; i < size; i++)
		image->data[image->size++] = (uint8_t)(value >> 8 * i);
}

static void add_bytes(struct image *image, struct bytes bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		add(image, bytes.data[i], 1);
}

static void set_u32(struct image *image, uint64_t offset, uint64_t value)
{
	for (unsigned i = 0; i < 4; i++)
		image->data[offset + i] = (uint8_t)(value >> 8 * i);
}

// Fills in the length of the entry that began at `start`, after padding it with DW_CFA_nop.
static void end_entry(struct image *image, uint64_t start)
{
	while ((image->size - start) % 4)
		add(image, 0, 1);
	set_u32(image, start, image->size - start - 4);
}

struct cie_form {
	uint8_t version;
	const char *augmentation;
	struct bytes augmentation_data; // after its length
	uint8_t encoding;               // that the FDE's addresses are written in: a DW_EH_PE_*
	uint8_t code_alignment;
	uint8_t data_alignment; // one byte of SLEB128
	uint8_t return_address;
};

#define USUAL_CIE ((struct cie_form){ 1, "zR", BYTES(0x1b), 0x1b, 1, 0x78, 16 })
#define HDR_SIZE  20

static void add_pointer(struct image *image, uint8_t encoding, uint64_t value)
{
	static const uint8_t sizes[16] = { [0] = 8, [2] = 2, [3] = 4, [4] = 8, [8] = 8, [10] = 2, [11] = 4, [12] = 8 };
	unsigned format = encoding & 0xf;

	if ((encoding & 0x70) == 0x10)
		value -= BASE + image->size;
	if ((encoding & 0x70) == 0x50)
		while (image->size % 8)
			add(image, 0xee, 1);
	if (format == 1 || format == 9) // LEB128 in four bytes and more
		for (unsigned i = 0; i < 10; i++, value = format == 9 ? (uint64_t)((int64_t)value >> 7) : value >> 7)
			add(image, i == 9 ? value & 0x7f : (value & 0x7f) | 0x80, 1);
	else
		add(image, value, sizes[format]);
}

static void build(struct image *image, struct cie_form cie, struct bytes cie_program, struct bytes fde_program)
{
	uint64_t cie_start, range_encoding = cie.encoding & 0x0f;

	*image = (struct image){ 0 };
	add(image, 1, 1);    // version
	add(image, 0x1b, 1); // .eh_frame: pcrel|sdata4
	add(image, 0x03, 1); // count: udata4
	add(image, 0x3b, 1); // table: datarel|sdata4
	add(image, HDR_SIZE - 4, 4);
	add(image, 1, 4);
	add(image, CODE - BASE, 4);
	add(image, 0, 4); // the FDE, below

	cie_start = image->size;
	add(image, 0, 4);
	add(image, 0, 4);
	add(image, cie.version, 1);
	add_bytes(image, (struct bytes){ (const uint8_t *)cie.augmentation, strlen(cie.augmentation) + 1 });
	if (cie.version == 4)
		add(image, 8, 2); // address size, segment size
	add(image, cie.code_alignment, 1);
	add(image, cie.data_alignment, 1);
	add(image, cie.return_address, 1);
	if (cie.augmentation[0] == 'z') {
		add(image, cie.augmentation_data.size, 1);
		add_bytes(image, cie.augmentation_data);
	}
	add_bytes(image, cie_program);
	end_entry(image, cie_start);

	image->fde = image->size;
	set_u32(image, 16, image->fde);
	add(image, 0, 4);
	add(image, image->size - cie_start, 4);
	add_pointer(image, cie.encoding, CODE);
	add_pointer(image, (uint8_t)range_encoding, CODE_SIZE);
	if (cie.augmentation[0] == 'z')
		add(image, 0, 1);
	add_bytes(image, fde_program);
	end_entry(image, image->fde);
	add(image, 0, 4);
	CHECK(!image->overflow);
}

#endif
