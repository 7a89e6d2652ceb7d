// Copies in one dimension, and the checks of all copies.
#include "sim/hip/memory/copy.hpp"

#include "sim/hip/memory/allocation.hpp"
#include "sim/hip/graph/capture.hpp"
#include "sim/hip/stream/stream.hpp"

namespace rapt::sim::hip {

namespace {

// The bytes from the first to past the last one of a pitched volume; fails if there cannot be as many.
std::size_t reach(const Extent& extent, std::size_t pitch, std::size_t slice) {
  std::size_t planes = 0, rows = 0, all = 0;
  need(!__builtin_mul_overflow(extent.depth - 1, slice, &planes) &&
           !__builtin_mul_overflow(extent.height - 1, pitch, &rows) && !__builtin_add_overflow(planes, rows, &all) &&
           !__builtin_add_overflow(all, extent.width, &all),
       Error::invalid_value, "more bytes than there are addresses");
  return all;
}

void check_kind(const CopyWork& work) {
  const int kind = static_cast<int>(work.kind);
  need((kind >= 0 && kind <= 4) || work.kind == CopyKind::device_to_device_no_cu, Error::invalid_memcpy_direction,
       "unknown direction");
  const bool to_device = kind == 1 || kind == 3 || kind > 4, from_device = kind >= 2 && kind != 4;
  need(!to_device || find_allocation(work.to) != nullptr, Error::invalid_value, "the target is not device memory");
  need(!from_device || find_allocation(work.from) != nullptr, Error::invalid_value, "the source is not device memory");
}

CopyWork checked(CopyWork work) {
  if (work.extent.width == 0 || work.extent.height == 0 || work.extent.depth == 0) {
    work.extent = {0, 0, 0};
    return work;
  }
  need(work.to != nullptr && work.from != nullptr, Error::invalid_value, "null pointer");
  check_kind(work);
  need_range(work.to, reach(work.extent, work.to_pitch, work.to_slice), "the target is too small or not there");
  need_range(work.from, reach(work.extent, work.from_pitch, work.from_slice), "the source is too small or not there");
  return work;
}

}  // namespace

CopyWork plain_copy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  return checked({to, from, {bytes, 1, 1}, bytes, bytes, bytes, bytes, kind});
}

CopyWork pitched_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, CopyKind kind) {
  if (width != 0 && height != 0)
    need(to_pitch >= width && from_pitch >= width, Error::invalid_pitch_value, "rows wider than their pitch");
  return checked({to, from, {width, height, 1}, to_pitch, 0, from_pitch, 0, kind});
}

CopyWork volume_copy(const Copy3D& p) {
  need(p.from_array == nullptr && p.to_array == nullptr, Error::not_supported,
       "arrays are images, which there are none of");
  need_pointer(p.from.pointer);
  need_pointer(p.to.pointer);
  if (p.extent.width != 0 && p.extent.height != 0 && p.extent.depth != 0)
    need(p.to.pitch >= p.extent.width && p.from.pitch >= p.extent.width, Error::invalid_pitch_value,
         "rows wider than their pitch");
  const auto offset = [](const PitchedPointer& from, const Position& at) {
    return (at.z * from.height + at.y) * from.pitch + at.x;
  };
  return checked({static_cast<char*>(p.to.pointer) + offset(p.to, p.to_position),
                  static_cast<const char*>(p.from.pointer) + offset(p.from, p.from_position), p.extent, p.to.pitch,
                  p.to.pitch * p.to.height, p.from.pitch, p.from.pitch * p.from.height, p.kind});
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

Error copy(const char* function, void* to, const void* from, std::size_t bytes, CopyKind kind,
           StreamHandle stream = nullptr) {
  return stream_call(function, Return::when_done, stream, [&] { return plain_copy(to, from, bytes, kind); });
}

Error copy_later(const char* function, void* to, const void* from, std::size_t bytes, CopyKind kind,
                 StreamHandle stream) {
  return stream_call(function, Return::at_once, stream, [&] { return plain_copy(to, from, bytes, kind); });
}

}  // namespace

RAPT_HIP Error hipMemcpy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  return copy(__func__, to, from, bytes, kind);
}
RAPT_HIP Error hipMemcpy_spt(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  return copy(__func__, to, from, bytes, kind, own(nullptr));
}
RAPT_HIP Error hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, CopyKind kind, StreamHandle stream) {
  return copy(__func__, to, from, bytes, kind, stream);
}
RAPT_HIP Error hipMemcpyHtoD(void* to, const void* from, std::size_t bytes) {
  return copy(__func__, to, from, bytes, CopyKind::host_to_device);
}
RAPT_HIP Error hipMemcpyDtoH(void* to, void* from, std::size_t bytes) {
  return copy(__func__, to, from, bytes, CopyKind::device_to_host);
}
RAPT_HIP Error hipMemcpyDtoD(void* to, void* from, std::size_t bytes) {
  return copy(__func__, to, from, bytes, CopyKind::device_to_device);
}
RAPT_HIP Error hipMemcpyAsync(void* to, const void* from, std::size_t bytes, CopyKind kind, StreamHandle stream) {
  return copy_later(__func__, to, from, bytes, kind, stream);
}
RAPT_HIP Error hipMemcpyAsync_spt(void* to, const void* from, std::size_t bytes, CopyKind kind, StreamHandle stream) {
  return copy_later(__func__, to, from, bytes, kind, own(stream));
}
RAPT_HIP Error hipMemcpyHtoDAsync(void* to, const void* from, std::size_t bytes, StreamHandle stream) {
  return copy_later(__func__, to, from, bytes, CopyKind::host_to_device, stream);
}
RAPT_HIP Error hipMemcpyDtoHAsync(void* to, void* from, std::size_t bytes, StreamHandle stream) {
  return copy_later(__func__, to, from, bytes, CopyKind::device_to_host, stream);
}
RAPT_HIP Error hipMemcpyDtoDAsync(void* to, void* from, std::size_t bytes, StreamHandle stream) {
  return copy_later(__func__, to, from, bytes, CopyKind::device_to_device, stream);
}

namespace {

CopyWork peer_copy(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  Runtime::get().device(to_device);
  Runtime::get().device(from_device);
  return plain_copy(to, from, bytes, CopyKind::device_to_device);
}

}  // namespace

RAPT_HIP Error hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  return stream_call(__func__, Return::when_done, nullptr,
                     [&] { return peer_copy(to, to_device, from, from_device, bytes); });
}

RAPT_HIP Error hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                  StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream,
                     [&] { return peer_copy(to, to_device, from, from_device, bytes); });
}
