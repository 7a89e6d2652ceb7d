// What a code object says about its kernel: the AMDGPU metadata note of the ELF file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rapt::archive {

struct KernelMetadata {
  std::string target;  // "gfx942"
  std::string name;
  int vgprs = 0, agprs = 0, sgprs = 0, vgpr_spills = 0, sgpr_spills = 0;
  int scratch = 0, lds = 0, kernarg_size = 0, max_threads = 0, wave = 0;
  bool dynamic_stack = false;
  std::vector<std::string> hidden;  // the kinds of its hidden arguments
};

// Of the one kernel that the code object has. Throws Error, which begins with `name`.
KernelMetadata read_metadata(const std::string& name, std::span<const std::byte> elf);

}  // namespace rapt::archive
