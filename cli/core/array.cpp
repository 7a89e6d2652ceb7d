#include "cli/core/array.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "cli/core/dtype.hpp"
#include "cli/core/error.hpp"

namespace rapt::cli {

Array::Array(rapt_dtype dtype, std::vector<int64_t> shape, int64_t gap)
    : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size()), gap_(gap) {
  int64_t count = 1, bytes = 0;
  bool overflow = false;
  for (size_t i = shape_.size(); i-- > 0;) {
    strides_[i] = count;
    overflow |= __builtin_mul_overflow(count, shape_[i] + (i + 1 == shape_.size() ? gap_ : 0), &count);
  }
  overflow |= __builtin_mul_overflow(count, bytes_of(dtype), &bytes);
  if (overflow) throw InputError(fmt::format("a tensor of shape {} exceeds 64 bits", shape_text(shape_)));
  count_ = count;
  // Large arrays ask for huge pages, as NumPy's do.
  constexpr int64_t kHugePage = int64_t{2} << 20;
  const int64_t alignment = bytes >= 2 * kHugePage ? kHugePage : 64;
  const int64_t padded = (bytes / alignment + 1) * alignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, padded)));
  if (!data_) throw InputError(fmt::format("no memory for a tensor of {} bytes", bytes));
  if (alignment == kHugePage) madvise(data_.get(), padded, MADV_HUGEPAGE);
  std::memset(data_.get(), 0, padded);
}

int64_t Array::bytes() const { return count_ * bytes_of(dtype_); }

double Array::get(int64_t i) const {
  if (same(dtype_, kFp32)) return as<float>()[i];
  if (same(dtype_, kFp64)) return as<double>()[i];
  if (same(dtype_, kFp16)) return fp16_to(as<uint16_t>()[i]);
  if (same(dtype_, kBf16)) return bf16_to(as<uint16_t>()[i]);
  return same(dtype_, kInt32) ? as<int32_t>()[i] : as<uint8_t>()[i];
}

void Array::set(int64_t i, double value) {
  if (same(dtype_, kFp32)) as<float>()[i] = static_cast<float>(value);
  else if (same(dtype_, kFp64)) as<double>()[i] = value;
  else if (same(dtype_, kFp16)) as<uint16_t>()[i] = fp16_from(value);
  else if (same(dtype_, kBf16)) as<uint16_t>()[i] = bf16_from(value);
  else if (same(dtype_, kInt32)) as<int32_t>()[i] = static_cast<int32_t>(value);
  else as<uint8_t>()[i] = static_cast<uint8_t>(value);
}

void Array::fill_gaps(double value) {
  if (gap_ == 0) return;
  const int64_t row = shape_.back() + gap_;
  for (int64_t first = 0; first < count_; first += row)
    for (int64_t i = shape_.back(); i < row; ++i) set(first + i, value);
}

void Array::swap_dimensions(size_t a, size_t b) {
  std::swap(shape_[a], shape_[b]);
  std::swap(strides_[a], strides_[b]);
}

void Array::prepend_dimensions(size_t ndim) {
  while (shape_.size() < ndim) {
    shape_.insert(shape_.begin(), 1);
    strides_.insert(strides_.begin(), count_);
  }
}

Array Array::converted(rapt_dtype dtype) const {
  Array result(dtype, {count_});
  for (int64_t i = 0; i < count_; ++i) result.set(i, get(i));
  result.shape_ = shape_;
  result.strides_ = strides_;
  result.gap_ = gap_;
  return result;
}

Tensor Array::tensor() const { return {data_.get(), dtype_, shape_, strides_}; }

std::string shape_text(const std::vector<int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace rapt::cli
