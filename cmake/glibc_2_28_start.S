/* How a program starts with glibc 2.28: glibc_2_28.S. Until 2.34 glibc let the program's own code, linked from glibc, run
   its constructors. Newer start files have no such code and pass null for it, so it is here. */

	.section .text.__libc_start_main, "ax", @progbits
	.symver	before___libc_start_main, __libc_start_main@GLIBC_2.2.5
	.globl	__libc_start_main
	.hidden	__libc_start_main
	.type	__libc_start_main, @function
__libc_start_main:			/* (main, argc, argv, init, fini, rtld_fini, stack_end) */
	endbr64
	lea	run_constructors(%rip), %rcx
	jmp	before___libc_start_main@PLT

	/* run_constructors(argc, argv, envp); every glibc calls it in place of its own */
	.type	run_constructors, @function
run_constructors:
	endbr64
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	mov	%edi, %r12d
	mov	%rsi, %r13
	mov	%rdx, %r14
	call	_init
	lea	__init_array_start(%rip), %rbx
	lea	__init_array_end(%rip), %rbp
1:	cmp	%rbp, %rbx
	jae	2f
	mov	%r12d, %edi
	mov	%r13, %rsi
	mov	%r14, %rdx
	call	*(%rbx)
	add	$8, %rbx
	jmp	1b
2:	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.section .note.GNU-stack, "", @progbits
