// Launches of kernels.
#include "sim/hip/module/launch.hpp"

#include "sim/hip/stream/event.hpp"
#include "sim/hip/handles.hpp"
#include "sim/hip/stream/stream.hpp"

using namespace rapt::sim::hip;

namespace {

struct Events {
  EventHandle before = nullptr, after = nullptr;
};

void record(const std::shared_ptr<Stream>& stream, EventHandle event) {
  if (event != nullptr)
    submit(stream, RecordWork{handles<Event>().need(event, Error::invalid_handle, "no such event")});
}

// `make` gives the work for the stream's device.
template <typename Make>
Error launch(const char* function, StreamHandle stream, Make&& make, bool cooperative = false, Events events = {}) {
  return api(function, [&] {
    const auto on = find_stream(stream);
    on->device.check();
    KernelWork work = make(on->device);
    need(work.function->device == on->device.id, Error::invalid_device, "the function is loaded for another device");
    if (cooperative) check_cooperative(work, on->device);
    record(on, events.before);
    submit(on, std::move(work));
    record(on, events.after);
    return Error::success;
  });
}

template <typename... Rest>
Error launch_function(const char* name, FunctionHandle function, const LaunchShape& shape, StreamHandle stream,
                      void** arguments, void** extra, Rest... rest) {
  return launch(
      name, stream, [&](Device&) { return make_launch(find_function(function), shape, arguments, extra); }, rest...);
}

template <typename... Rest>
Error launch_host(const char* name, const void* function, const LaunchShape& shape, StreamHandle stream,
                  void** arguments, Rest... rest) {
  return launch(
      name, stream,
      [&](Device& device) { return make_launch(find_host_function(function, device), shape, arguments, nullptr); },
      rest...);
}

bool asks_cooperative(const LaunchAttribute* attributes, unsigned count) {
  for (unsigned i = 0; attributes != nullptr && i < count; i++)
    if (attributes[i].id == launch_cooperative && attributes[i].value.cooperative != 0) return true;
  return false;
}

Error launch_ragged(const char* name, FunctionHandle function, Dim3 items, Dim3 block, std::size_t lds,
                    StreamHandle stream, void** arguments, void** extra, Events events) {
  return launch(
      name, stream,
      [&](Device&) { return make_ragged_launch(find_function(function), items, block, lds, arguments, extra); }, false,
      events);
}

}  // namespace

RAPT_HIP Error hipModuleLaunchKernel(FunctionHandle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz, unsigned lds, StreamHandle stream, void** arguments,
                                     void** extra) {
  return launch_function(__func__, function, {{gx, gy, gz}, {bx, by, bz}, lds}, stream, arguments, extra);
}

RAPT_HIP Error hipModuleLaunchCooperativeKernel(FunctionHandle function, unsigned gx, unsigned gy, unsigned gz,
                                                unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                                StreamHandle stream, void** arguments) {
  return launch_function(__func__, function, {{gx, gy, gz}, {bx, by, bz}, lds}, stream, arguments, nullptr, true);
}

RAPT_HIP Error hipModuleLaunchCooperativeKernelMultiDevice(FunctionLaunchParameters* list, unsigned count, unsigned) {
  if (list == nullptr || count == 0) return api(__func__, [] { return Error::invalid_value; });
  for (unsigned i = 0; i < count; i++) {
    const auto& p = list[i];
    const Error error = launch_function(
        __func__, p.function, {{p.grid_x, p.grid_y, p.grid_z}, {p.block_x, p.block_y, p.block_z}, p.dynamic_lds},
        p.stream, p.arguments, nullptr, true);
    if (error != Error::success) return error;
  }
  return Error::success;
}

RAPT_HIP Error hipExtModuleLaunchKernel(FunctionHandle function, std::uint32_t x, std::uint32_t y, std::uint32_t z,
                                        std::uint32_t bx, std::uint32_t by, std::uint32_t bz, std::size_t lds,
                                        StreamHandle stream, void** arguments, void** extra, EventHandle before,
                                        EventHandle after, std::uint32_t) {
  return launch_ragged(__func__, function, {x, y, z}, {bx, by, bz}, lds, stream, arguments, extra, {before, after});
}

