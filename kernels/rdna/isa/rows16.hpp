// Products with 16 rows of q (amd/isa/rows16.hpp): a wave's tile on RDNA.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

using Result16 = Tile;  // register r of lane l is row 8 * (l / 16) + r of A, column l % 16
inline constexpr int kQueryLanes = 2;

// Blocks of 16 keys. Lane l has 16 of a row's 32 bytes, from 16 * (l / 16) on. On RDNA3 the halves exchange theirs
// before a product, which costs less than the registers of whole fragments.
template <class T>
struct Rows16 {
  using M = Matrix<T>;
  using A = u32x4;
  using B = u32x4;
  static constexpr int step = 16, keys = 16, products = 1, scores = 8, steps = 1;
  DEVICE int a_offset(int lane) { return lane / 16 * 16; }
  DEVICE int b_offset(int lane) { return lane / 16 * 16; }
  DEVICE int column(int lane) { return M::unslot(lane % 16); }
  DEVICE int result_row(int r, int lane) { return M::element(r, lane / 16); }
  DEVICE int key_row(int, int lane) { return M::unslot(lane % 16); }
  DEVICE int value_row(int i, int lane) { return lane / 16 * 8 + i; }
  DEVICE B weights(const float (&p)[scores], int) {
    return {T::pack_p(p[0], p[1]), T::pack_p(p[2], p[3]), T::pack_p(p[4], p[5]), T::pack_p(p[6], p[7])};
  }
  DEVICE Result16 multiply(A a, B b, Result16 c) {
    c = M::multiply(M::whole(a), M::whole(b), c);
    // Otherwise the compiler makes the operands of all products first and runs out of registers.
    __builtin_amdgcn_sched_barrier(0);
    return c;
  }
};

// As in wmma.hpp, A's rows belong to the lane's half, and each lane has whole columns of B.
template <>
struct Rows16<fp32> {
  using M = Matrix<fp32>;
  using A = M::A;
  using B = M::B;
  static constexpr int step = 8, keys = 16, products = 1, scores = 8, steps = 2;
  DEVICE int a_offset(int lane) { return M::a_offset(lane); }
  DEVICE int b_offset(int) { return 0; }
  DEVICE int column(int lane) { return M::a_row(lane); }
  DEVICE int result_row(int r, int lane) { return M::element(r, lane / 16); }
  DEVICE int key_row(int, int lane) { return M::a_row(lane); }
  DEVICE int value_row(int i, int lane) { return i / 4 * 8 + (lane & 8) / 2 + i % 4; }
  DEVICE B weights(const float (&p)[scores], int part) {
    return M::operand(Tile{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7]}, part);
  }
  DEVICE Result16 multiply(A a, B b, Result16 c) { return M::multiply(a, b, c); }
};

}  // namespace rapt::amd
