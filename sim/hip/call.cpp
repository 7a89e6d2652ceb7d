// The pieces of a <<<>>> launch: the compiler pushes the configuration, and its stub pops it.
#include "sim/hip/module/launch.hpp"
#include "sim/hip/stream/stream.hpp"

#include <cstring>

using namespace rapt::sim::hip;

RAPT_HIP Error __hipPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t lds, StreamHandle stream) {
  thread().configurations.push_back({grid, block, lds, stream, {}});
  return Error::success;
}

RAPT_HIP Error __hipPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* lds, StreamHandle* stream) {
  auto& stack = thread().configurations;
  if (stack.empty()) return Error::missing_configuration;
  if (grid != nullptr) *grid = stack.back().grid;
  if (block != nullptr) *block = stack.back().block;
  if (lds != nullptr) *lds = stack.back().dynamic_lds;
  if (stream != nullptr) *stream = stack.back().stream;
  stack.pop_back();
  return Error::success;
}

RAPT_HIP Error hipConfigureCall(Dim3 grid, Dim3 block, std::size_t lds, StreamHandle stream) {
  return api(__func__, [&] { return __hipPushCallConfiguration(grid, block, lds, stream); });
}

RAPT_HIP Error hipSetupArgument(const void* argument, std::size_t size, std::size_t offset) {
  return api(__func__, [&] {
    need_pointer(argument);
    auto& stack = thread().configurations;
    need(!stack.empty(), Error::missing_configuration, "no call is configured");
    need(offset < 1U << 16 && size < 1U << 16, Error::invalid_value, "too many bytes of arguments");
    auto& bytes = stack.back().arguments;
    if (bytes.size() < offset + size) bytes.resize(offset + size);
    std::memcpy(bytes.data() + offset, argument, size);
    return Error::success;
  });
}

RAPT_HIP Error hipLaunchByPtr(const void* function) {
  return api(__func__, [&] {
    auto& stack = thread().configurations;
    need(!stack.empty(), Error::missing_configuration, "no call is configured");
    CallConfiguration call = std::move(stack.back());
    stack.pop_back();
    const auto on = find_stream(call.stream);
    std::size_t size = call.arguments.size();
    void* extra[] = {reinterpret_cast<void*>(extra_pointer), call.arguments.data(), reinterpret_cast<void*>(extra_size),
                     &size, reinterpret_cast<void*>(extra_end)};
    submit(on, make_launch(find_host_function(function, on->device), {call.grid, call.block, call.dynamic_lds}, nullptr,
                           extra));
    return Error::success;
  });
}
