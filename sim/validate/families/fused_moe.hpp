// What aiter's kernels for whole mixtures of experts share (fmoe_g1u1 and its kin). They compute the sum over a token's
// experts of weight * (act(x . gate) * (x . up)) . down, added up in bf16.
#pragma once

#include "sim/validate/families/moe.hpp"

namespace rapt::sim::validate {

struct FusedMoe {
  MoeSize size;
  bool unsorted;    // takes the tokens' experts as they are; unless persistent, a workgroup a token, expert and tile
  bool persistent;  // one workgroup for each compute unit
  std::uint32_t x_row, w1_row, w2_row;               // bytes
  std::uint32_t w1_expert_scales, w2_expert_scales;  // bytes of one expert's

  // Operands in this order, made by the family.
  struct Operands {
    DeviceBuffer x, w1, w2, x_scales, w1_scales, w2_scales;
  };
  enum : std::uint8_t { out, x, w1, w2, x_scales, w1_scales, w2_scales };  // the first buffers of the launch

  PreparedLaunch launch(const Target& target, const MoeRouting& routing, Operands operands) const;

  // How a kernel rounds hidden values to few bits: by up to `relative` of the value, or `of_largest` of the largest in
  // its block of 32 if that is more.
  struct Rounding {
    double relative, of_largest;
  };
  // Compares the results with `reference` times w2 [experts, model, inter], scales applied. Errors of rounding are
  // independent: six standard deviations of their sum are allowed.
  Comparison compare(const Target& target, const MoeRouting& routing, const MoeReference& reference,
                     const MoeReference::Element& w2, const DeviceBuffer& result, Rounding rounding) const;

 private:
  std::uint32_t tiles(const Target& target) const { return size.inter / tile_of(target.kernel).second; }
};

}  // namespace rapt::sim::validate
