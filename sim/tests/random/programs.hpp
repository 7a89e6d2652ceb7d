// Random programs, built for host and device from one source and compared bit for bit.
#pragma once

#include "sim/isa/arch.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rapt::sim::random {

// Kernels k0, k1, ... of one translation unit. Each depends only on the seed and its number.
struct Programs {
  std::uint64_t seed;
  unsigned count;
  std::optional<unsigned> only = std::nullopt;  // only this one
  std::vector<unsigned> without = {};           // not these
  std::vector<unsigned> numbers() const;
};
// C++ for both sides, after prelude.h.
std::string source(const Programs& programs);

// The programs on the host, with what they wrote for the inputs that their seed gives.
class Expected {
 public:
  Expected(const Programs& programs, const std::string& compiler);
  struct Result {
    std::vector<std::uint8_t> out;
    std::vector<std::uint64_t> totals;
  };
  const Programs& programs() const { return programs_; }
  const std::string& text() const { return text_; }
  const std::vector<std::uint8_t>& input() const { return input_; }
  const std::vector<std::uint64_t>& totals_before() const { return totals_; }
  const Result& result(std::size_t n) const { return results_[n]; }  // of the n-th of programs().numbers()

 private:
  Programs programs_;
  std::string text_;
  std::vector<std::uint8_t> input_;
  std::vector<std::uint64_t> totals_;
  std::vector<Result> results_;
};

struct Target {
  Arch arch;
  char level;  // of -O: 0, 1, 3
  std::string compiler;
};
// clang-22 knows every architecture; gfx950 is newer than clang-19.
bool knows(const std::string& compiler, Arch arch);

// The differences, one text for each program: the place, both values, and how to run it again.
std::vector<std::string> differences(const Expected& expected, const Target& target);

}  // namespace rapt::sim::random
