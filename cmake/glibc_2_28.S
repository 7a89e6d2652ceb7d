/* What glibc after 2.28 moved into another library, replaced or renamed, by its old name and version: a library or program
   with these runs with glibc 2.28 whichever it was built with. Hidden, they come before glibc's own. For x86-64. */

	.macro	begin name
	.section .text.\name, "ax", @progbits
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:	endbr64
	.endm

	.macro	as_before name
	.symver	before_\name, \name@GLIBC_2.2.5
	begin	\name
	jmp	before_\name@PLT
	.endm

	/* name(a, b) was with(version of struct stat, a, b) */
	.macro	as_xstat name, with
	.symver	before_\name, \with@GLIBC_2.2.5
	begin	\name
	mov	%rsi, %rdx
	mov	%rdi, %rsi
	mov	$1, %edi
	jmp	before_\name@PLT
	.endm

	/* 2.34: libdl and libpthread became part of libc */
	as_before dlopen
	as_before dlsym
	as_before dlclose
	as_before dlerror
	as_before dladdr
	as_before pthread_create
	as_before pthread_join
	as_before pthread_once
	as_before pthread_mutex_trylock
	as_before pthread_rwlock_rdlock
	as_before pthread_rwlock_wrlock
	as_before pthread_rwlock_unlock
	as_before __pthread_key_create

	/* 2.33: functions rather than macros */
	as_xstat stat, __xstat
	as_xstat lstat, __lxstat
	as_xstat fstat, __fxstat
	as_xstat fstat64, __fxstat64

	/* 2.29: without the error handling of System V */
	as_before exp
	as_before exp2
	as_before log
	as_before log2

	/* 2.32: glibc's word on whether there is one thread; none is always true enough */
	.bss
	.globl	__libc_single_threaded
	.hidden	__libc_single_threaded
	.type	__libc_single_threaded, @object
	.size	__libc_single_threaded, 1
__libc_single_threaded:
	.zero	1

	.section .note.GNU-stack, "", @progbits
