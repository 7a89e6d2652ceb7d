// Copies of code objects from when their first kernel ran, for reports, which are written after they are unloaded.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/machine/core/launch.hpp"

#include <memory>
#include <vector>

namespace rapt::sim {

struct CodeCopy {
  DecodeMode mode;
  std::vector<std::byte> text, file;
};

class CodeCopies {
 public:
  std::shared_ptr<const CodeCopy> of(const Launch& launch);  // the same for the same code

 private:
  std::vector<std::shared_ptr<const CodeCopy>> codes_;
};

// The kernel's first instruction, in dwords from the start of the text.
std::uint32_t entry_slot(const Launch& launch);

}  // namespace rapt::sim
