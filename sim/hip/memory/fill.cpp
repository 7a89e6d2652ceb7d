// hipMemset in all its forms.
#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/memory/copy.hpp"
#include "sim/hip/stream/stream.hpp"

namespace rapt::sim::hip {

FillWork plain_fill(void* to, std::uint32_t value, unsigned element_size, std::size_t count) {
  return pitched_fill(to, count * element_size, value, element_size, {count, 1, 1}, 0);
}

FillWork pitched_fill(void* to, std::size_t pitch, std::uint32_t value, unsigned element_size, Extent extent,
                      std::size_t slice) {
  FillWork work{to, value, element_size, extent, pitch, slice};
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) {
    work.extent = {0, 0, 0};
    return work;
  }
  need_pointer(to);
  need(element_size == 1 || element_size == 2 || element_size == 4, Error::invalid_value,
       "elements of 1, 2 or 4 bytes");
  need(reinterpret_cast<std::uintptr_t>(to) % element_size == 0, Error::invalid_value, "the target is not aligned");
  std::size_t row = 0, rows = 0, planes = 0, all = 0;
  need(!__builtin_mul_overflow(extent.width, std::size_t{element_size}, &row) &&
           !__builtin_mul_overflow(extent.height - 1, pitch, &rows) &&
           !__builtin_mul_overflow(extent.depth - 1, slice, &planes) && !__builtin_add_overflow(rows, planes, &all) &&
           !__builtin_add_overflow(all, row, &all),
       Error::invalid_value, "more bytes than there are addresses");
  need(extent.height == 1 || pitch >= row, Error::invalid_value, "rows wider than their pitch");
  need_device_range(to, all, "the target is too small or not device memory");
  return work;
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

Error fill_bytes(const char* function, Return when, StreamHandle stream, void* to, std::uint32_t value, unsigned size,
                 std::size_t count) {
  return stream_call(function, when, stream, [&] { return plain_fill(to, value, size, count); });
}

Error fill_2d(const char* function, Return when, StreamHandle stream, void* to, std::size_t pitch, std::uint32_t value,
              unsigned size, std::size_t width, std::size_t height) {
  return stream_call(function, when, stream,
                     [&] { return pitched_fill(to, pitch, value, size, {width, height, 1}, 0); });
}

Error fill_3d(const char* function, Return when, StreamHandle stream, const PitchedPointer& to, int value,
              const Extent& extent) {
  return stream_call(function, when, stream, [&] {
    return pitched_fill(to.pointer, to.pitch, static_cast<unsigned>(value), 1, extent, to.pitch * to.height);
  });
}

using Size = std::size_t;

}  // namespace

RAPT_HIP Error hipMemset(void* to, int value, Size bytes) {
  return fill_bytes(__func__, Return::when_done, nullptr, to, static_cast<unsigned>(value), 1, bytes);
}
RAPT_HIP Error hipMemset_spt(void* to, int value, Size bytes) {
  return fill_bytes(__func__, Return::when_done, own(nullptr), to, static_cast<unsigned>(value), 1, bytes);
}
RAPT_HIP Error hipMemsetAsync(void* to, int value, Size bytes, StreamHandle stream) {
  return fill_bytes(__func__, Return::at_once, stream, to, static_cast<unsigned>(value), 1, bytes);
}
RAPT_HIP Error hipMemsetAsync_spt(void* to, int value, Size bytes, StreamHandle stream) {
  return fill_bytes(__func__, Return::at_once, own(stream), to, static_cast<unsigned>(value), 1, bytes);
}
RAPT_HIP Error hipMemsetD8(void* to, unsigned char value, Size count) {
  return fill_bytes(__func__, Return::when_done, nullptr, to, value, 1, count);
}
RAPT_HIP Error hipMemsetD8Async(void* to, unsigned char value, Size count, StreamHandle stream) {
  return fill_bytes(__func__, Return::at_once, stream, to, value, 1, count);
}
RAPT_HIP Error hipMemsetD16(void* to, unsigned short value, Size count) {
  return fill_bytes(__func__, Return::when_done, nullptr, to, value, 2, count);
}
RAPT_HIP Error hipMemsetD16Async(void* to, unsigned short value, Size count, StreamHandle stream) {
  return fill_bytes(__func__, Return::at_once, stream, to, value, 2, count);
}
RAPT_HIP Error hipMemsetD32(void* to, int value, Size count) {
  return fill_bytes(__func__, Return::when_done, nullptr, to, static_cast<unsigned>(value), 4, count);
}
RAPT_HIP Error hipMemsetD32Async(void* to, int value, Size count, StreamHandle stream) {
  return fill_bytes(__func__, Return::at_once, stream, to, static_cast<unsigned>(value), 4, count);
}

