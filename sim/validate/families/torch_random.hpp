// The numbers that torch.randn gives on an AMD GPU. With them a forecast is for the tokens and experts that AMD's tuner
// (aiter's gemm_moe_tune.py) measured: only the weights of experts with tokens are read. PyTorch draws with Philox
// 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), a stream for each thread. Box and Muller's
// formula makes pairs of normal numbers. Its DistributionTemplates.h says which thread draws which number, and how far
// a call moves the streams on.
#pragma once

#include <cstdint>
#include <vector>

namespace rapt::sim::validate {

class TorchRandom {
 public:
  // As after torch.manual_seed(0). The number of threads depends on the compute units.
  explicit TorchRandom(unsigned compute_units) : most_blocks_(8ULL * compute_units) {}

  void skip(std::uint64_t count);                  // the draws of a bf16 tensor of `count` normal numbers
  std::vector<float> normal(std::uint64_t count);  // such a tensor's numbers, before they are rounded; at most 2^30

 private:
  std::uint64_t threads(std::uint64_t count) const;
  std::uint64_t draws(std::uint64_t count) const;  // of each thread, four numbers each
  std::uint64_t draws_of_parts(std::uint64_t count) const;

  std::uint64_t most_blocks_;  // of 256 threads
  std::uint64_t drawn_ = 0;
};

}  // namespace rapt::sim::validate
