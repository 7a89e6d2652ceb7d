// What stops a kernel. Thrown by instruction handlers; the run loop adds kernel, instruction and wave.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>

namespace rapt::sim {

enum class FaultKind : std::uint8_t {
  illegal_instruction,  // not an instruction, or one that the simulator refuses
  illegal_address,      // outside every allocation, freed, or misaligned if the machine needs alignment
  trap,                 // s_trap, a message that aborts
  check,                // a sanitizer's report
  endless,              // more instructions than allowed, or nothing can make progress
};

struct Fault : std::runtime_error {
  Fault(FaultKind kind_, const std::string& what, std::optional<unsigned> lane_ = {},
        std::optional<std::uint64_t> address_ = {})
      : std::runtime_error(what), kind(kind_), lane(lane_), address(address_) {}
  FaultKind kind;
  std::optional<unsigned> lane;
  std::optional<std::uint64_t> address;
};

}  // namespace rapt::sim
