// A tensor that owns its memory. Element access is by storage order; strides describe how the library reads it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

class Array {
 public:
  Array() = default;
  // Zeros. `gap` elements follow each row (of the last dimension) and belong to none.
  Array(rapt_dtype dtype, std::vector<int64_t> shape, int64_t gap = 0);

  rapt_dtype dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  int64_t count() const { return count_; }  // of the storage, gaps included
  int64_t gap() const { return gap_; }
  int64_t bytes() const;
  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  double get(int64_t index) const;  // index in storage order
  void set(int64_t index, double value);
  void fill_gaps(double value);
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(count_)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), static_cast<size_t>(count_)};
  }

  // Describes the same storage with two dimensions exchanged: [b, h, s, d] memory as [b, s, h, d].
  void swap_dimensions(size_t a, size_t b);
  void prepend_dimensions(size_t ndim);  // with size 1, up to ndim

  Array converted(rapt_dtype dtype) const;  // same shape and strides, every element rounded once
  Tensor tensor() const;                    // valid while this array neither moves nor ends

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  rapt_dtype dtype_{};
  std::vector<int64_t> shape_, strides_;
  int64_t count_ = 0, gap_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace rapt::cli
