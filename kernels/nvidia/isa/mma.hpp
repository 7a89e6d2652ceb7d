// The matrix instructions mma.m16n8k16 and, for float32, m16n8k8 (Ampere and later), and the loads from shared memory
// that feed them.
//
// Tile C is 16 queries by 8 keys or dimensions, float32. Lane l has columns 2 (l % 4) and the next: of row l / 4 in
// c[0] and c[1], of row l / 4 + 8 in c[2] and c[3]. So four lanes share a query, and two tiles of C side by side,
// rounded and packed, are an operand A of 16 by 16. In float32 one tile is an operand A of 16 by 8 if the rows of B are
// permuted too. Rows 0 to 3 are then the even columns of C, rows 4 to 7 the odd ones.
#pragma once

#include <type_traits>

#include "kernels/nvidia/isa/numbers.hpp"

namespace rapt::nvidia {

inline constexpr int kTile = 16;  // queries of a tile, and keys or dimensions of one step

// Columns of A of one instruction: 32 bytes.
template <class T>
inline constexpr int kStep = 32 / static_cast<int>(sizeof(typename T::element));

using TileC = float[4];
struct Fragment {  // of A, 16 by kStep, or of two operands B side by side, each kStep by 8
  uint32_t x[4];
};

// c += a * b
DEVICE void multiply(TileC& c, const Fragment& a, uint32_t b0, uint32_t b1, fp16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
}
DEVICE void multiply(TileC& c, const Fragment& a, uint32_t b0, uint32_t b1, bf16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
}

// float32 by three products of TF32, which has 11 bits: x = high + low to 22 bits, and low * low is left out. The
// matrix unit truncates its sums, so c is added afterwards, rounded to nearest (Ootomo and Yokota, "Recovering single
// precision accuracy from Tensor Cores", 2022). It truncates `low` too, which takes the last of low's 12 bits.
struct Split {
  Fragment high, low;
};
DEVICE Split split(const Fragment& f) {
  Split s;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t x = f.x[i];
    // If a loop keeps an operand, this prevents it from keeping the parts too: registers do not hold both.
    asm volatile("" : "+r"(x));
    // Rounded to nearest. Inf, and anything that rounds to Inf, is in `low` alone. `low` meets only the other operand's
    // `high`, which has that operand's sign. For some NaNs `high` is 0, but then `low` is NaN.
    const uint32_t rounded = (x + 0x1000) & 0xFFFFE000;
    s.high.x[i] = __builtin_fabsf(from_bits(rounded)) == __builtin_inff() ? 0 : rounded;
    s.low.x[i] = bits(from_bits(x) - from_bits(s.high.x[i]));
  }
  return s;
}
DEVICE void multiply_tf32(TileC& c, const Fragment& a, uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1));
}

// The form in which products of T take their operands.
template <class T>
using Operand = std::conditional_t<std::is_same_v<T, fp32>, Split, Fragment>;
template <class T>
DEVICE Operand<T> operand(const Fragment& f) {
  if constexpr (std::is_same_v<T, fp32>) return split(f);
  else return f;
}

// c[m][n] += a[m] * b[0] and c[m][n + 1] += a[m] * b[1], where b has two operands B.
template <class T, int Tiles, int Columns>
DEVICE void multiply(TileC (&c)[Tiles][Columns], int n, const Fragment (&a)[Tiles], const Fragment& b, T type) {
#pragma unroll
  for (int m = 0; m < Tiles; ++m) {
    multiply(c[m][n], a[m], b.x[0], b.x[1], type);
    multiply(c[m][n + 1], a[m], b.x[2], b.x[3], type);
  }
}
// For float32: neighbouring instructions do not wait for one another.
template <int Tiles, int Columns>
DEVICE void multiply(TileC (&c)[Tiles][Columns], int n, const Split (&a)[Tiles], const Split& b, fp32) {
  TileC sums[Tiles][2] = {};
  const auto add = [&](Fragment Split::* of_a, Fragment Split::* of_b) {
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int m = 0; m < Tiles; ++m) multiply_tf32(sums[m][j], a[m].*of_a, (b.*of_b).x[2 * j], (b.*of_b).x[2 * j + 1]);
  };
  add(&Split::low, &Split::high);
  add(&Split::high, &Split::low);
  add(&Split::high, &Split::high);
#pragma unroll
  for (int m = 0; m < Tiles; ++m)
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) c[m][n + j][i] += sums[m][j][i];
}

DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Loads four 8 by 8 matrices. Lane l passes the address of the 16 bytes of row l % 8 of matrix l / 8. It receives, in
// x[i], the elements of matrix i at row l / 4, columns 2 (l % 4) and the next.
DEVICE Fragment load_matrices(uint32_t address) {
  Fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3])
               : "r"(address)
               : "memory");
  return f;
}
DEVICE Fragment load_transposed(uint32_t address) {  // rows and columns exchanged
  Fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3])
               : "r"(address)
               : "memory");
  return f;
}

// Starts the copy of 16 bytes from global to shared memory; zeros if not `there`.
DEVICE void copy_async(uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}
DEVICE void copy_async(uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
DEVICE void copy_async_8(uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(there ? 8 : 0) : "memory");
}
DEVICE void copy_async_4(uint32_t to, const void* from, bool there) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(there ? 4 : 0) : "memory");
}
// Waits for the copies that this thread has started. A barrier then completes the copies of all threads.
DEVICE void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The copies that this thread has started since the last group are one group, which may be empty.
DEVICE void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups of this thread but the latest `Rest`.
template <int Rest>
DEVICE void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Rest) : "memory");
}

}  // namespace rapt::nvidia
