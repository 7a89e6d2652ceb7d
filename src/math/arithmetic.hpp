// Scalar and row arithmetic of the math backend. T is the storage type of a tensor's elements, Acc the type they are
// computed in: float for fp16, bf16 and fp32, double for fp64. The order of every sum depends only on its length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "problem/with_type.hpp"

namespace rapt::math {

template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T, class Acc>
T round_to(Acc value) {
  if constexpr (std::is_same_v<T, Acc>) return value;
  else return T(static_cast<float>(value));
}

template <class Acc, class T>
Acc widen(T value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<Acc>(value);
  else return static_cast<Acc>(static_cast<float>(value));
}

template <class Acc>
Acc load(const char* data, DType dtype, int64_t index) {
  return with_type(dtype,
                   [&]<class T>(std::type_identity<T>) { return widen<Acc>(reinterpret_cast<const T*>(data)[index]); });
}

template <class Acc>
void store(char* data, DType dtype, int64_t index, Acc value) {
  with_type(dtype, [&]<class T>(std::type_identity<T>) { reinterpret_cast<T*>(data)[index] = round_to<T>(value); });
}

template <class T, class Acc>
void load_row(const T* from, int64_t n, Acc* to) {
  for (int64_t x = 0; x < n; ++x) to[x] = widen<Acc>(from[x]);
}

template <class T, class Acc>
void store_row(const Acc* from, int64_t n, T* to) {
  for (int64_t x = 0; x < n; ++x) to[x] = round_to<T>(from[x]);
}

// A sequential sum. Converting in chunks lets the conversion vectorise.
template <class T, class Acc>
Acc dot_in_order(const Acc* a, const T* b, int64_t n) {
  constexpr int64_t kChunk = 32;
  Acc chunk[kChunk], total = 0;
  for (int64_t first = 0; first < n; first += kChunk) {
    const int64_t count = std::min(n - first, kChunk);
    load_row(b + first, count, chunk);
    for (int64_t x = 0; x < count; ++x) total += a[first + x] * chunk[x];
  }
  return total;
}

// A sum of up to 256 elements is sequential, as in the plain formula. A sum in lanes would be several times more
// accurate than any matrix kernel, and no kernel would meet the rule. Longer sums are added in parts, as matrix
// libraries block them: one sequential sum would make the rule too easy to meet.
template <class T, class Acc>
Acc dot(const Acc* a, const T* b, int64_t n) {
  constexpr int64_t kInOrder = 256, kPart = 128;
  if (n <= kInOrder) return dot_in_order(a, b, n);
  Acc total = 0;
  for (int64_t first = 0; first < n; first += kPart)
    total += dot_in_order(a + first, b + first, std::min(n - first, kPart));
  return total;
}

template <class T, class Acc>
void add_scaled(Acc factor, const T* from, int64_t n, Acc* to) {
  for (int64_t x = 0; x < n; ++x) to[x] += factor * widen<Acc>(from[x]);
}

template <class Acc>
void scale_row(Acc factor, int64_t n, Acc* row) {
  for (int64_t x = 0; x < n; ++x) row[x] *= factor;
}

// Pairwise: the error grows with log(n), so lse is exact to float32 for any number of keys.
template <class Acc>
Acc sum(const Acc* values, int64_t n) {
  if (n > 32) return sum(values, n / 2) + sum(values + n / 2, n - n / 2);
  Acc total = 0;
  for (int64_t x = 0; x < n; ++x) total += values[x];
  return total;
}

}  // namespace rapt::math
