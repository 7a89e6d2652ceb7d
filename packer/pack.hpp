// Checks code objects with the gate and packs them into the bytes of an archive.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "packer/manifest.hpp"

namespace rapt::archive {

struct Object {
  std::string name;  // of its row
  std::vector<std::byte> code;
  int given = 0;  // Triton: bytes of shared memory that a launch gives a workgroup, which only the compiler knows
  std::string said = {};  // Hopper: what the compiler printed
};

struct Contents {
  std::string arch, compiler, tuning;
  std::vector<Object> objects;
};

struct Packed {
  std::string file;                // the archive's bytes, which do not depend on the order of the contents
  std::vector<std::string> stale;  // rows of the tuning table that another compiler's kernels expire
};

// `manifest` begins the errors about rows; every violation of the gate is in one Error. Throws Error too if a row of
// the tuning table is stale although this compiler made the table's checksums.
Packed pack(const std::string& manifest, const std::vector<Row>& rows, Contents contents);

}  // namespace rapt::archive
