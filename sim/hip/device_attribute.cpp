// hipDeviceGetAttribute, from the properties.
#include "sim/hip/device_properties.hpp"

#include <algorithm>
#include <limits>

using namespace rapt::sim;
using namespace rapt::sim::hip;

namespace {

int clamp(std::size_t value) { return static_cast<int>(std::min<std::size_t>(value, std::numeric_limits<int>::max())); }

struct Field {
  DeviceAttribute attribute;
  int (*read)(const PropertiesR0600&);
};

#define RAPT_FIELD(attribute, field)                                                             \
  Field {                                                                                        \
    attribute, [](const PropertiesR0600& p) { return clamp(static_cast<std::size_t>(p.field)); } \
  }

constexpr Field fields[] = {
    RAPT_FIELD(attribute_ecc_enabled, ECCEnabled),
    RAPT_FIELD(attribute_access_policy_max_window_size, accessPolicyMaxWindowSize),
    RAPT_FIELD(attribute_async_engine_count, asyncEngineCount),
    RAPT_FIELD(attribute_can_map_host_memory, canMapHostMemory),
    RAPT_FIELD(attribute_can_use_host_pointer_for_registered_mem, canUseHostPointerForRegisteredMem),
    RAPT_FIELD(attribute_clock_rate, clockRate),
    RAPT_FIELD(attribute_compute_mode, computeMode),
    RAPT_FIELD(attribute_compute_preemption_supported, computePreemptionSupported),
    RAPT_FIELD(attribute_concurrent_kernels, concurrentKernels),
    RAPT_FIELD(attribute_concurrent_managed_access, concurrentManagedAccess),
    RAPT_FIELD(attribute_cooperative_launch, cooperativeLaunch),
    RAPT_FIELD(attribute_cooperative_multi_device_launch, cooperativeMultiDeviceLaunch),
    RAPT_FIELD(attribute_device_overlap, deviceOverlap),
    RAPT_FIELD(attribute_direct_managed_mem_access_from_host, directManagedMemAccessFromHost),
    RAPT_FIELD(attribute_global_l1_cache_supported, globalL1CacheSupported),
    RAPT_FIELD(attribute_host_native_atomic_supported, hostNativeAtomicSupported),
    RAPT_FIELD(attribute_integrated, integrated),
    RAPT_FIELD(attribute_is_multi_gpu_board, isMultiGpuBoard),
    RAPT_FIELD(attribute_kernel_exec_timeout, kernelExecTimeoutEnabled),
    RAPT_FIELD(attribute_l2_cache_size, l2CacheSize),
    RAPT_FIELD(attribute_local_l1_cache_supported, localL1CacheSupported),
    RAPT_FIELD(attribute_luid_device_node_mask, luidDeviceNodeMask),
    RAPT_FIELD(attribute_compute_capability_major, major),
    RAPT_FIELD(attribute_managed_memory, managedMemory),
    RAPT_FIELD(attribute_max_blocks_per_multi_processor, maxBlocksPerMultiProcessor),
    RAPT_FIELD(attribute_max_block_dim_x, maxThreadsDim[0]),
    RAPT_FIELD(attribute_max_block_dim_y, maxThreadsDim[1]),
    RAPT_FIELD(attribute_max_block_dim_z, maxThreadsDim[2]),
    RAPT_FIELD(attribute_max_grid_dim_x, maxGridSize[0]),
    RAPT_FIELD(attribute_max_grid_dim_y, maxGridSize[1]),
    RAPT_FIELD(attribute_max_grid_dim_z, maxGridSize[2]),
    RAPT_FIELD(attribute_max_surface_1d, maxSurface1D),
    RAPT_FIELD(attribute_max_surface_1d_layered, maxSurface1DLayered[0]),
    RAPT_FIELD(attribute_max_surface_2d, maxSurface2D[0]),
    RAPT_FIELD(attribute_max_surface_2d_layered, maxSurface2DLayered[0]),
    RAPT_FIELD(attribute_max_surface_3d, maxSurface3D[0]),
    RAPT_FIELD(attribute_max_surface_cubemap, maxSurfaceCubemap),
    RAPT_FIELD(attribute_max_surface_cubemap_layered, maxSurfaceCubemapLayered[0]),
    RAPT_FIELD(attribute_max_texture_1d_width, maxTexture1D),
    RAPT_FIELD(attribute_max_texture_1d_layered, maxTexture1DLayered[0]),
    RAPT_FIELD(attribute_max_texture_1d_linear, maxTexture1DLinear),
    RAPT_FIELD(attribute_max_texture_1d_mipmap, maxTexture1DMipmap),
    RAPT_FIELD(attribute_max_texture_2d_width, maxTexture2D[0]),
    RAPT_FIELD(attribute_max_texture_2d_height, maxTexture2D[1]),
    RAPT_FIELD(attribute_max_texture_2d_gather, maxTexture2DGather[0]),
    RAPT_FIELD(attribute_max_texture_2d_layered, maxTexture2DLayered[0]),
    RAPT_FIELD(attribute_max_texture_2d_linear, maxTexture2DLinear[0]),
    RAPT_FIELD(attribute_max_texture_2d_mipmap, maxTexture2DMipmap[0]),
    RAPT_FIELD(attribute_max_texture_3d_width, maxTexture3D[0]),
    RAPT_FIELD(attribute_max_texture_3d_height, maxTexture3D[1]),
    RAPT_FIELD(attribute_max_texture_3d_depth, maxTexture3D[2]),
    RAPT_FIELD(attribute_max_texture_3d_alt, maxTexture3DAlt[0]),
    RAPT_FIELD(attribute_max_texture_cubemap, maxTextureCubemap),
    RAPT_FIELD(attribute_max_texture_cubemap_layered, maxTextureCubemapLayered[0]),
    RAPT_FIELD(attribute_max_threads_dim, maxThreadsDim[0]),
    RAPT_FIELD(attribute_max_threads_per_block, maxThreadsPerBlock),
    RAPT_FIELD(attribute_max_threads_per_multi_processor, maxThreadsPerMultiProcessor),
    RAPT_FIELD(attribute_max_pitch, memPitch),
    RAPT_FIELD(attribute_memory_bus_width, memoryBusWidth),
    RAPT_FIELD(attribute_memory_clock_rate, memoryClockRate),
    RAPT_FIELD(attribute_compute_capability_minor, minor),
    RAPT_FIELD(attribute_multi_gpu_board_group_id, multiGpuBoardGroupID),
    RAPT_FIELD(attribute_multiprocessor_count, multiProcessorCount),
    RAPT_FIELD(attribute_pageable_memory_access, pageableMemoryAccess),
    RAPT_FIELD(attribute_pageable_memory_access_uses_host_page_tables, pageableMemoryAccessUsesHostPageTables),
    RAPT_FIELD(attribute_pci_bus_id, pciBusID),
    RAPT_FIELD(attribute_pci_device_id, pciDeviceID),
    RAPT_FIELD(attribute_pci_domain_id, pciDomainID),
    RAPT_FIELD(attribute_persisting_l2_cache_max_size, persistingL2CacheMaxSize),
    RAPT_FIELD(attribute_max_registers_per_block, regsPerBlock),
    RAPT_FIELD(attribute_max_registers_per_multiprocessor, regsPerMultiprocessor),
    RAPT_FIELD(attribute_reserved_shared_mem_per_block, reservedSharedMemPerBlock),
    RAPT_FIELD(attribute_max_shared_memory_per_block, sharedMemPerBlock),
    RAPT_FIELD(attribute_shared_mem_per_block_optin, sharedMemPerBlockOptin),
    RAPT_FIELD(attribute_shared_mem_per_multiprocessor, sharedMemPerMultiprocessor),
    RAPT_FIELD(attribute_single_to_double_precision_perf_ratio, singleToDoublePrecisionPerfRatio),
    RAPT_FIELD(attribute_stream_priorities_supported, streamPrioritiesSupported),
    RAPT_FIELD(attribute_surface_alignment, surfaceAlignment),
    RAPT_FIELD(attribute_tcc_driver, tccDriver),
    RAPT_FIELD(attribute_texture_alignment, textureAlignment),
    RAPT_FIELD(attribute_texture_pitch_alignment, texturePitchAlignment),
    RAPT_FIELD(attribute_total_constant_memory, totalConstMem),
    RAPT_FIELD(attribute_total_global_mem, totalGlobalMem),
    RAPT_FIELD(attribute_unified_addressing, unifiedAddressing),
    RAPT_FIELD(attribute_warp_size, warpSize),
    RAPT_FIELD(attribute_memory_pools_supported, memoryPoolsSupported),
    RAPT_FIELD(attribute_host_register_supported, hostRegisterSupported),
    RAPT_FIELD(attribute_memory_pool_supported_handle_types, memoryPoolSupportedHandleTypes),
    RAPT_FIELD(attribute_clock_instruction_rate, clockInstructionRate),
    RAPT_FIELD(attribute_max_shared_memory_per_multiprocessor, maxSharedMemoryPerMultiProcessor),
    RAPT_FIELD(attribute_cooperative_multi_device_unmatched_func, cooperativeMultiDeviceUnmatchedFunc),
    RAPT_FIELD(attribute_cooperative_multi_device_unmatched_grid_dim, cooperativeMultiDeviceUnmatchedGridDim),
    RAPT_FIELD(attribute_cooperative_multi_device_unmatched_block_dim, cooperativeMultiDeviceUnmatchedBlockDim),
    RAPT_FIELD(attribute_cooperative_multi_device_unmatched_shared_mem, cooperativeMultiDeviceUnmatchedSharedMem),
    RAPT_FIELD(attribute_is_large_bar, isLargeBar),
    RAPT_FIELD(attribute_asic_revision, asicRevision),
};

#undef RAPT_FIELD

// Attributes that are not in the properties.
bool other(const Device& device, DeviceAttribute attribute, int& value) {
  const Properties& p = device.properties;
  switch (attribute) {
    case attribute_virtual_memory_management_supported:
    case attribute_image_support: value = 0; return true;
    case attribute_can_use_stream_wait_value:
    case attribute_fine_grain_support: value = 1; return true;
    case attribute_physical_multi_processor_count: value = static_cast<int>(p.compute_units); return true;
    case attribute_wall_clock_rate: value = static_cast<int>(p.wall_clock_khz); return true;
    case attribute_number_of_xccs: value = static_cast<int>(p.compute_units / p.compute_units_per_xcd); return true;
    case attribute_max_available_vgprs_per_thread: value = static_cast<int>(p.vgprs_per_wave); return true;
    case attribute_pci_chip_id: value = static_cast<int>(p.pci_device_id); return true;
    case attribute_gcn_arch: {
      const Version version = arch_version(p.arch);
      value = version.major * 100 + version.minor * 10 + version.stepping;
      return true;
    }
    default: return false;
  }
}

}  // namespace

RAPT_HIP Error hipDeviceGetAttribute(int* value, DeviceAttribute attribute, int id) {
  return api(__func__, [&] {
    need_pointer(value);
    const Device& device = Runtime::get().device(id);
    if (other(device, attribute, *value)) return Error::success;
    const auto* found = std::find_if(std::begin(fields), std::end(fields),
                                     [&](const Field& field) { return field.attribute == attribute; });
    need(found != std::end(fields), Error::invalid_value, "an attribute that has no number");
    *value = found->read(properties_r0600(device));
    return Error::success;
  });
}
