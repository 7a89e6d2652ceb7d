#include "aotriton/call/memory.hpp"

#include <algorithm>
#include <cstdlib>

#include "aotriton/base/failure.hpp"
#include "aotriton/call/tensors.hpp"

namespace rapt::aot {

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  const CurrentDevice current(device_);
  static_cast<void>(hip()->hipFreeAsync(data_, stream_));
}

Error Scratch::allocate(size_t bytes) {
  const CurrentDevice current(device_);
  return hip()->check(hip()->hipMallocAsync(&data_, std::max<size_t>(bytes, 4), stream_), "allocating memory");
}

namespace {

struct Dimension {
  size_t size, stride;  // in bytes
};

// The dimensions around an innermost run of `width` bytes without gaps, in ascending order of stride.
void fill(char* data, size_t width, Dimension* dimensions, int count, HipStream stream) {
  if (count == 0) static_cast<void>(hip()->hipMemsetAsync(data, 255, width, stream));
  else if (count == 1 && dimensions[0].stride >= width)
    static_cast<void>(hip()->hipMemset2DAsync(data, dimensions[0].stride, 255, width, dimensions[0].size, stream));
  else
    for (size_t i = 0; i < dimensions[count - 1].size; ++i)
      fill(data + i * dimensions[count - 1].stride, width, dimensions, count - 1, stream);
}

template <int Rank>
void fill_tensor(const aotriton::TensorView<Rank>& t, HipStream stream) {
  if (!given(t)) return;
  Dimension dimensions[Rank];
  char* first = static_cast<char*>(t.data_ptr());
  const auto bytes = static_cast<size_t>(bytes_of(t.dtype()));
  int count = 0;
  for (int i = 0; i < Rank; ++i)
    if (t.size(i) > 1) {
      const auto stride = static_cast<int64_t>(t.stride(i) * bytes);
      if (stride < 0) first += static_cast<int64_t>(t.size(i) - 1) * stride;
      dimensions[count++] = {t.size(i), static_cast<size_t>(std::abs(stride))};
    }
  std::sort(dimensions, dimensions + count, [](const auto& a, const auto& b) { return a.stride < b.stride; });
  size_t width = bytes;
  int merged = 0;
  for (; merged < count && dimensions[merged].stride == width; ++merged) width *= dimensions[merged].size;
  fill(first, width, dimensions + merged, count - merged, stream);
}

}  // namespace

void fill_nan(const T4& t, HipStream stream) { fill_tensor(t, stream); }
void fill_nan(const T2& t, HipStream stream) { fill_tensor(t, stream); }

}  // namespace rapt::aot
