#include "sim/isa/opcode_index.hpp"

namespace rapt::sim {

OpcodeIndex::OpcodeIndex(Arch arch, std::span<const std::span<const Opcode>> tables) {
  for (const auto& table : tables) {
    for (const Opcode& row : table) {
      if (contains(row.archs, arch)) rows_.push_back(row);
    }
  }
  for (const Opcode& row : rows_) {
    auto& slots = by_code_[static_cast<unsigned>(row.format)];
    if (slots.size() <= row.code) slots.resize(row.code + 1U);
    slots[row.code] = &row;
  }
}

}  // namespace rapt::sim
