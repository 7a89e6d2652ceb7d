// A compiled kernel as described by its vendor's metadata. A vendor's reader (amd.cpp, nvidia.cpp) fills in the common
// fields and adds the vendor's rules and index entries.
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
  std::string target;     // the architecture that it was compiled for: "gfx942", "sm_90"
  std::string name;       // its symbol
  int lanes = 0;          // per wave
  int max_threads = 0;    // per workgroup
  int registers = 0;      // per thread, 32 bits each
  int shared_memory = 0;  // bytes per workgroup
  int spills = 0;         // spilled registers
  int argument_size = 0;  // bytes
};

class Compiled {
 public:
  Resources resources;

  virtual ~Compiled() = default;
  // A sentence per rule of this vendor that the kernel breaks, including spills.
  virtual std::vector<std::string> violations(const Row& row, const Architecture& arch) const = 0;
  // The vendor's block of the index.
  virtual nlohmann::ordered_json block(const Row& row, const Architecture& arch) const = 0;
};

// Reads the only kernel of a code object. Throws Error, which begins with `name`. `given` is the shared memory that a
// launch gives a workgroup: the code object does not say it.
std::unique_ptr<Compiled> read_amd(const std::string& name, std::span<const std::byte> elf, int given);
std::unique_ptr<Compiled> read_nvidia(const std::string& name, std::span<const std::byte> elf, int given);

// Adds a violation if `value` exceeds the budget; -1: no budget.
void at_most(std::vector<std::string>& violations, const char* what, int value, int budget);

}  // namespace rapt::archive
