// SPDX-License-Identifier: Apache-2.0
	.section .rodata.payload_image, "a", @progbits
	.balign 4096
	.globl payload_image
	.globl payload_image_end
payload_image:
	.incbin HS_PAYLOAD_BIN
payload_image_end:
	.section .note.GNU-stack, "", @progbits
