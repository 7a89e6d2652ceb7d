// The kernels that can run a problem on a GPU, in the words of tuning tables.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/tune/table.hpp"
#include "rapt/rapt.hpp"

namespace rapt::cli {

struct TunedKernel {
  std::string name, stage, features;
  rapt_dtype dtype;
  int head_dim = 0;  // the tile
  uint32_t crc32 = 0;

  std::string text() const;  // NAME:CRC32
};

// One way to run a problem: the pass that the tuning table takes, or the one that a kernel leads.
struct Way {
  std::string backend;  // "hip", "hip.forward.d64.bf16.plain.k64w4"
  TunedKernel lead;     // the pass's leading kernel, which rows of tables name
};

struct Ways {
  std::vector<Way> all;         // [0]: the default
  std::optional<bool> general;  // whether the problem needs general kernels; empty: that changes nothing here

  std::string among() const;  // the number of leading kernels, and a checksum of their names and codes
};

class DeviceKernels {
 public:
  explicit DeviceKernels(rapt_device device);
  DeviceKernels(rapt_device device, int compute_units, std::vector<TunedKernel> kernels)
      : device_(device), compute_units_(compute_units), kernels_(std::move(kernels)) {}

  // The default and every other pass whose leading kernel has the default's tile or a smaller one. Throws Error
  // RAPT_UNSUPPORTED if no pass takes the problem.
  Ways ways(const Problem& problem, rapt_op op) const;

  // The cell of the table that the problem is in.
  TuneRow cell(const Problem& problem, rapt_op op, const Ways& ways) const;

 private:
  // The leading kernel of the pass that explain() prints as "NAME + NAME"; null if there is none.
  const TunedKernel* lead_of(const std::string& running, rapt_op op) const;
  // Whether a pass that this kernel leads can run the problem.
  bool can_lead(const Problem& problem, rapt_op op, const TunedKernel& kernel) const;
  std::optional<bool> needs_general(const Problem& problem, rapt_op op, const TunedKernel& chosen) const;
  std::vector<int> tiles(const TunedKernel& like) const;  // of its stage and type

  rapt_device device_;
  int compute_units_;
  std::vector<TunedKernel> kernels_;
};

}  // namespace rapt::cli
