// hipDeviceProp_t of ROCm 5 ("R0000") and since 6 ("R0600"), and the numbers of hipDeviceAttribute_t.
#pragma once

#include "sim/hip/abi/types.hpp"

namespace rapt::sim::hip {

struct Uuid {
  char bytes[16];
};

// hipDeviceArch_t: one bit each, in this order.
struct ArchFeatures {
  unsigned global_int32_atomics : 1, global_float_exchange : 1, shared_int32_atomics : 1, shared_float_exchange : 1;
  unsigned float_add : 1, global_int64_atomics : 1, shared_int64_atomics : 1, doubles : 1;
  unsigned warp_vote : 1, warp_ballot : 1, warp_shuffle : 1, funnel_shift : 1;
  unsigned fence_system : 1, sync_threads_ext : 1, surface_functions : 1, grid_3d : 1, dynamic_parallelism : 1;
};

// The fields' names are HIP's, so that filling in both layouts is one template.
struct PropertiesR0000 {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate, memoryClockRate, memoryBusWidth;
  std::size_t totalConstMem;
  int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
  ArchFeatures arch;
  int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
  std::size_t maxSharedMemoryPerMultiProcessor;
  int isMultiGpuBoard, canMapHostMemory, gcnArch;
  char gcnArchName[256];
  int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  int maxTexture1DLinear, maxTexture1D, maxTexture2D[2], maxTexture3D[3];
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  std::size_t memPitch, textureAlignment, texturePitchAlignment;
  int kernelExecTimeoutEnabled, ECCEnabled, tccDriver;
  int cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim;
  int cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem;
  int isLargeBar, asicRevision, managedMemory, directManagedMemAccessFromHost, concurrentManagedAccess;
  int pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables;
};

struct PropertiesR0600 {
  char name[256];
  Uuid uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2];
  int maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap;
  int maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3];
  int maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
  int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
  int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
  int reserved[63], hipReserved[32];
  char gcnArchName[256];
  std::size_t maxSharedMemoryPerMultiProcessor;
  int clockInstructionRate;
  ArchFeatures arch;
  unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
  int cooperativeMultiDeviceUnmatchedFunc, cooperativeMultiDeviceUnmatchedGridDim;
  int cooperativeMultiDeviceUnmatchedBlockDim, cooperativeMultiDeviceUnmatchedSharedMem;
  int isLargeBar, asicRevision;
};

enum DeviceAttribute : int {
  attribute_ecc_enabled = 0,
  attribute_access_policy_max_window_size,
  attribute_async_engine_count,
  attribute_can_map_host_memory,
  attribute_can_use_host_pointer_for_registered_mem,
  attribute_clock_rate,
  attribute_compute_mode,
  attribute_compute_preemption_supported,
  attribute_concurrent_kernels,
  attribute_concurrent_managed_access,
  attribute_cooperative_launch,
  attribute_cooperative_multi_device_launch,
  attribute_device_overlap,
  attribute_direct_managed_mem_access_from_host,
  attribute_global_l1_cache_supported,
  attribute_host_native_atomic_supported,
  attribute_integrated,
  attribute_is_multi_gpu_board,
  attribute_kernel_exec_timeout,
  attribute_l2_cache_size,
  attribute_local_l1_cache_supported,
  attribute_luid,
  attribute_luid_device_node_mask,
  attribute_compute_capability_major,
  attribute_managed_memory,
  attribute_max_blocks_per_multi_processor,
  attribute_max_block_dim_x,
  attribute_max_block_dim_y,
  attribute_max_block_dim_z,
  attribute_max_grid_dim_x,
  attribute_max_grid_dim_y,
  attribute_max_grid_dim_z,
  attribute_max_surface_1d,
  attribute_max_surface_1d_layered,
  attribute_max_surface_2d,
  attribute_max_surface_2d_layered,
  attribute_max_surface_3d,
  attribute_max_surface_cubemap,
  attribute_max_surface_cubemap_layered,
  attribute_max_texture_1d_width,
  attribute_max_texture_1d_layered,
  attribute_max_texture_1d_linear,
  attribute_max_texture_1d_mipmap,
  attribute_max_texture_2d_width,
  attribute_max_texture_2d_height,
  attribute_max_texture_2d_gather,
  attribute_max_texture_2d_layered,
  attribute_max_texture_2d_linear,
  attribute_max_texture_2d_mipmap,
  attribute_max_texture_3d_width,
  attribute_max_texture_3d_height,
  attribute_max_texture_3d_depth,
  attribute_max_texture_3d_alt,
  attribute_max_texture_cubemap,
  attribute_max_texture_cubemap_layered,
  attribute_max_threads_dim,
  attribute_max_threads_per_block,
  attribute_max_threads_per_multi_processor,
  attribute_max_pitch,
  attribute_memory_bus_width,
  attribute_memory_clock_rate,
  attribute_compute_capability_minor,
  attribute_multi_gpu_board_group_id,
  attribute_multiprocessor_count,
  attribute_name,
  attribute_pageable_memory_access,
  attribute_pageable_memory_access_uses_host_page_tables,
  attribute_pci_bus_id,
  attribute_pci_device_id,
  attribute_pci_domain_id,
  attribute_persisting_l2_cache_max_size,
  attribute_max_registers_per_block,
  attribute_max_registers_per_multiprocessor,
  attribute_reserved_shared_mem_per_block,
  attribute_max_shared_memory_per_block,
  attribute_shared_mem_per_block_optin,
  attribute_shared_mem_per_multiprocessor,
  attribute_single_to_double_precision_perf_ratio,
  attribute_stream_priorities_supported,
  attribute_surface_alignment,
  attribute_tcc_driver,
  attribute_texture_alignment,
  attribute_texture_pitch_alignment,
  attribute_total_constant_memory,
  attribute_total_global_mem,
  attribute_unified_addressing,
  attribute_uuid,
  attribute_warp_size,
  attribute_memory_pools_supported,
  attribute_virtual_memory_management_supported,
  attribute_host_register_supported,
  attribute_memory_pool_supported_handle_types,

  attribute_clock_instruction_rate = 10000,
  attribute_arch,
  attribute_max_shared_memory_per_multiprocessor,
  attribute_gcn_arch,
  attribute_gcn_arch_name,
  attribute_hdp_mem_flush_cntl,
  attribute_hdp_reg_flush_cntl,
  attribute_cooperative_multi_device_unmatched_func,
  attribute_cooperative_multi_device_unmatched_grid_dim,
  attribute_cooperative_multi_device_unmatched_block_dim,
  attribute_cooperative_multi_device_unmatched_shared_mem,
  attribute_is_large_bar,
  attribute_asic_revision,
  attribute_can_use_stream_wait_value,
  attribute_image_support,
  attribute_physical_multi_processor_count,
  attribute_fine_grain_support,
  attribute_wall_clock_rate,
  attribute_number_of_xccs,
  attribute_max_available_vgprs_per_thread,
  attribute_pci_chip_id,
};

}  // namespace rapt::sim::hip
