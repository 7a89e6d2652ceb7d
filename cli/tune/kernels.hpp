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

// One way to run a pass: as the tuning table says, or with one kernel by name.
struct Way {
  std::string backend;                   // "hip", "hip.forward.d64.bf16.plain.k64w4"
  TunedKernel kernel;                    // for the default, the kernel that another would replace
  std::vector<TunedKernel> beside = {};  // kernels of other stages that have a choice

  // The kernel of this stage; null if none runs.
  const TunedKernel* of(const std::string& stage) const;
  bool runs(const TunedKernel& other) const;
};

struct Ways {
  std::vector<Way> all;         // [0]: the default
  std::optional<bool> general;  // whether the problem needs general kernels; empty: that changes nothing here

  bool has(const std::string& stage) const;  // true if some way runs a kernel of it
  std::string among() const;                 // their number, and a checksum of their names and codes
};

class DeviceKernels {
 public:
  explicit DeviceKernels(rapt_device device);
  DeviceKernels(rapt_device device, int compute_units, std::vector<TunedKernel> kernels)
      : device_(device), compute_units_(compute_units), kernels_(std::move(kernels)) {}

  // Every kernel of the pass's stages that takes the problem in the default's tile or a smaller one. Throws Error
  // RAPT_UNSUPPORTED if none does.
  Ways ways(const Problem& problem, rapt_op op) const;

  // The problem's cell in the table, for the first stage that any of the kernels computes.
  TuneRow cell(const Problem& problem, rapt_op op, const Ways& ways) const;
  // The rows to write into the table, which make `winner` run, or say that the default stays. Rows are for that cell,
  // for the winner's stage, and for stages whose default kernels do not run beside the winner. Other stages keep their
  // answers, because the race says nothing about them.
  std::vector<TuneRow> rows(const Problem& problem, rapt_op op, const Ways& ways, size_t winner) const;

 private:
  TuneRow cell(const Problem& problem, rapt_op op, const Ways& ways, const std::string& stage) const;
  const TunedKernel* find(const std::string& name) const;
  // The kernels that run if this one is asked for; empty if it cannot run.
  std::vector<TunedKernel> with(const Problem& problem, rapt_op op, const TunedKernel& kernel) const;
  std::vector<TunedKernel> named(const std::string& running, rapt_op op) const;
  std::optional<bool> needs_general(const Problem& problem, rapt_op op, const TunedKernel& chosen) const;
  std::vector<int> tiles(const TunedKernel& like) const;  // of kernels with its stage and type

  rapt_device device_;
  int compute_units_;
  std::vector<TunedKernel> kernels_;
};

}  // namespace rapt::cli
