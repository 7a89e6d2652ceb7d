// The rows of one architecture, found by format and opcode field without a search.
#pragma once

#include "sim/isa/opcode.hpp"

#include <span>
#include <vector>

namespace rapt::sim {

class OpcodeIndex {
 public:
  OpcodeIndex() = default;
  OpcodeIndex(Arch arch, std::span<const std::span<const Opcode>> tables);

  // None if the architecture has no such opcode.
  const Opcode* find(Format format, unsigned code) const {
    const auto& rows = by_code_[static_cast<unsigned>(format)];
    return code < rows.size() ? rows[code] : nullptr;
  }
  std::span<const Opcode> rows() const { return rows_; }

 private:
  std::vector<Opcode> rows_;  // instructions point at these
  std::array<std::vector<const Opcode*>, static_cast<unsigned>(Format::unsupported) + 1> by_code_;
};

}  // namespace rapt::sim
