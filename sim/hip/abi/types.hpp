// Types that most of HIP's functions share. Values and layouts are HIP's (checked against its headers by hip_abi_test).
#pragma once

#include <cstddef>
#include <cstdint>

// What programs see. Everything else in these libraries is hidden.
#define RAPT_HIP extern "C" __attribute__((visibility("default")))

namespace rapt::sim::hip {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

using StreamHandle = void*;
using EventHandle = void*;
using ModuleHandle = void*;
using FunctionHandle = void*;
using ContextHandle = void*;
using GraphHandle = void*;
using NodeHandle = void*;
using ExecHandle = void*;
using PoolHandle = void*;

enum class Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  deinitialized = 4,
  profiler_disabled = 5,
  profiler_not_initialized = 6,
  profiler_already_started = 7,
  profiler_already_stopped = 8,
  invalid_configuration = 9,
  invalid_pitch_value = 12,
  invalid_symbol = 13,
  invalid_device_pointer = 17,
  invalid_memcpy_direction = 21,
  insufficient_driver = 35,
  missing_configuration = 52,
  prior_launch_failure = 53,
  invalid_device_function = 98,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  context_already_current = 202,
  map_failed = 205,
  unmap_failed = 206,
  array_is_mapped = 207,
  already_mapped = 208,
  no_binary_for_gpu = 209,
  already_acquired = 210,
  not_mapped = 211,
  not_mapped_as_array = 212,
  not_mapped_as_pointer = 213,
  ecc_not_correctable = 214,
  unsupported_limit = 215,
  context_already_in_use = 216,
  peer_access_unsupported = 217,
  invalid_kernel_file = 218,
  invalid_graphics_context = 219,
  invalid_source = 300,
  file_not_found = 301,
  shared_object_symbol_not_found = 302,
  shared_object_init_failed = 303,
  operating_system = 304,
  invalid_handle = 400,
  illegal_state = 401,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_time_out = 702,
  peer_access_already_enabled = 704,
  peer_access_not_enabled = 705,
  set_on_active_process = 708,
  context_is_destroyed = 709,
  device_assert = 710,
  host_memory_already_registered = 712,
  host_memory_not_registered = 713,
  launch_failure = 719,
  cooperative_launch_too_large = 720,
  not_supported = 801,
  stream_capture_unsupported = 900,
  stream_capture_invalidated = 901,
  stream_capture_merge = 902,
  stream_capture_unmatched = 903,
  stream_capture_unjoined = 904,
  stream_capture_isolation = 905,
  stream_capture_implicit = 906,
  captured_event = 907,
  stream_capture_wrong_thread = 908,
  graph_exec_update_failure = 910,
  invalid_channel_descriptor = 911,
  invalid_texture = 912,
  unknown = 999,
  runtime_memory = 1052,
  runtime_other = 1053,
};

}  // namespace rapt::sim::hip
