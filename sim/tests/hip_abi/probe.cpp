// Compiled against a real release's headers (RELEASE 5, 6 or 7): reports where ours differ. hip_abi_test.cpp adds the
// enumerators that it finds in the headers as GENERATED_CHECKS.
#include <hip/hip_runtime_api.h>
#if RELEASE >= 6
#include <hip/hip_deprecated.h>
#endif

#include "sim/hip/abi/device.hpp"
#include "sim/hip/abi/graph.hpp"

#include <cstddef>
#include <cstdio>

namespace ours = rapt::sim::hip;

static int checked = 0, different = 0;

static void same(long our_value, long their_value, const char* what) {
  checked++;
  if (our_value == their_value) return;
  different++;
  std::printf("%s: ours %ld, HIP's %ld\n", what, our_value, their_value);
}

#define SAME(our_value, their_value) same(static_cast<long>(our_value), static_cast<long>(their_value), #their_value)
#define SIZE(our_type, their_type) same(sizeof(ours::our_type), sizeof(their_type), "sizeof " #their_type)
#define FIELD(our_type, our_field, their_type, their_field)                                                   \
  same(offsetof(ours::our_type, our_field), offsetof(their_type, their_field), #their_type "." #their_field); \
  same(sizeof(ours::our_type::our_field), sizeof(their_type::their_field), "sizeof " #their_type "." #their_field)
#define PROPERTY(layout, field) FIELD(Properties##layout, field, hipDeviceProp_t##layout, field)

#if RELEASE == 5
#define hipDeviceProp_tR0000 hipDeviceProp_t
#endif

static void properties() {
  SIZE(PropertiesR0000, hipDeviceProp_tR0000);
  SIZE(ArchFeatures, hipDeviceArch_t);
#define R0000(field) PROPERTY(R0000, field)
#include "sim/tests/hip_abi/properties_r0000.inc"
#if RELEASE >= 6
  SIZE(PropertiesR0600, hipDeviceProp_tR0600);
#define R0600(field) PROPERTY(R0600, field)
#include "sim/tests/hip_abi/properties_r0600.inc"
#endif
}

template <typename Ours, typename Theirs>
static void driver_copy_3d() {
  same(sizeof(Ours), sizeof(Theirs), "sizeof HIP_MEMCPY3D");
#define COPY(our_field, their_field) \
  same(offsetof(Ours, our_field), offsetof(Theirs, their_field), "HIP_MEMCPY3D." #their_field)
  COPY(from_x, srcXInBytes);
  COPY(from_lod, srcLOD);
  COPY(from_type, srcMemoryType);
  COPY(from_host, srcHost);
  COPY(from_device, srcDevice);
  COPY(from_array, srcArray);
  COPY(from_pitch, srcPitch);
  COPY(from_height, srcHeight);
  COPY(to_x, dstXInBytes);
  COPY(to_type, dstMemoryType);
  COPY(to_host, dstHost);
  COPY(to_device, dstDevice);
  COPY(to_array, dstArray);
  COPY(to_pitch, dstPitch);
  COPY(to_height, dstHeight);
  COPY(width, WidthInBytes);
  COPY(height, Height);
  COPY(depth, Depth);
}

static void memory() {
  SAME(ours::CopyKind::host_to_host, hipMemcpyHostToHost);
  SAME(ours::CopyKind::host_to_device, hipMemcpyHostToDevice);
  SAME(ours::CopyKind::device_to_host, hipMemcpyDeviceToHost);
  SAME(ours::CopyKind::device_to_device, hipMemcpyDeviceToDevice);
  SAME(ours::CopyKind::automatic, hipMemcpyDefault);
#if RELEASE == 5
  namespace types = ours::rocm5;
  FIELD(PointerAttributes, type, hipPointerAttribute_t, memoryType);
#else
  namespace types = ours::rocm6;
  FIELD(PointerAttributes, type, hipPointerAttribute_t, type);
  SAME(types::memory_unregistered, hipMemoryTypeUnregistered);
  SAME(types::memory_managed, hipMemoryTypeManaged);
  SAME(ours::CopyKind::device_to_device_no_cu, hipMemcpyDeviceToDeviceNoCU);
  FIELD(PoolProperties, max_size, hipMemPoolProps, maxSize);
#endif
  SAME(types::memory_host, hipMemoryTypeHost);
  SAME(types::memory_device, hipMemoryTypeDevice);
  SAME(types::memory_array, hipMemoryTypeArray);
  SAME(types::memory_unified, hipMemoryTypeUnified);
  SIZE(PointerAttributes, hipPointerAttribute_t);
  FIELD(PointerAttributes, device, hipPointerAttribute_t, device);
  FIELD(PointerAttributes, device_pointer, hipPointerAttribute_t, devicePointer);
  FIELD(PointerAttributes, host_pointer, hipPointerAttribute_t, hostPointer);
  FIELD(PointerAttributes, is_managed, hipPointerAttribute_t, isManaged);
  FIELD(PointerAttributes, allocation_flags, hipPointerAttribute_t, allocationFlags);
}

static void copies() {
  SIZE(Copy3D, hipMemcpy3DParms);
  FIELD(Copy3D, from_position, hipMemcpy3DParms, srcPos);
  FIELD(Copy3D, from, hipMemcpy3DParms, srcPtr);
  FIELD(Copy3D, to_array, hipMemcpy3DParms, dstArray);
  FIELD(Copy3D, to_position, hipMemcpy3DParms, dstPos);
  FIELD(Copy3D, to, hipMemcpy3DParms, dstPtr);
  FIELD(Copy3D, extent, hipMemcpy3DParms, extent);
  FIELD(Copy3D, kind, hipMemcpy3DParms, kind);
  FIELD(PitchedPointer, pitch, hipPitchedPtr, pitch);
  FIELD(PitchedPointer, width, hipPitchedPtr, xsize);
  FIELD(PitchedPointer, height, hipPitchedPtr, ysize);
  SIZE(DriverCopy2D, hip_Memcpy2D);
  FIELD(DriverCopy2D, from_x, hip_Memcpy2D, srcXInBytes);
  FIELD(DriverCopy2D, from_type, hip_Memcpy2D, srcMemoryType);
  FIELD(DriverCopy2D, from_host, hip_Memcpy2D, srcHost);
  FIELD(DriverCopy2D, from_device, hip_Memcpy2D, srcDevice);
  FIELD(DriverCopy2D, from_pitch, hip_Memcpy2D, srcPitch);
  FIELD(DriverCopy2D, to_x, hip_Memcpy2D, dstXInBytes);
  FIELD(DriverCopy2D, to_y, hip_Memcpy2D, dstY);
  FIELD(DriverCopy2D, to_type, hip_Memcpy2D, dstMemoryType);
  FIELD(DriverCopy2D, to_host, hip_Memcpy2D, dstHost);
  FIELD(DriverCopy2D, to_device, hip_Memcpy2D, dstDevice);
  FIELD(DriverCopy2D, to_pitch, hip_Memcpy2D, dstPitch);
  FIELD(DriverCopy2D, width, hip_Memcpy2D, WidthInBytes);
  FIELD(DriverCopy2D, height, hip_Memcpy2D, Height);
#if RELEASE == 5
  driver_copy_3d<ours::DriverCopy3D<unsigned>, HIP_MEMCPY3D>();
#else
  driver_copy_3d<ours::DriverCopy3D<std::size_t>, HIP_MEMCPY3D>();
#endif
}

static void ranges_and_pools() {
  SAME(ours::range_read_mostly, hipMemRangeAttributeReadMostly);
  SAME(ours::range_preferred_location, hipMemRangeAttributePreferredLocation);
  SAME(ours::range_accessed_by, hipMemRangeAttributeAccessedBy);
  SAME(ours::range_last_prefetch_location, hipMemRangeAttributeLastPrefetchLocation);
  SAME(ours::range_coherency_mode, hipMemRangeAttributeCoherencyMode);
  SAME(ours::cpu_device, hipCpuDeviceId);
  SAME(ours::invalid_device_id, hipInvalidDeviceId);
  SAME(ours::pointer_context, HIP_POINTER_ATTRIBUTE_CONTEXT);
  SAME(ours::pointer_memory_type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
  SAME(ours::pointer_is_managed, HIP_POINTER_ATTRIBUTE_IS_MANAGED);
  SAME(ours::pointer_range_size, HIP_POINTER_ATTRIBUTE_RANGE_SIZE);
  SAME(ours::pointer_mempool_handle, HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
  SIZE(PoolProperties, hipMemPoolProps);
  FIELD(PoolProperties, location, hipMemPoolProps, location);
  SIZE(MemoryAccess, hipMemAccessDesc);
  SAME(ours::pool_release_threshold, hipMemPoolAttrReleaseThreshold);
  SAME(ours::pool_used_high, hipMemPoolAttrUsedMemHigh);
}

static void launches() {
  SIZE(Dim3, dim3);
  SIZE(FunctionAttributes, hipFuncAttributes);
  FIELD(FunctionAttributes, const_size_bytes, hipFuncAttributes, constSizeBytes);
  FIELD(FunctionAttributes, local_size_bytes, hipFuncAttributes, localSizeBytes);
  FIELD(FunctionAttributes, max_dynamic_shared_size_bytes, hipFuncAttributes, maxDynamicSharedSizeBytes);
  FIELD(FunctionAttributes, max_threads_per_block, hipFuncAttributes, maxThreadsPerBlock);
  FIELD(FunctionAttributes, num_regs, hipFuncAttributes, numRegs);
  FIELD(FunctionAttributes, ptx_version, hipFuncAttributes, ptxVersion);
  FIELD(FunctionAttributes, shared_size_bytes, hipFuncAttributes, sharedSizeBytes);
  SAME(ours::function_max_threads_per_block, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  SAME(ours::function_shared_size_bytes, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  SAME(ours::function_num_regs, HIP_FUNC_ATTRIBUTE_NUM_REGS);
  SAME(ours::function_max_dynamic_shared_size_bytes, HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  SAME(ours::function_attribute_max, HIP_FUNC_ATTRIBUTE_MAX);
  SAME(ours::function_max_dynamic_shared_size_bytes, hipFuncAttributeMaxDynamicSharedMemorySize);
  SAME(ours::extra_pointer, reinterpret_cast<std::size_t>(HIP_LAUNCH_PARAM_BUFFER_POINTER));
  SAME(ours::extra_size, reinterpret_cast<std::size_t>(HIP_LAUNCH_PARAM_BUFFER_SIZE));
  SAME(ours::extra_end, reinterpret_cast<std::size_t>(HIP_LAUNCH_PARAM_END));
  SAME(ours::stream_per_thread, reinterpret_cast<std::size_t>(hipStreamPerThread));
  SAME(ours::stream_non_blocking, hipStreamNonBlocking);
  SAME(ours::event_disable_timing, hipEventDisableTiming);
  SAME(ours::wait_greater_equal, hipStreamWaitValueGte);
  SAME(ours::wait_nor, hipStreamWaitValueNor);
  SIZE(LaunchParameters, hipLaunchParams);
  FIELD(LaunchParameters, dynamic_lds, hipLaunchParams, sharedMem);
#if RELEASE >= 6
  SIZE(FunctionLaunchParameters, hipFunctionLaunchParams);
  FIELD(FunctionLaunchParameters, arguments, hipFunctionLaunchParams, kernelParams);
#endif
#if RELEASE >= 7
  SAME(ours::stream_legacy, reinterpret_cast<std::size_t>(hipStreamLegacy));
  SIZE(LaunchAttribute, hipLaunchAttribute);
  FIELD(LaunchAttribute, value, hipLaunchAttribute, value);
  SIZE(LaunchConfig, hipLaunchConfig_t);
  FIELD(LaunchConfig, attributes, hipLaunchConfig_t, attrs);
  SIZE(DriverLaunchConfig, HIP_LAUNCH_CONFIG);
  FIELD(DriverLaunchConfig, stream, HIP_LAUNCH_CONFIG, hStream);
  SAME(ours::launch_cooperative, hipLaunchAttributeCooperative);
#endif
}

static void graphs() {
  // Ours count from 0; the library of ROCm 5 adds 1.
  constexpr int first = RELEASE == 5 ? 1 : 0;
  SAME(int(ours::NodeType::kernel) + first, hipGraphNodeTypeKernel);
  SAME(int(ours::NodeType::copy) + first, hipGraphNodeTypeMemcpy);
  SAME(int(ours::NodeType::fill) + first, hipGraphNodeTypeMemset);
  SAME(int(ours::NodeType::host) + first, hipGraphNodeTypeHost);
  SAME(int(ours::NodeType::graph) + first, hipGraphNodeTypeGraph);
  SAME(int(ours::NodeType::empty) + first, hipGraphNodeTypeEmpty);
  SAME(int(ours::NodeType::event_wait) + first, hipGraphNodeTypeWaitEvent);
  SAME(int(ours::NodeType::event_record) + first, hipGraphNodeTypeEventRecord);
#if RELEASE >= 6
  SAME(ours::NodeType::allocate, hipGraphNodeTypeMemAlloc);
  SAME(ours::NodeType::release, hipGraphNodeTypeMemFree);
  SIZE(InstantiateParameters, hipGraphInstantiateParams);
  FIELD(InstantiateParameters, result, hipGraphInstantiateParams, result_out);
#endif
  SIZE(KernelNodeParameters, hipKernelNodeParams);
  FIELD(KernelNodeParameters, extra, hipKernelNodeParams, extra);
  FIELD(KernelNodeParameters, function, hipKernelNodeParams, func);
  FIELD(KernelNodeParameters, grid, hipKernelNodeParams, gridDim);
  FIELD(KernelNodeParameters, arguments, hipKernelNodeParams, kernelParams);
  FIELD(KernelNodeParameters, dynamic_lds, hipKernelNodeParams, sharedMemBytes);
  SIZE(FillParameters, hipMemsetParams);
  FIELD(FillParameters, element_size, hipMemsetParams, elementSize);
  FIELD(FillParameters, height, hipMemsetParams, height);
  FIELD(FillParameters, pitch, hipMemsetParams, pitch);
  FIELD(FillParameters, value, hipMemsetParams, value);
  FIELD(FillParameters, width, hipMemsetParams, width);
  SIZE(HostParameters, hipHostNodeParams);
  SAME(ours::CaptureMode::global, hipStreamCaptureModeGlobal);
  SAME(ours::CaptureMode::thread_local_mode, hipStreamCaptureModeThreadLocal);
  SAME(ours::CaptureMode::relaxed, hipStreamCaptureModeRelaxed);
  SAME(ours::CaptureStatus::active, hipStreamCaptureStatusActive);
  SAME(ours::CaptureStatus::invalidated, hipStreamCaptureStatusInvalidated);
  SAME(ours::UpdateResult::topology_changed, hipGraphExecUpdateErrorTopologyChanged);
  SAME(ours::UpdateResult::not_supported, hipGraphExecUpdateErrorNotSupported);
}

int main() {
  properties();
  memory();
  copies();
  ranges_and_pools();
  launches();
  graphs();
  GENERATED_CHECKS
  std::printf("checked %d\n", checked);
  return different == 0 ? 0 : 1;
}