RAPT_HIP Error hipMemset2D(void* to, Size pitch, int value, Size width, Size height) {
  return fill_2d(__func__, Return::when_done, nullptr, to, pitch, static_cast<unsigned>(value), 1, width, height);
}
RAPT_HIP Error hipMemset2D_spt(void* to, Size pitch, int value, Size width, Size height) {
  return fill_2d(__func__, Return::when_done, own(nullptr), to, pitch, static_cast<unsigned>(value), 1, width, height);
}
RAPT_HIP Error hipMemset2DAsync(void* to, Size pitch, int value, Size width, Size height, StreamHandle stream) {
  return fill_2d(__func__, Return::at_once, stream, to, pitch, static_cast<unsigned>(value), 1, width, height);
}
RAPT_HIP Error hipMemset2DAsync_spt(void* to, Size pitch, int value, Size width, Size height, StreamHandle stream) {
  return fill_2d(__func__, Return::at_once, own(stream), to, pitch, static_cast<unsigned>(value), 1, width, height);
}
RAPT_HIP Error hipMemsetD2D8(void* to, Size pitch, unsigned char value, Size width, Size height) {
  return fill_2d(__func__, Return::when_done, nullptr, to, pitch, value, 1, width, height);
}
RAPT_HIP Error hipMemsetD2D8Async(void* to, Size pitch, unsigned char value, Size width, Size height, StreamHandle s) {
  return fill_2d(__func__, Return::at_once, s, to, pitch, value, 1, width, height);
}
RAPT_HIP Error hipMemsetD2D16(void* to, Size pitch, unsigned short value, Size width, Size height) {
  return fill_2d(__func__, Return::when_done, nullptr, to, pitch, value, 2, width, height);
}
RAPT_HIP Error hipMemsetD2D16Async(void* to, Size pitch, unsigned short value, Size width, Size height,
                                   StreamHandle s) {
  return fill_2d(__func__, Return::at_once, s, to, pitch, value, 2, width, height);
}
RAPT_HIP Error hipMemsetD2D32(void* to, Size pitch, unsigned value, Size width, Size height) {
  return fill_2d(__func__, Return::when_done, nullptr, to, pitch, value, 4, width, height);
}
RAPT_HIP Error hipMemsetD2D32Async(void* to, Size pitch, unsigned value, Size width, Size height, StreamHandle s) {
  return fill_2d(__func__, Return::at_once, s, to, pitch, value, 4, width, height);
}

RAPT_HIP Error hipMemset3D(PitchedPointer to, int value, Extent extent) {
  return fill_3d(__func__, Return::when_done, nullptr, to, value, extent);
}
RAPT_HIP Error hipMemset3D_spt(PitchedPointer to, int value, Extent extent) {
  return fill_3d(__func__, Return::when_done, own(nullptr), to, value, extent);
}
RAPT_HIP Error hipMemset3DAsync(PitchedPointer to, int value, Extent extent, StreamHandle stream) {
  return fill_3d(__func__, Return::at_once, stream, to, value, extent);
}
RAPT_HIP Error hipMemset3DAsync_spt(PitchedPointer to, int value, Extent extent, StreamHandle stream) {
  return fill_3d(__func__, Return::at_once, own(stream), to, value, extent);
}
