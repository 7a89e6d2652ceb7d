// kernels/manifest lists which kernels are compiled for which architectures, and what each may use.
// docs/design/archive.md has the grammar.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/architectures.hpp"

namespace rapt::archive {

// An error in the manifest, a code object or a file; what() says where and what.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "At most", or "at least" for the occupancy.
struct Budget {
  int registers = -1, agprs = -1, sgprs = -1, lds = -1, occupancy = -1;  // -1: not given
  int sgpr_spills = 0;                                                   // to lanes of VGPRs
};

// A kernel of an architecture. A line of the manifest is one row for each of its architectures and types.
struct Row {
  int line = 0;
  std::string operation;  // also the source, <operation>.hip or .cu of kernels/<family or vendor>/attention
  std::string maker;      // "": the vendor's C++ compiler; "triton": kernels/triton/<operation>.py
  std::string arch, dtype, features, p;
  int head_dim = 0, block_k = 0, waves = 0, waves_per_eu = 0, head_slices = 1, query_tiles = 1;
  int shared_memory = 0;  // NVIDIA: bytes that a launch adds to a workgroup
  int block_q = 0, stages = 1,
      mfma = 0;  // Triton: rows of a workgroup, tiles of keys in flight, rows of a matrix product
  std::vector<std::string> flags;
  Budget budget;

  std::string_view vendor() const;
  std::string name() const;    // forward.d128.bf16.plain.k64w8
  std::string symbol() const;  // the same as an identifier
  int queries_per_group(const Architecture& arch) const;
  bool by_triton() const { return maker == "triton"; }
  bool on_hopper() const;                           // in kernels/hopper, for sm_90 alone; four of its waves only copy
  std::vector<std::string> compiler_flags() const;  // macros and flags; Triton: the keys of compile.py
};

// `file` begins errors. Reports every wrong row at once.
std::vector<Row> read_manifest(const std::string& file, std::string_view text);

}  // namespace rapt::archive
