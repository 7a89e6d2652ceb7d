// What the GEMMs of 8-bit numbers share: b is shuffled, the result is bf16, and workgroups that split k add their parts
// to it, in multiples of 128 of k.
#pragma once

#include "sim/validate/families/gemm.hpp"

namespace rapt::sim::validate {

class EightBitGemm : public GemmFamily {
 protected:
  GemmSize size(const Target& target, const Shape& shape) const override;
  double bytes_per_output(const Shape&) const override { return 2; }

  // The grid and the result; parts of k are added to zeros.
  static void begin(PreparedLaunch& launch, const Target& target, const GemmSize& size);
};

}  // namespace rapt::sim::validate
