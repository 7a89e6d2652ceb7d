// The index of an archive: JSON to checked values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/archive.hpp"

namespace rapt::gpu {

struct Index {
  std::string vendor, arch, compiler, tuning;
  std::vector<Variant> variants;
};

// The code objects must be in [code_begin, code_end) of the file. `gpu` is whose occupancies are wanted, if it is a
// sibling (kernels/siblings.hpp). Throws Error that names the file.
Index read_index(const std::string& path, std::string_view json, uint32_t version, uint64_t code_begin,
                 uint64_t code_end, const std::string& gpu);

}  // namespace rapt::gpu
