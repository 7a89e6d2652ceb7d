#include "sim/validate/families/eight_bit_gemm.hpp"

#include "sim/validate/input/input_error.hpp"

namespace rapt::sim::validate {

GemmSize EightBitGemm::size(const Target& target, const Shape& shape) const {
  const GemmSize size = whole_tiles(target, shape, shape.number("splitK"));
  if (ceil_div(size.k, size.k_per_part) != size.splits)
    throw InputError("shape '" + shape.text() + "': K has no " + std::to_string(size.splits) +
                     " parts of whole steps of " + std::to_string(facts().k_per_step));
  return size;
}

void EightBitGemm::begin(PreparedLaunch& launch, const Target& target, const GemmSize& size) {
  const auto [tile_m, tile_n] = tile_of(target.kernel);
  launch.groups = {size.n / tile_n * size.splits, ceil_div(size.m, tile_m), 1};
  const std::size_t bytes = std::size_t{size.m} * size.n * 2;
  launch.buffers.push_back(size.splits > 1 ? DeviceBuffer::zeros(bytes) : DeviceBuffer::unwritten(bytes));
  if (size.splits > 1) launch.cleared_bytes = bytes;  // aiter's launchers: hipMemsetAsync
}

}  // namespace rapt::sim::validate
