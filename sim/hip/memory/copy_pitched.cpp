// Copies in two and three dimensions.
#include "sim/hip/memory/copy.hpp"
#include "sim/hip/stream/stream.hpp"
#include "sim/hip/version.hpp"

using namespace rapt::sim::hip;

namespace {

// The host or the device pointer, as the release's memory type says.
template <typename Pointer>
Pointer choose(int type, Pointer host, Pointer device) {
  if (major == 5) {
    need(type == rocm5::memory_host || type == rocm5::memory_device || type == rocm5::memory_unified,
         Error::not_supported, "arrays are images, which there are none of");
    return type == rocm5::memory_host ? host : device;
  }
  need(type == rocm6::memory_host || type == rocm6::memory_device || type == rocm6::memory_unified ||
           type == rocm6::memory_managed,
       Error::not_supported, "arrays are images, which there are none of");
  return type == rocm6::memory_host ? host : device;
}

CopyWork make(const DriverCopy2D* p) {
  need_pointer(p);
  auto* to = static_cast<char*>(choose(p->to_type, p->to_host, p->to_device));
  const auto* from = static_cast<const char*>(choose<const void*>(p->from_type, p->from_host, p->from_device));
  need_pointer(to);
  need_pointer(from);
  const std::size_t to_pitch = p->to_pitch == 0 ? p->width + p->to_x : p->to_pitch;
  const std::size_t from_pitch = p->from_pitch == 0 ? p->width + p->from_x : p->from_pitch;
  need(p->width + p->to_x <= to_pitch && p->width + p->from_x <= from_pitch, Error::invalid_value,
       "rows wider than their pitch");
  return pitched_copy(to + p->to_y * to_pitch + p->to_x, to_pitch, from + p->from_y * from_pitch + p->from_x,
                      from_pitch, p->width, p->height, CopyKind::automatic);
}

template <typename Size>
CopyWork make(const void* parameters) {
  need_pointer(parameters);
  const auto& p = *static_cast<const DriverCopy3D<Size>*>(parameters);
  Copy3D copy{};
  copy.to = {choose(p.to_type, p.to_host, p.to_device), p.to_pitch, p.width, p.to_height};
  copy.from = {choose(p.from_type, const_cast<void*>(p.from_host), p.from_device), p.from_pitch, p.width,
               p.from_height};
  copy.to_position = {p.to_x, p.to_y, p.to_z};
  copy.from_position = {p.from_x, p.from_y, p.from_z};
  copy.extent = {p.width, p.height, p.depth};
  copy.kind = CopyKind::automatic;
  return volume_copy(copy);
}

CopyWork make_driver_3d(const void* p) { return major == 5 ? make<unsigned>(p) : make<std::size_t>(p); }

CopyWork make(const Copy3D* p) {
  need_pointer(p);
  return volume_copy(*p);
}

}  // namespace

RAPT_HIP Error hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                           std::size_t height, CopyKind kind) {
  return stream_call(__func__, Return::when_done, nullptr,
                     [&] { return pitched_copy(to, to_pitch, from, from_pitch, width, height, kind); });
}
RAPT_HIP Error hipMemcpy2D_spt(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                               std::size_t width, std::size_t height, CopyKind kind) {
  return stream_call(__func__, Return::when_done, own(nullptr),
                     [&] { return pitched_copy(to, to_pitch, from, from_pitch, width, height, kind); });
}
RAPT_HIP Error hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                std::size_t width, std::size_t height, CopyKind kind, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream,
                     [&] { return pitched_copy(to, to_pitch, from, from_pitch, width, height, kind); });
}
RAPT_HIP Error hipMemcpy2DAsync_spt(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                    std::size_t width, std::size_t height, CopyKind kind, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, own(stream),
                     [&] { return pitched_copy(to, to_pitch, from, from_pitch, width, height, kind); });
}
RAPT_HIP Error hipMemcpyParam2D(const DriverCopy2D* p) {
  return stream_call(__func__, Return::when_done, nullptr, [&] { return make(p); });
}
RAPT_HIP Error hipDrvMemcpy2DUnaligned(const DriverCopy2D* p) {
  return stream_call(__func__, Return::when_done, nullptr, [&] { return make(p); });
}
RAPT_HIP Error hipMemcpyParam2DAsync(const DriverCopy2D* p, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream, [&] { return make(p); });
}
RAPT_HIP Error hipMemcpy3D(const Copy3D* p) {
  return stream_call(__func__, Return::when_done, nullptr, [&] { return make(p); });
}
RAPT_HIP Error hipMemcpy3D_spt(const Copy3D* p) {
  return stream_call(__func__, Return::when_done, own(nullptr), [&] { return make(p); });
}
RAPT_HIP Error hipMemcpy3DAsync(const Copy3D* p, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream, [&] { return make(p); });
}
RAPT_HIP Error hipMemcpy3DAsync_spt(const Copy3D* p, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, own(stream), [&] { return make(p); });
}
RAPT_HIP Error hipDrvMemcpy3D(const void* p) {
  return stream_call(__func__, Return::when_done, nullptr, [&] { return make_driver_3d(p); });
}
RAPT_HIP Error hipDrvMemcpy3DAsync(const void* p, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream, [&] { return make_driver_3d(p); });
}
