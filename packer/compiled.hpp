// A compiled kernel as its vendor's metadata describes it. A vendor's reader fills in what all vendors' kernels have,
// and brings the rules and the index entries of its own: amd.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "packer/manifest.hpp"

namespace rapt::archive {

struct Resources {
  std::string target;     // the architecture that it was compiled for: "gfx942"
  std::string name;       // of its symbol
  int lanes = 0;          // of a wave
  int max_threads = 0;    // of a workgroup
  int registers = 0;      // of a thread, 32 bits each
  int shared_memory = 0;  // bytes of a workgroup
  int spills = 0;         // registers that the compiler had no room for
  int argument_size = 0;  // bytes
};

class Compiled {
 public:
  Resources resources;

  virtual ~Compiled() = default;
  // A sentence for each rule of this vendor's that the kernel breaks, spills among them.
  virtual std::vector<std::string> violations(const Row& row, const Architecture& arch) const = 0;
  // The vendor's block of the index.
  virtual nlohmann::ordered_json block(const Row& row, const Architecture& arch) const = 0;
};

// Of the one kernel that the code object has. Throws Error, which begins with `name`.
std::unique_ptr<Compiled> read_amd(const std::string& name, std::span<const std::byte> elf);

// Notes a violation where `value` goes beyond the budget, which may be -1: not given.
void at_most(std::vector<std::string>& violations, const char* what, int value, int budget);

}  // namespace rapt::archive
