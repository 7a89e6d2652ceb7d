// The checks that look at an instruction, found once when it is decoded: for most instructions only a few.
#pragma once

#include "sim/isa/facts/hazards.hpp"
#include "sim/isa/facts/waits.hpp"

namespace rapt::sim {

// In the order in which they look at an instruction: undefined values are found before their consequences.
enum class CheckKind : std::uint8_t { values, waits, hazards, operands, alignment, races, barriers };
inline constexpr unsigned check_kinds = 7;

using CheckSet = std::uint8_t;  // bit n: the kind with number n
constexpr CheckSet set_of(CheckKind kind) { return static_cast<CheckSet>(1U << static_cast<unsigned>(kind)); }

// Checks that see every memory access.
inline constexpr CheckSet access_checks =
    set_of(CheckKind::values) | set_of(CheckKind::waits) | set_of(CheckKind::alignment) | set_of(CheckKind::races);

struct CheckInterest {
  CheckSet before = 0, after = 0;
};

CheckInterest check_interest(const Instruction& instruction, const Effects& effects, const WaitFacts& waits,
                             const HazardFacts& hazards, DecodeMode mode);

}  // namespace rapt::sim
