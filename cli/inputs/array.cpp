#include "cli/inputs/array.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "cli/inputs/dtype.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

template <class T>
T read(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void write(unsigned char* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

double decode(const unsigned char* bytes, rapt_dtype dtype) {
  if (same(dtype, kFp32)) return read<float>(bytes);
  if (same(dtype, kFp64)) return read<double>(bytes);
  if (same(dtype, kFp16)) return fp16_to(read<uint16_t>(bytes));
  if (same(dtype, kBf16)) return bf16_to(read<uint16_t>(bytes));
  return same(dtype, kInt32) ? read<int32_t>(bytes) : bytes[0];
}

void encode(double value, unsigned char* bytes, rapt_dtype dtype) {
  if (same(dtype, kFp32)) write(bytes, static_cast<float>(value));
  else if (same(dtype, kFp64)) write(bytes, value);
  else if (same(dtype, kFp16)) write(bytes, fp16_from(value));
  else if (same(dtype, kBf16)) write(bytes, bf16_from(value));
  else if (same(dtype, kInt32)) write(bytes, static_cast<int32_t>(value));
  else bytes[0] = static_cast<unsigned char>(value);
}

// Null for no bytes.
unsigned char* allocate(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  void* memory = nullptr;
  if (bytes > 0 && posix_memalign(&memory, huge ? kHugePage : 64, bytes) != 0)
    throw InputError("no memory for a tensor of " + std::to_string(bytes) + " bytes");
  if (huge) madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<unsigned char*>(memory);
}

}  // namespace

TensorMemory::TensorMemory(size_t size) : bytes_(allocate(size)), size_(size) {
  if (size > 0) std::memset(bytes_, 0xFF, size);
}

TensorMemory::TensorMemory(const TensorMemory& from) : bytes_(allocate(from.size_)), size_(from.size_) {
  if (size_ > 0) std::memcpy(bytes_, from.bytes_, size_);
}

TensorMemory& TensorMemory::swap(TensorMemory& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

bool TensorMemory::operator==(const TensorMemory& other) const {
  return size_ == other.size_ && (size_ == 0 || std::memcmp(bytes_, other.bytes_, size_) == 0);
}

Array::Array(rapt_dtype dtype, std::vector<int64_t> shape, Layout layout, Last last)
    : present_(true), dtype_(dtype), layout_(layout), shape_(std::move(shape)), strides_(shape_.size()) {
  const size_t n = shape_.size();
  std::vector<size_t> order(n);  // from the slowest dimension to the fastest
  for (size_t i = 0; i < n; ++i) order[i] = i;
  const bool swapped = has(layout, Layout::heads_first) && n >= 3, gaps = has(layout, Layout::padded);
  const bool spaces = has(layout, Layout::spaced);
  if (swapped) std::swap(order[n - 3], order[n - 2]);
  row_major_ = !swapped && !gaps && !spaces;
  count_ = 1;
  int64_t stride = gaps && last == Last::strided ? 2 : 1, bytes = 0;
  bool overflow = false;
  for (size_t i = n; i-- > 0;) {
    const size_t dim = order[i];
    strides_[dim] = stride;
    overflow |= __builtin_mul_overflow(stride, std::max<int64_t>(shape_[dim], 1), &stride);
    // Odd and even steps: rows lose their alignment.
    if (gaps) overflow |= __builtin_add_overflow(stride, static_cast<int64_t>(3 + 2 * (n - i)), &stride);
    if (spaces) {
      overflow |= __builtin_add_overflow(stride, int64_t{64 + 15}, &stride);
      stride -= stride % 16;
    }
    overflow |= __builtin_mul_overflow(count_, shape_[dim], &count_);
  }
  overflow |= __builtin_mul_overflow(stride, element_bytes(), &bytes);
  if (overflow) throw InputError("a tensor of shape " + shape_text(shape_) + " exceeds 64 bits");
  start_ = gaps ? 1 : spaces ? 64 : 0;
  const int64_t elements = count_ > 0 ? offset(count_ - 1) + 1 : 0;
  memory_ = TensorMemory(static_cast<size_t>(elements * element_bytes()));
}

int64_t Array::offset(int64_t index) const {
  if (row_major_) return index;
  int64_t at = start_;
  for (size_t i = shape_.size(); i-- > 0; index /= shape_[i]) at += index % shape_[i] * strides_[i];
  return at;
}

template <class Body>
void Array::each_offset(const Body& body) const {
  if (count_ == 0) return;
  const int64_t last = shape_.empty() ? 1 : shape_.back(), step = shape_.empty() ? 1 : strides_.back();
  for (int64_t row = 0; row < count_; row += last) {
    int64_t at = offset(row);
    for (int64_t x = 0; x < last; ++x, at += step) body(row + x, at * element_bytes());
  }
}

double Array::at(int64_t index) const { return decode(memory_.data() + offset(index) * element_bytes(), dtype_); }

double Array::at(std::initializer_list<int64_t> indices) const {
  int64_t at = start_;
  for (size_t d = 0; d < shape_.size(); ++d) at += shape_[d] == 1 ? 0 : indices.begin()[d] * strides_[d];
  return decode(memory_.data() + at * element_bytes(), dtype_);
}

void Array::set(int64_t index, double value) {
  encode(value, memory_.data() + offset(index) * element_bytes(), dtype_);
}

std::vector<double> Array::values() const {
  std::vector<double> out(static_cast<size_t>(count_));
  each_offset([&](int64_t i, int64_t at) { out[static_cast<size_t>(i)] = decode(memory_.data() + at, dtype_); });
  return out;
}

void Array::fill(const std::function<double(int64_t index)>& value) {
  each_offset([&](int64_t i, int64_t at) { encode(value(i), memory_.data() + at, dtype_); });
}

void Array::repeat(int64_t first) {
  if (!row_major_) {
    for (int64_t i = first; i < count_; ++i) set(i, at(i - first));
    return;
  }
  const int64_t block = first * element_bytes();
  for (int64_t at = block; block > 0 && at < bytes(); at += block)
    std::memcpy(data() + at, data(), static_cast<size_t>(std::min(block, bytes() - at)));
}

void Array::swap_dimensions(size_t a, size_t b) {
  std::swap(shape_[a], shape_[b]);
  std::swap(strides_[a], strides_[b]);
  row_major_ = false;
  layout_ = static_cast<Layout>(static_cast<int>(layout_) ^ static_cast<int>(Layout::heads_first));
}

void Array::reverse_dimension(size_t dimension) {
  if (count_ > 0) start_ += (shape_[dimension] - 1) * strides_[dimension];
  strides_[dimension] = -strides_[dimension];
  row_major_ = false;
}

void Array::prepend_dimensions(size_t ndim) {
  while (shape_.size() < ndim) {
    shape_.insert(shape_.begin(), 1);
    strides_.insert(strides_.begin(), count_);
  }
}

Array Array::converted(rapt_dtype dtype) const {
  Array out;
  std::tie(out.present_, out.row_major_, out.dtype_, out.layout_) = std::tuple(present_, row_major_, dtype, layout_);
  std::tie(out.shape_, out.strides_, out.count_, out.start_) = std::tie(shape_, strides_, count_, start_);
  if (!present_) return out;
  const int64_t elements = bytes() / element_bytes();
  out.memory_ = TensorMemory(static_cast<size_t>(elements * out.element_bytes()));
  each_offset([&](int64_t, int64_t at) {
    encode(decode(memory_.data() + at, dtype_), out.memory_.data() + at / element_bytes() * out.element_bytes(), dtype);
  });
  return out;
}

bool Array::gaps_untouched() const {
  if (row_major_) return true;  // there are none
  TensorMemory gaps = memory_;
  each_offset([&](int64_t, int64_t at) { std::memset(gaps.data() + at, 0xFF, static_cast<size_t>(element_bytes())); });
  return gaps == TensorMemory(gaps.size());
}

rapt_tensor Array::c() const {
  rapt_tensor t = {};
  t.data = const_cast<unsigned char*>(memory_.data());
  t.device = kHost;
  t.ndim = static_cast<int32_t>(shape_.size());
  t.dtype = dtype_;
  t.shape = shape_.data();
  t.strides = row_major_ ? nullptr : strides_.data();
  t.byte_offset = static_cast<uint64_t>(first_byte());
  return t;
}

Tensor Array::tensor_in(void* memory, rapt_device device) const {
  return {static_cast<unsigned char*>(memory) + first_byte(), dtype_, shape_, strides_, device};
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace rapt::cli
