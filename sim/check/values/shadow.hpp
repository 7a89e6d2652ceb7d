// Whether each register bit of a wave is undefined. Registers that are wholly defined or wholly undefined take no
// memory for their bits.
#pragma once

#include "sim/isa/facts/register_words.hpp"
#include "sim/machine/core/wave.hpp"

#include <memory>

namespace rapt::sim {

// The row of a VGPR or AGPR.
inline unsigned row_of(RegisterFile file, unsigned index) {
  return index + (file == RegisterFile::agpr ? Wave::agpr_row : 0);
}

class Shadow {
 public:
  static constexpr unsigned rows = 512;

  explicit Shadow(unsigned lanes) : lanes_(lanes) {}

  unsigned lanes() const { return lanes_; }
  // The registers with any undefined bit (in any lane).
  const RegisterBits& undefined() const { return any_; }
  // Lanes of a row (AGPRs from Wave::agpr_row on) with any undefined bit.
  std::uint64_t undefined_lanes(unsigned row) const { return undefined_[row]; }
  // The undefined bits of a lane's register.
  std::uint32_t bits(unsigned row, unsigned lane) const {
    if ((undefined_[row] >> lane & 1) == 0) return 0;
    return partly_[row] >> lane & 1 ? bits_[std::size_t{row} * lanes_ + lane] : ~0U;
  }
  void set_bits(unsigned row, unsigned lane, std::uint32_t undefined) {
    const std::uint64_t lane_bit = std::uint64_t{1} << lane;
    if (undefined == 0) define(row, lane_bit);
    else if (undefined == ~0U) undefine(row, lane_bit);
    else set_partly(row, lane, undefined);
  }
  void define(unsigned row, std::uint64_t lanes) {
    undefined_[row] &= ~lanes;
    if (undefined_[row] == 0) any_[row / 64] &= ~(std::uint64_t{1} << row % 64);
  }
  // Every bit of a row's lanes.
  void undefine(unsigned row, std::uint64_t lanes) {
    undefined_[row] |= lanes;
    partly_[row] &= ~lanes;
    if (lanes != 0) any_[row / 64] |= std::uint64_t{1} << row % 64;
  }

  std::uint32_t scalar(unsigned index) const { return scalar_[index]; }
  void set_scalar(unsigned index, std::uint32_t undefined) {
    scalar_[index] = undefined;
    set_any(RegisterMask::place(RegisterFile::sgpr, index), undefined != 0);
  }
  bool scc() const { return (any_[scc_place / 64] >> scc_place % 64 & 1) != 0; }
  void set_scc(bool undefined) { set_any(scc_place, undefined); }

  // Whether any register that the access names has an undefined bit; for vector registers, in one of the lanes.
  bool touches(const RegisterAccess& access, std::uint64_t lanes = ~std::uint64_t{0}) const;

 private:
  static constexpr unsigned scc_place = rows + sreg::count;

  void set_any(unsigned place, bool undefined) {
    const std::uint64_t bit = std::uint64_t{1} << place % 64;
    any_[place / 64] = (any_[place / 64] & ~bit) | (undefined ? bit : 0);
  }
  void set_partly(unsigned row, unsigned lane, std::uint32_t undefined);

  unsigned lanes_;
  RegisterBits any_{};
  std::array<std::uint64_t, rows> undefined_{};
  std::array<std::uint64_t, rows> partly_{};  // undefined lanes some of whose bits are defined: see bits_
  std::array<std::uint32_t, sreg::count> scalar_{};
  std::unique_ptr<std::uint32_t[]> bits_;  // made when first needed
};

}  // namespace rapt::sim
