// fp16 operands on gfx90a, whose matrix unit takes elements below 2^-14 for zero. What comes from memory is multiplied
// by a power of two on its way to the unit, and the products are divided by it. 2^10 keeps every element.
//
// Operand B, a lane's own row, is raised as far as its largest element allows. Operand A, tiles of other rows, is
// raised by 2^10, or by 2^5 or 1 if the first rows have large elements. Where a later element is then beyond fp16,
// results are not finite: the workgroup runs again, and looks at all rows before it begins. Elements below 2^-25 of the
// largest may be lost.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/keys.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::amd {

template <class T>
inline constexpr bool kRaises = false;

// A factor of operand A, the same in all lanes.
template <class T>
struct Raised {
  template <class... Any>
  DEVICE Raised of(const Any&...) {
    return {};
  }
  DEVICE Raised most() { return {}; }
  template <class Fragments, class Sums>
  DEVICE_MEMBER void follow(const Fragments&, Sums&) {}
  template <class A>
  DEVICE_MEMBER A operator()(A a) const {
    return a;
  }
  template <class A>
  DEVICE_MEMBER A fitting(A a) const {
    return a;
  }
  DEVICE_MEMBER float undo() const { return 1; }
  DEVICE_MEMBER Raised in_vectors() const { return *this; }
};

// Divides products of raised operands by their powers of two.
template <class T, int Tiles>
DEVICE void lower(Tile (&products)[Tiles], float factor) {
  if constexpr (kRaises<T>) {
#pragma unroll
    for (Tile& x : products) x *= factor;
  }
}

#ifdef __gfx90a__
template <>
inline constexpr bool kRaises<fp16> = true;

using Half2 = vec<_Float16, 2>;
DEVICE uint32_t halves(int exponent) { return static_cast<uint32_t>(15 + exponent) * 0x04000400u; }  // 2^exponent twice
DEVICE float power_of_two(int exponent) { return __builtin_bit_cast(float, (127 + exponent) << 23); }
DEVICE Half2 half2(uint32_t x) { return __builtin_bit_cast(Half2, x); }

// The largest of a lane's elements. If `Finite`, Inf and NaN do not count.
template <bool Finite>
class Largest {
 public:
  template <class F>
  DEVICE_MEMBER void add(const F& fragment) {
    const auto words = __builtin_bit_cast(vec<uint32_t, sizeof(F) / 4>, fragment);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(F) / 4); ++i) {
      // If only finite ones count, Inf and NaN become 0 and less than 2^10, other magnitudes 2^10 more than they are.
      const uint32_t size = words[i] & 0x7fff7fffu, x = Finite ? (size + 0x04000400u) & 0x7fff7fffu : size;
      largest_ = __builtin_elementwise_max(largest_, __builtin_bit_cast(Short2, x));
    }
  }
  template <class F, int Count>
  DEVICE_MEMBER void add(const F (&fragments)[Count]) {
#pragma unroll
    for (const F& x : fragments) add(x);
  }
  // As fp16 has it: elements are below 2^(exponent - 14).
  DEVICE_MEMBER int exponent() const {
    const int exponent = static_cast<int>(largest_[0] > largest_[1] ? largest_[0] : largest_[1]) >> 10;
    return Finite ? max(exponent, 1) - 1 : exponent;
  }

 private:
  using Short2 = vec<uint16_t, 2>;
  Short2 largest_ = {};
};
template <class Fragments>
DEVICE int largest_exponent(const Fragments& fragments) {
  Largest<false> all;
  all.add(fragments);
  if (!any_lane(all.exponent() == 31)) return all.exponent();
  Largest<true> finite;
  finite.add(fragments);
  return finite.exponent();
}

template <>
class Raised<fp16> {
 public:
  Raised() = default;
  DEVICE Raised most() { return Raised(0, true); }
  // All fragments are given, and fitting() raises them.
  template <class Fragments>
  DEVICE Raised of(const Fragments& all) {
    return Raised(largest_exponent(all), true);
  }
  // By the largest element of rows. In the first run it is that of a few, and leaves room for elements 8 times as
  // large.
  DEVICE Raised of(bool first_run, const Largest<true>& largest) {
    return Raised(largest.exponent() + (first_run ? 3 : 0), first_run);
  }
  // The same of more fragments, whose products are added to `sums`.
  template <class Fragments, class Sums>
  DEVICE_MEMBER void follow(const Fragments& next, Sums& sums) {
    const Raised less = Raised::of(next);
    if (less.exponent_ >= exponent_) return;
    multiply(sums, power_of_two(less.exponent_ - exponent_));
    *this = less;
  }

