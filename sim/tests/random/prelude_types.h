// The types of random programs and where their functions are: the beginning of prelude.h, which follows it.
#pragma once

#ifdef __AMDGCN__
#define DEV __device__
#define TABLE static __constant__
#define ON_DEVICE 1
#else
#define DEV
#define TABLE static
#define ON_DEVICE 0
#endif
#define INLINE static inline __attribute__((always_inline)) DEV
#define NOINLINE static __attribute__((noinline)) DEV

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;
typedef _Float16 f16;
typedef __bf16 bf16;
typedef float f32;
typedef double f64;

#define VECTOR(name, element, length) typedef element name __attribute__((ext_vector_type(length)))
VECTOR(u8x4, u8, 4);
VECTOR(u16x2, u16, 2);
VECTOR(u16x4, u16, 4);
VECTOR(u32x2, u32, 2);
VECTOR(u32x3, u32, 3);
VECTOR(u32x4, u32, 4);
VECTOR(u64x2, u64, 2);
VECTOR(f16x2, f16, 2);
VECTOR(f32x2, f32, 2);
VECTOR(f32x4, f32, 4);
VECTOR(f64x2, f64, 2);
