// A tensor that owns its memory, of any type and any strides. Elements are read and written as double, by their
// row-major index. Memory is initialised to 0xFF bytes, NaN in every floating type: reads of gaps between rows poison
// the result, and writes to them can be detected.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// The memory layout of q, k, v and the results: flags.
enum class Layout {
  compact = 0,
  heads_first = 1,  // the two dimensions before head_dim swapped: [batch, seqlen, heads, d] stored as BHSD
  padded = 2,       // gaps everywhere, rows that are not aligned, a byte offset
  spaced = 4,       // gaps everywhere, of 64 elements or more: rows are aligned
};
constexpr Layout layout_of(bool heads_first, bool padded) {
  return static_cast<Layout>((heads_first ? 1 : 0) | (padded ? 2 : 0));
}
constexpr bool has(Layout layout, Layout flag) { return (static_cast<int>(layout) & static_cast<int>(flag)) != 0; }

// Rows (q, k, v, ...) have a contiguous last dimension in every layout; scores (bias, lse, ...) need not.
enum class Last { contiguous, strided };

// A tensor's bytes, at first all 0xFF. Exactly this many, so that AddressSanitizer sees an access past the end. Large
// blocks ask for huge pages, as NumPy's do. A vector with an allocator of its own would copy byte by byte.
class TensorMemory {
 public:
  TensorMemory() = default;
  explicit TensorMemory(size_t size);
  TensorMemory(const TensorMemory& from);
  TensorMemory(TensorMemory&& from) noexcept { swap(from); }
  TensorMemory& operator=(TensorMemory from) noexcept { return swap(from); }
  ~TensorMemory() { std::free(bytes_); }

  size_t size() const { return size_; }
  unsigned char* data() { return bytes_; }
  const unsigned char* data() const { return bytes_; }
  bool operator==(const TensorMemory& other) const;

 private:
  TensorMemory& swap(TensorMemory& other) noexcept;

  unsigned char* bytes_ = nullptr;
  size_t size_ = 0;
};

class Array {
 public:
  Array() = default;  // absent
  Array(rapt_dtype dtype, std::vector<int64_t> shape, Layout layout = Layout::compact, Last last = Last::contiguous);

  explicit operator bool() const { return present_; }
  rapt_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }  // in elements
  Layout layout() const { return layout_; }
  int64_t count() const { return count_; }
  int64_t bytes() const { return static_cast<int64_t>(memory_.size()); }  // of the memory, gaps included
  std::byte* data() { return reinterpret_cast<std::byte*>(memory_.data()); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(memory_.data()); }
  const std::byte* first() const { return data() + first_byte(); }  // the first element
  const TensorMemory& memory() const { return memory_; }

  double at(int64_t index) const;
  double at(std::initializer_list<int64_t> indices) const;  // one per dimension; a dimension of size 1 takes any index
  void set(int64_t index, double value);
  std::vector<double> values() const;
  void fill(const std::function<double(int64_t index)>& value);
  void repeat(int64_t first);  // repeats the elements before `first` up to the end

  // Describes the same memory with two dimensions exchanged: [b, h, s, d] memory as [b, s, h, d].
  void swap_dimensions(size_t a, size_t b);
  void reverse_dimension(size_t dimension);  // in the same memory: its stride becomes negative
  void prepend_dimensions(size_t ndim);      // with size 1, up to ndim

  Array converted(rapt_dtype dtype) const;  // same shape and strides, every element rounded once
  bool gaps_untouched() const;

  rapt_tensor c() const;  // points into this array
  Tensor tensor() const { return tensor_in(const_cast<unsigned char*>(memory_.data())); }
  Tensor tensor_in(void* memory, rapt_device device = kHost) const;  // where `memory` is a copy of this array's

 private:
  int64_t offset(int64_t index) const;  // in elements
  int64_t first_byte() const { return count_ > 0 ? start_ * element_bytes() : 0; }
  int64_t element_bytes() const { return dtype_.bits / 8; }
  template <class Body>
  void each_offset(const Body& body) const;  // body(index, byte offset)

  bool present_ = false, row_major_ = true;
  rapt_dtype dtype_ = {};
  Layout layout_ = Layout::compact;
  std::vector<int64_t> shape_, strides_;
  int64_t count_ = 0, start_ = 0;  // start_: elements before the first
  TensorMemory memory_;
};

std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace rapt::cli
