// The hazards of gfx11 and gfx12 in one wave. Their hardware waits for nearly everything; the rest depends on the VALU
// instructions in between, not on wait states.
#pragma once

#include "sim/isa/facts/register_mask.hpp"
#include "sim/machine/core/program.hpp"

namespace rapt::sim {

class RdnaHazards {
 public:
  explicit RdnaHazards(const Wave& wave) : arch_(wave.arch), lanes_(wave.lanes) {}

  // Throws the finding if the instruction is too early; otherwise records it.
  void step(const Entry& entry);

 private:
  struct Event {
    const Entry* entry = nullptr;
    std::uint64_t before = 0;  // VALU instructions of the wave before it
  };

  void check_valu(const Entry& entry);
  void check_product(const Entry& entry) const;
  void check_transcendental(const Entry& entry) const;
  void check_forwarding(const Entry& entry) const;
  void check_masks(const Entry& entry) const;
  void note_valu(const Entry& entry);
  void note_masks(const Entry& entry);
  [[noreturn]] void fail(const std::string& what, const Entry& past, const std::string& remedy) const;
  const Event& event(unsigned n) const { return events_[(events_end_ - 1 - n) % events_.size()]; }

  Arch arch_;
  unsigned lanes_;
  std::uint64_t valus_ = 0;
  const Entry* last_valu_ = nullptr;
  const Entry* compare_ = nullptr;  // the last v_cmpx, if only v_nop followed among VALU instructions
  // Since all VALU results were last waited for:
  std::array<Event, 2> transcendentals_{};  // the last two, the latest first
  std::array<Event, 16> events_{};          // VALU instructions, and scalar ones that write EXEC
  unsigned events_end_ = 16, event_count_ = 0, exec_writes_ = 0;
  // Lane masks: SGPRs that VALU instructions read as masks, and scalar writes of those.
  RegisterMask read_as_mask_, rewritten_;
  bool any_rewritten_ = false;
  const Entry* rewriter_ = nullptr;
};

}  // namespace rapt::sim
