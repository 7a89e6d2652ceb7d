// Checks code objects with the gate and packs them into the bytes of an archive.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "packer/manifest.hpp"

namespace rapt::archive {

struct Object {
  std::string name;  // the row's
  std::vector<std::byte> code;
  int given = 0;  // Triton: bytes of shared memory that a launch gives a workgroup, which only the compiler knows
};

struct Contents {
  std::string arch, compiler, tuning;
  std::vector<Object> objects;
};

// `manifest` begins errors about rows. One Error reports every violation of the gate. The bytes depend on the contents,
// not on their order.
std::string pack(const std::string& manifest, const std::vector<Row>& rows, Contents contents);

}  // namespace rapt::archive
