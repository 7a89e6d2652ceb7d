// An owning tensor of any type and any strides. Elements are read and written as double, by their row-major index.
// Memory starts as 0xFF bytes, which is NaN in every floating type: gaps between rows poison whatever reads them, and
// show whatever wrote to them. Allocated to the last byte, so that AddressSanitizer sees an access past the end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "rapt/rapt.h"

namespace test {

inline constexpr rapt_dtype kFp16 = {RAPT_FLOAT, 16, 1}, kBf16 = {RAPT_BFLOAT, 16, 1}, kFp32 = {RAPT_FLOAT, 32, 1},
                            kFp64 = {RAPT_FLOAT, 64, 1}, kInt32 = {RAPT_INT, 32, 1}, kBool = {RAPT_BOOL, 8, 1},
                            kUint8 = {RAPT_UINT, 8, 1};

enum class Layout {
  compact,
  heads_first,  // the dimensions before head_dim's neighbour swapped: [batch, seqlen, heads, d] stored as BHSD
  padded,       // gaps everywhere, rows that are not aligned, a byte_offset
};

// Rows (q, k, v, ...) have a contiguous last dimension in every layout; scores (bias, lse, ...) need not.
enum class Last { contiguous, strided };

class Tensor {
 public:
  Tensor() = default;  // absent
  Tensor(rapt_dtype dtype, std::vector<int64_t> shape, Layout layout = Layout::compact, Last last = Last::contiguous);

  explicit operator bool() const { return present_; }
  rapt_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t count() const { return count_; }
  rapt_tensor c() const;  // points into this tensor

  double at(int64_t index) const;
  std::vector<double> values() const;
  void set(int64_t index, double value);
  void fill(const std::function<double(int64_t index)>& value);

  Tensor as(rapt_dtype dtype) const;              // the same values in another type, rounded to nearest even
  bool same_elements(const Tensor& other) const;  // bit for bit
  bool gaps_untouched() const;
  const std::vector<unsigned char>& memory() const { return memory_; }

 private:
  int64_t offset(int64_t index) const;  // in elements
  int64_t bytes() const { return dtype_.bits / 8; }
  template <class Body>
  void each_offset(const Body& body) const;  // body(index, byte offset)

  bool present_ = false;
  rapt_dtype dtype_ = {};
  Layout layout_ = Layout::compact;
  Last last_ = Last::contiguous;
  std::vector<int64_t> shape_, strides_;
  int64_t count_ = 0, start_ = 0;  // start_: elements before the first
  std::vector<unsigned char> memory_;
};

}  // namespace test
