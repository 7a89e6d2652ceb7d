#include "support/tensor.hpp"

#include <algorithm>
#include <cstring>

#include "support/format.hpp"

namespace test {

Tensor::Tensor(rapt_dtype dtype, std::vector<int64_t> shape, Layout layout, Last last)
    : present_(true), dtype_(dtype), layout_(layout), last_(last), shape_(std::move(shape)), strides_(shape_.size()) {
  const int n = static_cast<int>(shape_.size());
  std::vector<int> order(n);  // from the slowest dimension to the fastest
  for (int i = 0; i < n; ++i) order[i] = i;
  if (layout == Layout::heads_first && n >= 3) std::swap(order[n - 3], order[n - 2]);
  const bool gaps = layout == Layout::padded;
  count_ = 1;
  int64_t stride = gaps && last == Last::strided ? 2 : 1;
  for (int i = n - 1; i >= 0; --i) {
    const int dim = order[i];
    strides_[dim] = stride;
    stride *= std::max<int64_t>(shape_[dim], 1);
    if (gaps) stride += 3 + 2 * (n - i);  // odd and even steps: rows lose their alignment
    count_ *= shape_[dim];
  }
  start_ = gaps ? 1 : 0;
  int64_t elements = count_ > 0 ? offset(count_ - 1) + 1 : 0;
  memory_.assign(static_cast<size_t>(elements * bytes()), 0xFF);
}

rapt_tensor Tensor::c() const {
  rapt_tensor t = {};
  t.data = const_cast<unsigned char*>(memory_.data());
  t.device = {RAPT_CPU, 0};
  t.ndim = static_cast<int32_t>(shape_.size());
  t.dtype = dtype_;
  t.shape = shape_.data();
  t.strides = layout_ == Layout::compact ? nullptr : strides_.data();
  t.byte_offset = static_cast<uint64_t>(count_ > 0 ? start_ * bytes() : 0);
  return t;
}

int64_t Tensor::offset(int64_t index) const {
  int64_t at = start_;
  for (size_t i = shape_.size(); i-- > 0; index /= shape_[i]) at += index % shape_[i] * strides_[i];
  return at;
}

double Tensor::at(int64_t index) const { return decode(memory_.data() + offset(index) * bytes(), dtype_); }

template <class Body>
void Tensor::each_offset(const Body& body) const {
  if (count_ == 0) return;
  const int64_t last = shape_.back(), step = strides_.back();
  for (int64_t row = 0; row < count_; row += last) {
    int64_t at = offset(row);
    for (int64_t x = 0; x < last; ++x, at += step) body(row + x, at * bytes());
  }
}

std::vector<double> Tensor::values() const {
  std::vector<double> out(static_cast<size_t>(count_));
  each_offset([&](int64_t i, int64_t at) { out[static_cast<size_t>(i)] = decode(memory_.data() + at, dtype_); });
  return out;
}

void Tensor::set(int64_t index, double value) { encode(value, memory_.data() + offset(index) * bytes(), dtype_); }

void Tensor::fill(const std::function<double(int64_t index)>& value) {
  each_offset([&](int64_t i, int64_t at) { encode(value(i), memory_.data() + at, dtype_); });
}

Tensor Tensor::as(rapt_dtype dtype) const {
  if (!present_) return {};
  Tensor out(dtype, shape_, layout_, last_);
  const std::vector<double> all = values();
  out.fill([&](int64_t i) { return all[static_cast<size_t>(i)]; });
  return out;
}

bool Tensor::same_elements(const Tensor& other) const {
  if (shape_ != other.shape_ || bytes() != other.bytes()) return false;
  for (int64_t i = 0; i < count_; ++i)
    if (std::memcmp(memory_.data() + offset(i) * bytes(), other.memory_.data() + other.offset(i) * bytes(),
                    static_cast<size_t>(bytes())) != 0)
      return false;
  return true;
}

bool Tensor::gaps_untouched() const {
  std::vector<unsigned char> gaps = memory_;
  each_offset([&](int64_t, int64_t at) { std::memset(gaps.data() + at, 0xFF, static_cast<size_t>(bytes())); });
  return std::all_of(gaps.begin(), gaps.end(), [](unsigned char byte) { return byte == 0xFF; });
}

}  // namespace test
