#include "sim/validate/families/fused_moe.hpp"

#include "sim/validate/families/gemm.hpp"

#include <cmath>

namespace rapt::sim::validate {

PreparedLaunch FusedMoe::launch(const Target& target, const MoeRouting& routing, Operands operands) const {
  PreparedLaunch launch;
  auto& buffers = launch.buffers;
  // Kernels that take unsorted tokens clear the result, and agree about that in eight bytes behind it.
  const std::size_t result = std::size_t{size.tokens} * size.model * 2;
  buffers.push_back(unsorted ? DeviceBuffer::unwritten(result + 8) : DeviceBuffer::zeros(result));
  for (DeviceBuffer* operand :
       {&operands.x, &operands.w1, &operands.w2, &operands.x_scales, &operands.w1_scales, &operands.w2_scales})
    buffers.push_back(std::move(*operand));
  const std::size_t tokens = buffers.size(), weights = tokens + 1, experts = tokens + 2, valid = tokens + 3;
  if (unsorted) {
    std::vector<std::uint32_t> chosen;
    std::vector<float> factors;
    for (const auto& [expert, weight] : routing.choices) chosen.push_back(expert), factors.push_back(weight);
    buffers.push_back(DeviceBuffer::of(chosen));
    buffers.push_back(DeviceBuffer::of(factors));
    buffers.push_back(DeviceBuffer::of(chosen));  // not read
    buffers.push_back(DeviceBuffer::of(chosen));  // not read
  } else {
    buffers.push_back(DeviceBuffer::of(routing.sorted));
    buffers.push_back(DeviceBuffer::of(routing.weights));
    buffers.push_back(DeviceBuffer::of(routing.block_experts));
    buffers.push_back(DeviceBuffer::of(std::vector<std::uint32_t>{routing.valid, size.tokens}));
  }

  const std::uint32_t n = tiles(target), persistent_groups = persistent ? target.compute_units / n * n : 0;
  if (persistent_groups > 0) launch.groups = {target.compute_units, 1, 1};
  else if (unsorted) launch.groups = {n, size.topk, size.tokens};
  else launch.groups = {n, static_cast<std::uint32_t>(routing.block_experts.size()), 1};

  auto& arguments = launch.arguments;
  arguments.pointer(buffers[out]).pointer(buffers[x]).pointer(buffers[w1]).pointer(buffers[valid]).pointer(buffers[w2]);
  arguments.pointer(buffers[x_scales]).pointer(buffers[w1_scales]).pointer(buffers[w2_scales]).null();
  arguments.pointer(buffers[tokens]).pointer(buffers[weights]).pointer(buffers[experts]);
  arguments.number(size.model).number(size.inter).number(size.tokens).number(size.experts);
  // Bytes of a row of x, w1, w2 and the result; of an expert's w1, w2 and scales.
  arguments.number(x_row).number(w1_row).number(w2_row).number(size.model * 2);
  arguments.number(w1_row * size.inter * 2).number(w2_row * size.model);
  arguments.number(w1_expert_scales).number(w2_expert_scales).number(size.inter * 4);
  arguments.number(size.topk).number(persistent_groups).number(n);
  return launch;
}

Comparison FusedMoe::compare(const Target& target, const MoeRouting& routing, const MoeReference& reference,
                             const MoeReference::Element& w2_element, const DeviceBuffer& result,
                             Rounding rounding) const {
  Comparison comparison;
  const double deviations = 6 / std::sqrt(3.0);  // errors are spread evenly up to the largest
  const double additions = static_cast<double>(size.topk) * tiles(target);
  for (std::size_t token = 0; token < size.tokens; ++token) {
    std::vector<double> sum(size.model), squares(size.model), parts(size.model);
    for (std::size_t slot = 0; slot < size.topk; ++slot) {
      const auto [expert, weight] = routing.choices[token * size.topk + slot];
      const auto hidden = reference.hidden(token, expert, 1);
      std::vector<double> errors(size.inter);
      for (std::size_t k = 0; k < size.inter; ++k) {
        double largest = 0;
        for (std::size_t near = k / 32 * 32; near < k / 32 * 32 + 32; ++near)
          largest = std::max(largest, std::abs(hidden[near].value));
        errors[k] = std::max(rounding.relative * std::abs(hidden[k].value), rounding.of_largest * largest);
      }
      for (std::size_t column = 0; column < size.model; ++column) {
        double part = 0;
        for (std::size_t k = 0; k < size.inter; ++k) {
          const double factor = weight * w2_element(std::size_t{expert} * size.model + column, k);
          part += hidden[k].value * factor;
          squares[column] += errors[k] * errors[k] * factor * factor;
        }
        sum[column] += part;
        parts[column] += std::abs(part);
      }
    }
    for (std::size_t column = 0; column < size.model; ++column)
      comparison.add(result.value(Number::bf16, token * size.model + column), sum[column],
                     deviations * std::sqrt(squares[column]) + bf16_rounding * additions * parts[column],
                     [&] { return "out[" + std::to_string(token) + ", " + std::to_string(column) + "]"; });
  }
  return comparison;
}

}  // namespace rapt::sim::validate
