// Products of a group of four warps: 64 rows of A, 16 columns of A a step, accumulators in registers. They run beside
// other instructions: products are started, ended as one batch, and waited for.
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": wgmma.
#pragma once

#include "kernels/hopper/isa/matrix_descriptor.hpp"
#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

// So that the compiler places what follows elsewhere.
DEVICE bool rarely(bool x) { return __builtin_expect(x, false); }

// The group's accumulators, 64 rows by 8 Tiles columns: warp w has rows 16 w to 16 w + 15, in tiles as mma.hpp has
// them.
template <int Tiles>
using Accumulators = TileC[Tiles];

// Before the first product that reads registers or shared memory that were written.
DEVICE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// The products since the last call are one batch.
DEVICE void products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits for all batches but the latest `Rest`.
template <int Rest>
DEVICE void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Rest) : "memory");
}

// The compiler may move no use of these registers across.
template <int Tiles>
DEVICE void keep(Accumulators<Tiles>& c) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
    asm volatile("" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])::"memory");
}

template <int Tiles>
DEVICE void clear(Accumulators<Tiles>& c) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i) c[i][0] = c[i][1] = c[i][2] = c[i][3] = 0;
}

// Operands of the instructions' text: the accumulators are %0 and on.
// clang-format off
#define RAPT_NUMBERS_0 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define RAPT_NUMBERS_1 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define RAPT_NUMBERS_2 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define RAPT_NUMBERS_3 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define RAPT_NUMBERS_4 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define RAPT_NUMBERS_5 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define RAPT_NUMBERS_6 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define RAPT_NUMBERS_7 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define RAPT_NUMBERS_16 RAPT_NUMBERS_0
#define RAPT_NUMBERS_32 RAPT_NUMBERS_0 ", " RAPT_NUMBERS_1
#define RAPT_NUMBERS_40 RAPT_NUMBERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define RAPT_NUMBERS_48 RAPT_NUMBERS_32 ", " RAPT_NUMBERS_2
#define RAPT_NUMBERS_64 RAPT_NUMBERS_48 ", " RAPT_NUMBERS_3
#define RAPT_NUMBERS_96 RAPT_NUMBERS_64 ", " RAPT_NUMBERS_4 ", " RAPT_NUMBERS_5
#define RAPT_NUMBERS_128 RAPT_NUMBERS_96 ", " RAPT_NUMBERS_6 ", " RAPT_NUMBERS_7
#define RAPT_TILE(c, i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define RAPT_TILES_4(c, i) RAPT_TILE(c, i), RAPT_TILE(c, (i) + 1), RAPT_TILE(c, (i) + 2), RAPT_TILE(c, (i) + 3)
#define RAPT_TILES_8(c, i) RAPT_TILES_4(c, i), RAPT_TILES_4(c, (i) + 4)
#define RAPT_TILES_10(c, i) RAPT_TILES_8(c, i), RAPT_TILE(c, (i) + 8), RAPT_TILE(c, (i) + 9)
#define RAPT_TILES_12(c, i) RAPT_TILES_8(c, i), RAPT_TILES_4(c, (i) + 8)
#define RAPT_TILES_16(c, i) RAPT_TILES_8(c, i), RAPT_TILES_8(c, (i) + 8)
#define RAPT_TILES_24(c, i) RAPT_TILES_16(c, i), RAPT_TILES_8(c, (i) + 16)
#define RAPT_TILES_32(c, i) RAPT_TILES_16(c, i), RAPT_TILES_16(c, (i) + 16)

// multiply_rows: c = a * b^T + (add ? c : 0). Rows of `a` and of `b` lie in shared memory, each row's elements side by
// side. multiply_columns: c = a^T * b + (add ? c : 0), of the same layout.
#define RAPT_MULTIPLY_SHARED(function, transposed, type, name, columns, tiles, registers, a_number, b_number,          \
                             add_number)                                                                               \
  DEVICE void function(Accumulators<tiles>& c, MatrixDescriptor a, MatrixDescriptor b, bool add, type) {               \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_number ", 0;\n"                                           \
                 "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." name "." name " {" RAPT_NUMBERS_##registers    \
                 "}, " a_number ", " b_number ", add, 1, 1, " transposed ", " transposed ";\n}"                        \
                 : RAPT_TILES_##tiles(c, 0)                                                                            \
                 : "l"(a.bits), "l"(b.bits), "r"(static_cast<int>(add)));                                              \
  }

// c += a * b. `a` is in registers; rows of `b`, which a's columns are multiplied by, in shared memory.
#define RAPT_MULTIPLY_FRAGMENT(type, name, columns, tiles, registers, a0, a1, a2, a3, b_number)                         \
  DEVICE void multiply_fragment(Accumulators<tiles>& c, const Fragment& a, MatrixDescriptor b, type) {                 \
    asm volatile("wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." name "." name " {" RAPT_NUMBERS_##registers    \
                 "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_number ", 1, 1, 1, 1;"                                       \
                 : RAPT_TILES_##tiles(c, 0)                                                                            \
                 : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "l"(b.bits));                                   \
  }

RAPT_MULTIPLY_SHARED(multiply_rows, "0", fp16, "f16", "64", 8, 32, "%32", "%33", "%34")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", fp16, "f16", "80", 10, 40, "%40", "%41", "%42")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", fp16, "f16", "96", 12, 48, "%48", "%49", "%50")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", fp16, "f16", "128", 16, 64, "%64", "%65", "%66")
RAPT_MULTIPLY_SHARED(multiply_columns, "1", fp16, "f16", "32", 4, 16, "%16", "%17", "%18")
RAPT_MULTIPLY_SHARED(multiply_columns, "1", fp16, "f16", "64", 8, 32, "%32", "%33", "%34")
RAPT_MULTIPLY_FRAGMENT(fp16, "f16", "64", 8, 32, "%32", "%33", "%34", "%35", "%36")
RAPT_MULTIPLY_FRAGMENT(fp16, "f16", "128", 16, 64, "%64", "%65", "%66", "%67", "%68")
RAPT_MULTIPLY_FRAGMENT(fp16, "f16", "192", 24, 96, "%96", "%97", "%98", "%99", "%100")
RAPT_MULTIPLY_FRAGMENT(fp16, "f16", "256", 32, 128, "%128", "%129", "%130", "%131", "%132")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", bf16, "bf16", "64", 8, 32, "%32", "%33", "%34")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", bf16, "bf16", "80", 10, 40, "%40", "%41", "%42")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", bf16, "bf16", "96", 12, 48, "%48", "%49", "%50")
RAPT_MULTIPLY_SHARED(multiply_rows, "0", bf16, "bf16", "128", 16, 64, "%64", "%65", "%66")
RAPT_MULTIPLY_SHARED(multiply_columns, "1", bf16, "bf16", "32", 4, 16, "%16", "%17", "%18")
RAPT_MULTIPLY_SHARED(multiply_columns, "1", bf16, "bf16", "64", 8, 32, "%32", "%33", "%34")
RAPT_MULTIPLY_FRAGMENT(bf16, "bf16", "64", 8, 32, "%32", "%33", "%34", "%35", "%36")
RAPT_MULTIPLY_FRAGMENT(bf16, "bf16", "128", 16, 64, "%64", "%65", "%66", "%67", "%68")
RAPT_MULTIPLY_FRAGMENT(bf16, "bf16", "192", 24, 96, "%96", "%97", "%98", "%99", "%100")
RAPT_MULTIPLY_FRAGMENT(bf16, "bf16", "256", 32, 128, "%128", "%129", "%130", "%131", "%132")
// clang-format on

}  // namespace rapt::nvidia
