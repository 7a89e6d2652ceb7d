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

// One way to run a pass: the tuning table's, or with one kernel by name.
struct Way {
  std::string backend;                   // "hip", "hip.forward.d64.bf16.plain.k64w4"
  TunedKernel kernel;                    // of the default the one that others would replace
  std::vector<TunedKernel> beside = {};  // those of other stages that have a choice

  // Of this stage; null if it runs none.
  const TunedKernel* of(const std::string& stage) const;
  bool runs(const TunedKernel& other) const;
};

struct Ways {
  std::vector<Way> all;         // [0]: the default
  std::optional<bool> general;  // whether the problem needs general kernels; empty: that changes nothing here

  bool has(const std::string& stage) const;  // a kernel of it
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

  // The cell of the table that the problem is in: of the first stage that any of the kernels computes.
  TuneRow cell(const Problem& problem, rapt_op op, const Ways& ways) const;
  // What to write into the table: what makes `winner` run, or that the default stays. Rows are of that cell, of the
  // winner's stage, and of the stages whose default kernels do not run beside the winner. Other stages keep their
  // answers, which the race says nothing about.
  std::vector<TuneRow> rows(const Problem& problem, rapt_op op, const Ways& ways, size_t winner) const;

 private:
  TuneRow cell(const Problem& problem, rapt_op op, const Ways& ways, const std::string& stage) const;
  const TunedKernel* find(const std::string& name) const;
  // What runs if this kernel is asked for; empty if it cannot run.
  std::vector<TunedKernel> with(const Problem& problem, rapt_op op, const TunedKernel& kernel) const;
  std::vector<TunedKernel> named(const std::string& running, rapt_op op) const;
  std::optional<bool> needs_general(const Problem& problem, rapt_op op, const TunedKernel& chosen) const;
  std::vector<int> tiles(const TunedKernel& like) const;  // of its stage and type

  rapt_device device_;
  int compute_units_;
  std::vector<TunedKernel> kernels_;
};

}  // namespace rapt::cli