// HIP's headers declare these two as C++ functions.
RAPT_HIP Error
ext_module_launch(FunctionHandle function, std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t bx, std::uint32_t by, std::uint32_t bz, std::size_t lds, StreamHandle stream, void** arguments, void** extra, EventHandle before, EventHandle after, std::uint32_t) __asm__(
    "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
RAPT_HIP Error
hcc_module_launch(FunctionHandle function, std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t bx, std::uint32_t by, std::uint32_t bz, std::size_t lds, StreamHandle stream, void** arguments, void** extra, EventHandle before, EventHandle after) __asm__(
    "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_");

Error ext_module_launch(FunctionHandle function, std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t bx,
                        std::uint32_t by, std::uint32_t bz, std::size_t lds, StreamHandle stream, void** arguments,
                        void** extra, EventHandle before, EventHandle after, std::uint32_t) {
  return launch_ragged("hipExtModuleLaunchKernel", function, {x, y, z}, {bx, by, bz}, lds, stream, arguments, extra,
                       {before, after});
}
Error hcc_module_launch(FunctionHandle function, std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t bx,
                        std::uint32_t by, std::uint32_t bz, std::size_t lds, StreamHandle stream, void** arguments,
                        void** extra, EventHandle before, EventHandle after) {
  return launch_ragged("hipHccModuleLaunchKernel", function, {x, y, z}, {bx, by, bz}, lds, stream, arguments, extra,
                       {before, after});
}

RAPT_HIP Error hipLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t lds,
                               StreamHandle stream) {
  return launch_host(__func__, function, {grid, block, lds}, stream, arguments);
}
RAPT_HIP Error hipLaunchKernel_spt(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t lds,
                                   StreamHandle stream) {
  return launch_host(__func__, function, {grid, block, lds}, own(stream), arguments);
}

RAPT_HIP Error hipExtLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t lds,
                                  StreamHandle stream, EventHandle before, EventHandle after, int) {
  return launch_host(__func__, function, {grid, block, lds}, stream, arguments, false, Events{before, after});
}

RAPT_HIP Error hipLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, unsigned lds,
                                          StreamHandle stream) {
  return launch_host(__func__, function, {grid, block, lds}, stream, arguments, true);
}
RAPT_HIP Error hipLaunchCooperativeKernel_spt(const void* function, Dim3 grid, Dim3 block, void** arguments,
                                              unsigned lds, StreamHandle stream) {
  return launch_host(__func__, function, {grid, block, lds}, own(stream), arguments, true);
}

namespace {

Error launch_list(const char* name, LaunchParameters* list, int count, bool cooperative) {
  if (list == nullptr || count <= 0) return api(name, [] { return Error::invalid_value; });
  for (int i = 0; i < count; i++) {
    const auto& p = list[i];
    const Error error =
        launch_host(name, p.function, {p.grid, p.block, p.dynamic_lds}, p.stream, p.arguments, cooperative);
    if (error != Error::success) return error;
  }
  return Error::success;
}

}  // namespace

RAPT_HIP Error hipLaunchCooperativeKernelMultiDevice(LaunchParameters* list, int count, unsigned) {
  return launch_list(__func__, list, count, true);
}
RAPT_HIP Error hipExtLaunchMultiKernelMultiDevice(LaunchParameters* list, int count, unsigned) {
  return launch_list(__func__, list, count, false);
}

RAPT_HIP Error hipLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  if (config == nullptr) return api(__func__, [] { return Error::invalid_value; });
  return launch_host(__func__, function, {config->grid, config->block, config->dynamic_lds}, config->stream, arguments,
                     asks_cooperative(config->attributes, config->attribute_count));
}

RAPT_HIP Error hipDrvLaunchKernelEx(const DriverLaunchConfig* c, FunctionHandle function, void** arguments,
                                    void** extra) {
  if (c == nullptr) return api(__func__, [] { return Error::invalid_value; });
  return launch_function(__func__, function,
                         {{c->grid_x, c->grid_y, c->grid_z}, {c->block_x, c->block_y, c->block_z}, c->dynamic_lds},
                         c->stream, arguments, extra, asks_cooperative(c->attributes, c->attribute_count));
}
