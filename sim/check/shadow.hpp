// For every register bit of a wave: whether it is undefined. A row that has no undefined bit costs one comparison.
#pragma once

#include "sim/isa/effects.hpp"
#include "sim/machine/wave.hpp"

#include <array>
#include <vector>

namespace rapt::sim {

class Shadow {
 public:
  static constexpr unsigned rows = 512;

  explicit Shadow(unsigned lanes) : lanes_(lanes), bits_(std::size_t{rows} * lanes) {}

  unsigned lanes() const { return lanes_; }
  // Lanes of a row (AGPRs from Wave::agpr_row on) with any undefined bit.
  std::uint64_t undefined_lanes(unsigned row) const { return undefined_[row]; }
  // The undefined bits of a lane's register.
  std::uint32_t bits(unsigned row, unsigned lane) const {
    return undefined_[row] >> lane & 1 ? bits_[std::size_t{row} * lanes_ + lane] : 0;
  }
  void set_bits(unsigned row, unsigned lane, std::uint32_t undefined) {
    const std::uint64_t lane_bit = std::uint64_t{1} << lane;
    if (undefined == 0) {
      undefined_[row] &= ~lane_bit;
    } else {
      undefined_[row] |= lane_bit;
      bits_[std::size_t{row} * lanes_ + lane] = undefined;
    }
  }
  void define(unsigned row, std::uint64_t lanes) { undefined_[row] &= ~lanes; }
  void undefine(unsigned row, std::uint64_t lanes);

  std::uint32_t scalar(unsigned index) const { return scalar_[index]; }
  void set_scalar(unsigned index, std::uint32_t undefined) { scalar_[index] = undefined; }
  bool scc() const { return scc_; }
  void set_scc(bool undefined) { scc_ = undefined; }

  // Whether any register that the access names has an undefined bit (in any lane).
  bool touches(const RegisterAccess& access) const;

 private:
  unsigned lanes_;
  std::array<std::uint64_t, rows> undefined_{};
  std::array<std::uint32_t, sreg::count> scalar_{};
  bool scc_ = false;
  std::vector<std::uint32_t> bits_;
};

// The row of a VGPR or AGPR.
inline unsigned row_of(RegisterFile file, unsigned index) {
  return index + (file == RegisterFile::agpr ? Wave::agpr_row : 0);
}

}  // namespace rapt::sim