  template <class A>
  DEVICE_MEMBER A operator()(A a) const {
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(A) / 4); ++i) {
      const Half2 x = half2(a[i]) * half2(factor_);
      a[i] = __builtin_bit_cast(uint32_t, __builtin_elementwise_fma(x, half2(share_), x));
    }
    return a;
  }
  // The same for products whose results are not finite then: of P or of gradients.
  template <class A>
  DEVICE_MEMBER A fitting(A a) const {
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(A) / 4); ++i)
      a[i] = __builtin_bit_cast(uint32_t, half2(a[i]) * half2(halves(exponent_)));
    return a;
  }
  DEVICE_MEMBER _Float16 operator()(_Float16 x) const {
    return __builtin_bit_cast(Half2, (*this)(u32x2{__builtin_bit_cast(uint16_t, x), 0})[0])[0];
  }
  // The factor that lowers products.
  DEVICE_MEMBER float undo() const { return power_of_two(-exponent_); }
  // The same in vector registers, for kernels that have no scalar ones left.
  DEVICE_MEMBER Raised in_vectors() const {
    Raised x = *this;
    asm volatile("" : "+v"(x.exponent_), "+v"(x.factor_), "+v"(x.share_));
    return x;
  }

 private:
  template <class X>
  DEVICE void multiply(X& x, float factor) {
    x *= factor;
  }
  template <class X, int Count>
  DEVICE void multiply(X (&all)[Count], float factor) {
#pragma unroll
    for (X& x : all) multiply(x, factor);
  }
  // In the first run an Inf less Inf is NaN: x + 0 x. Later all elements fit, and Inf must stay: x / 2 + x / 2.
  DEVICE_MEMBER Raised(int largest, bool first_run)
      : exponent_(any_lane(largest >= 26)   ? 0
                  : any_lane(largest >= 21) ? 5
                                            : 10),
        factor_(halves(exponent_ - !first_run)),
        share_(first_run ? 0 : halves(0)) {}

  int exponent_ = 0;
  uint32_t factor_ = 0, share_ = 0;
};

#endif

// Two tensors whose rows a kernel reads as operand A.
struct OperandRows {
  const char* rows;
  int64_t seq;  // stride in bytes
  int dims;
  int64_t head = 0;  // stride in bytes, if there are several heads
};
template <class T>
struct RaisedPair {
  Raised<T> a, b;
};

// How far rows [begin, end) of each head are raised. The first run looks at eight rows of the first head.
template <class T>
DEVICE RaisedPair<T> raised_pair(bool first_run, const OperandRows& a, const OperandRows& b, int begin, int end,
                                 int lane, int heads = 1) {
#ifdef __gfx90a__
  if constexpr (kRaises<T>) {
    constexpr int kLanes = 16, kOfLane = 8, kRows = kWave / kLanes;  // of a load
    const auto load = [&](const OperandRows& of, int head, int row, int dim, u32x4(&x)[1]) {
      const char* const at = of.rows + head * of.head + min(row + lane / kLanes, end - 1) * of.seq + dim * 2;
      load_fragments<fp16>(at, of.dims - dim, aligned(of.rows, of.head | of.seq), 0, x);
    };
    Largest<true> of_a, of_b;
    const int last_head = first_run ? 1 : heads, last = first_run ? min(begin + 1, end) : end;
#pragma unroll 1
    for (int head = 0; head < last_head; ++head)
#pragma unroll 1
      for (int row = begin; row < last; row += 2 * kRows)
#pragma unroll 1
        for (int dim = lane % kLanes * kOfLane; any_lane(dim < max(a.dims, b.dims)); dim += kLanes * kOfLane) {
          u32x4 x[4][1] = {};  // all on their way together
          load(a, head, row, dim, x[0]), load(a, head, row + kRows, dim, x[1]);
          load(b, head, row, dim, x[2]), load(b, head, row + kRows, dim, x[3]);
          of_a.add(x[0]), of_a.add(x[1]), of_b.add(x[2]), of_b.add(x[3]);
        }
    return {Raised<T>::of(first_run, of_a), Raised<T>::of(first_run, of_b)};
  }
#endif
  return {};
}

// The same of K and V of a block of queries. It finds their rows itself, so that kernels that raise nothing find them
// where they begin to copy them.
template <class T, class Args>
DEVICE RaisedPair<T> raised_keys(Args& a, const Block& block, bool first_run, const Keys& keys, int lane) {
  if constexpr (!kRaises<T>) return {};
  const int head = block.head / a.problem.group;
  return raised_pair<T>(first_run, {first_row_of(a.k, block.batch, block.k, head), a.k.seq, a.problem.head_dim},
                        {first_row_of(a.v, block.batch, block.k, head), a.v.seq, a.problem.head_dim_v}, keys.begin,
                        keys.end, lane);
}

// Raises a row whose parts `Lanes` have. Returns the factor that lowers its products.
template <class T, class Lanes = QueryLanes, class Own, int Steps>
DEVICE float raise_own(Own (&row)[Steps]) {
#ifdef __gfx90a__
  if constexpr (kRaises<T>) {
    const float largest = Lanes::max(static_cast<float>(largest_exponent(row)));
    const int exponent = min(30 - static_cast<int>(largest), 10);
    const Half2 factor = half2(halves(exponent));
#pragma unroll
    for (Own& x : row)
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = __builtin_bit_cast(uint32_t, half2(x[i]) * factor);
    return power_of_two(-exponent);
  }
#endif
  return 1;
}

}  // namespace rapt::amd
