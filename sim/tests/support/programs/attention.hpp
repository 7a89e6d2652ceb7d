// The attention prototypes as whole-kernel tests: bf16 by MFMA on CDNA, f16 by WMMA on RDNA, f16 by dot products where
// there is no matrix unit; 128 or more queries per workgroup.
#pragma once

#include "sim/tests/support/programs/kernels.hpp"

namespace rapt::sim::test {

class Attention {
 public:
  static constexpr unsigned head_dim = 128;

  // seqlen: a multiple of 256; random Q, K and V from the seed.
  Attention(Arch arch, unsigned seqlen, unsigned heads, unsigned seed = 1, const std::string& flags = "-O3",
            const std::string& compiler = "clang-22");
  LaunchResult run();
  // Launches from here on are counted there.
  void profile(Profiler& profiler) { module_.profile(profiler); }
  void time(TimeRequest request) { module_.time(request); }
  // The largest |difference| of the output from float64 arithmetic on the same inputs, and of lse (base 2).
  struct Error {
    double out, lse;
  };
  Error error() const;

 private:
  Arch arch_;
  unsigned seqlen_, heads_;
  std::vector<float> q_, k_, v_;  // as the rounded inputs are
  Module module_;
  Buffer<std::uint16_t> dq_, dk_, dv_, out_;
  Buffer<float> lse_;
};

}  // namespace rapt::sim::test
