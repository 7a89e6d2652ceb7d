// Infers the purpose of an access from the code around it. An instruction may not show that it is an atomic load or
// store. Its use does: a flag is polled, and a value for a compare-and-swap is read first.
#pragma once

#include "sim/machine/core/program.hpp"

#include <unordered_map>

namespace rapt::sim {

class RaceCode {
 public:
  explicit RaceCode(const Program& program) : program_(program) {}

  const Entry& at(std::uint32_t slot) const { return program_.at(program_.base() + std::uint64_t{slot} * 4); }
  std::string text(std::uint32_t slot) const;

  // A load or atomic that a short loop without stores and barriers repeats at one address, to wait for another wave.
  bool polls(std::uint32_t slot);
  // A load that polls, or one before a compare-and-swap in the same space: the initial value of a loop that implements
  // an atomic which the hardware lacks.
  bool synchronises(std::uint32_t slot);

 private:
  bool in_polling_loop(std::uint32_t slot) const;
  bool repeats_unchanged(const Entry& polled, std::uint64_t from, std::uint64_t to) const;
  bool before_swap(std::uint32_t slot) const;

  const Program& program_;
  std::unordered_map<std::uint32_t, bool> polls_, swaps_;
};

}  // namespace rapt::sim
