// __device__ variables, named by their host variables.
#include "sim/hip/memory/copy.hpp"
#include "sim/hip/stream/stream.hpp"

using namespace rapt::sim::hip;

namespace {

CopyWork to_symbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, CopyKind kind) {
  need_pointer(from);
  need(kind == CopyKind::host_to_device || kind == CopyKind::device_to_device || kind == CopyKind::automatic,
       Error::invalid_memcpy_direction, "a variable of the device is the target");
  return plain_copy(variable_part(symbol, offset, bytes), from, bytes, kind);
}

CopyWork from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, CopyKind kind) {
  need_pointer(to);
  need(kind == CopyKind::device_to_host || kind == CopyKind::device_to_device || kind == CopyKind::automatic,
       Error::invalid_memcpy_direction, "a variable of the device is the source");
  return plain_copy(to, variable_part(symbol, offset, bytes), bytes, kind);
}

}  // namespace

RAPT_HIP Error hipGetSymbolAddress(void** pointer, const void* symbol) {
  return api(__func__, [&] {
    need_pointer(pointer);
    *pointer = find_variable(symbol).address;
    return Error::success;
  });
}

RAPT_HIP Error hipGetSymbolSize(std::size_t* size, const void* symbol) {
  return api(__func__, [&] {
    need_pointer(size);
    *size = find_variable(symbol).size;
    return Error::success;
  });
}

RAPT_HIP Error hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                 CopyKind kind) {
  return stream_call(__func__, Return::when_done, nullptr,
                     [&] { return to_symbol(symbol, from, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyToSymbol_spt(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                     CopyKind kind) {
  return stream_call(__func__, Return::when_done, own(nullptr),
                     [&] { return to_symbol(symbol, from, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                      CopyKind kind, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream, [&] { return to_symbol(symbol, from, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyToSymbolAsync_spt(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                          CopyKind kind, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, own(stream),
                     [&] { return to_symbol(symbol, from, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, CopyKind kind) {
  return stream_call(__func__, Return::when_done, nullptr,
                     [&] { return from_symbol(to, symbol, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyFromSymbol_spt(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                       CopyKind kind) {
  return stream_call(__func__, Return::when_done, own(nullptr),
                     [&] { return from_symbol(to, symbol, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                        CopyKind kind, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, stream, [&] { return from_symbol(to, symbol, bytes, offset, kind); });
}
RAPT_HIP Error hipMemcpyFromSymbolAsync_spt(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                            CopyKind kind, StreamHandle stream) {
  return stream_call(__func__, Return::at_once, own(stream),
                     [&] { return from_symbol(to, symbol, bytes, offset, kind); });
}
