// HIP's questions about occupancy.
#include "sim/device/occupancy.hpp"
#include "sim/hip/module/launch.hpp"

#include <algorithm>

namespace rapt::sim::hip {

unsigned multiprocessors(const Properties& p) { return p.compute_units / p.units_per_multiprocessor; }

unsigned groups_per_unit(const Function& function, const Device& device, unsigned group_size, std::size_t dynamic_lds) {
  return groups_per_multiprocessor(function.kernel(), device.properties, group_size, dynamic_lds);
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

namespace {

Error active_groups(const char* name, int* groups, int group_size, std::size_t lds, auto&& find) {
  return api(name, [&] {
    need_pointer(groups);
    need(group_size > 0, Error::invalid_value, "an empty workgroup");
    Device& device = current_device();
    *groups = static_cast<int>(groups_per_unit(*find(device), device, static_cast<unsigned>(group_size), lds));
    return Error::success;
  });
}

// The largest group of whole waves within the limit that leaves no room unused.
Error best_group(const char* name, int* grid_size, int* group_size, std::size_t lds, int limit, auto&& find) {
  return api(name, [&] {
    need_pointer(grid_size);
    need_pointer(group_size);
    Device& device = current_device();
    const auto function = find(device);
    const unsigned lanes = function->kernel().lanes;
    unsigned most = std::min(device.properties.max_group_size, function->kernel().max_flat_workgroup_size);
    if (limit > 0) most = std::min(most, static_cast<unsigned>(limit));
    unsigned best = std::min(most, lanes), best_waves = 0, groups = 0;
    for (unsigned size = most / lanes * lanes; size >= lanes; size -= lanes) {
      const unsigned fit = groups_per_unit(*function, device, size, lds);
      if (fit * size <= best_waves) continue;
      best_waves = fit * size;
      best = size;
      groups = fit;
    }
    *group_size = static_cast<int>(best);
    *grid_size = static_cast<int>(groups * multiprocessors(device.properties));
    return Error::success;
  });
}

auto of_module(FunctionHandle function) {
  return [function](Device&) { return find_function(function); };
}
auto of_host(const void* function) {
  return [function](Device& device) { return find_host_function(function, device); };
}

}  // namespace

RAPT_HIP Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* groups, FunctionHandle f, int size,
                                                                  std::size_t lds) {
  return active_groups(__func__, groups, size, lds, of_module(f));
}
RAPT_HIP Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* groups, FunctionHandle f, int size,
                                                                           std::size_t lds, unsigned) {
  return active_groups(__func__, groups, size, lds, of_module(f));
}
RAPT_HIP Error hipOccupancyMaxActiveBlocksPerMultiprocessor(int* groups, const void* f, int size, std::size_t lds) {
  return active_groups(__func__, groups, size, lds, of_host(f));
}
RAPT_HIP Error hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* groups, const void* f, int size,
                                                                     std::size_t lds, unsigned) {
  return active_groups(__func__, groups, size, lds, of_host(f));
}
RAPT_HIP Error hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* size, FunctionHandle f, std::size_t lds,
                                                       int limit) {
  return best_group(__func__, grid, size, lds, limit, of_module(f));
}
RAPT_HIP Error hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* size, FunctionHandle f, std::size_t lds,
                                                                int limit, unsigned) {
  return best_group(__func__, grid, size, lds, limit, of_module(f));
}
RAPT_HIP Error hipOccupancyMaxPotentialBlockSize(int* grid, int* size, const void* f, std::size_t lds, int limit) {
  return best_group(__func__, grid, size, lds, limit, of_host(f));
}
RAPT_HIP Error hipOccupancyAvailableDynamicSMemPerBlock(std::size_t* lds, const void* f, int groups, int size) {
  return api(__func__, [&] {
    need_pointer(lds);
    need(groups > 0 && size > 0, Error::invalid_value, "no workgroups");
    Device& device = current_device();
    const std::size_t fixed = find_host_function(f, device)->kernel().descriptor.group_segment_fixed_size;
    const std::size_t each = std::min<std::size_t>(device.properties.lds_bytes_per_unit / static_cast<unsigned>(groups),
                                                   device.properties.lds_bytes_per_group);
    *lds = each > fixed ? each - fixed : 0;
    return Error::success;
  });
}
