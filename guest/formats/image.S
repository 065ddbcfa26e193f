/* SPDX-License-Identifier: GPL-2.0 */
/* image.S - the program as data, for xvtrace, which carries it (host/formats/boot.c). */
	.section .rodata
	.balign	16
	.globl	xvt_formats_init
xvt_formats_init:
	.incbin	IMAGE
	.globl	xvt_formats_init_end
xvt_formats_init_end:
	.section .note.GNU-stack, "", @progbits
