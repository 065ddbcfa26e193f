/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* image.S - the finished image as data, for a program that carries it (host/doctor/microvm.c). */
	.section .rodata
	.balign	16
	.globl	xvt_bare_image
xvt_bare_image:
	.incbin	IMAGE
	.globl	xvt_bare_image_end
xvt_bare_image_end:
	.section .note.GNU-stack, "", @progbits
