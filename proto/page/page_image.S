// SPDX-License-Identifier: Apache-2.0
	.section .rodata.page_image, "a", @progbits
	.globl page_head
	.globl page_head_end
	.globl page_tail
	.globl page_tail_end
page_head:
#ifdef HS_PAGE_HEAD
	.incbin HS_PAGE_HEAD
#endif
page_head_end:
page_tail:
#ifdef HS_PAGE_TAIL
	.incbin HS_PAGE_TAIL
#endif
page_tail_end:
	.byte 0
	.section .note.GNU-stack, "", @progbits
