// gfx9's hazards in one wave: results that may only be used some wait states later.
#pragma once

#include "sim/isa/facts/register_mask.hpp"
#include "sim/machine/core/program.hpp"

namespace rapt::sim {

class CdnaHazards {
 public:
  explicit CdnaHazards(const Wave& wave) : arch_(wave.arch), lanes_(wave.lanes) {}

  // Throws the finding if the instruction is too early; otherwise records it.
  void step(const Entry& entry);

  struct Past {
    const Entry* entry = nullptr;
    kind::Kinds kinds = 0;
    std::uint64_t end = 0;  // wait states of the wave when it was done
  };

 private:
  void check_recent(const Entry& entry);
  void check_products(const Entry& entry);
  void check_product_use(const Entry& entry, const RegisterAccess& access, bool written);
  const Past& recent(unsigned n) const { return recent_[(recent_end_ - 1 - n) % recent_.size()]; }
  const Past& product(unsigned n) const { return products_[(products_end_ - 1 - n) % products_.size()]; }

  Arch arch_;
  unsigned lanes_;
  std::uint64_t now_ = 1000;  // nothing before the first instruction is in range
  // The kinds of what ran in the last five to ten wait states: no need to look for others.
  kind::Kinds newer_ = 0, older_ = 0;
  std::uint64_t newer_begin_ = 0;
  std::array<Past, 8> recent_{};
  std::array<Past, 32> products_{};
  unsigned recent_end_ = 8, products_end_ = 32;
  RegisterMask product_registers_;  // that products in range write or add to
  RegisterGroups product_groups_ = 0;
};

}  // namespace rapt::sim
