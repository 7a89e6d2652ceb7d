// Barrier divergence. A phase of the barrier is complete when every wave of the group has arrived.
//  - All waves must arrive at the same instruction.
//  - A wave that ends counts as come in hardware. Surplus waves that leave before their first barrier are common and
//    right. A wave that has been at a barrier, and ends while others go on to another one, is reported: the others
//    still wait for its work.
//  - A wait of gfx12 needs this wave's signal, and each signal a wait before the next signal and before the end.
// EXEC does not matter: the barrier counts waves.
#include "sim/check/checks.hpp"

namespace rapt::sim {
namespace {

class BarrierCheck final : public Observer {
 public:
  explicit BarrierCheck(Workgroup& group) : group_(group), waves_(group.waves.size()) {}

  void before(Wave& wave, const Entry& entry) override {
    if (entry.effects.unit == Unit::barrier) {
      const std::string_view name = entry.instruction.opcode->name;
      if (name == "s_barrier_wait") wait(wave, entry);
      else arrive(wave, entry, name != "s_barrier");
    } else if (entry.effects.unit == Unit::branch && entry.instruction.opcode->name.starts_with("s_endpgm")) {
      end(wave, entry);
    }
  }

 private:
  struct WaveState {
    const Entry* last = nullptr;  // the barrier at which it arrived last
    bool signalled = false;       // and has not waited (gfx12)
    const Entry* end = nullptr;
  };

  std::string text(const Entry& entry) const {
    char offset[24];
    std::snprintf(offset, sizeof offset, "%x", entry.slot * 4);
    return print(group_.program->mode(), entry.instruction) + " at text+0x" + offset;
  }
  static std::string name(unsigned wave) { return "wave " + std::to_string(wave); }

  void arrive(Wave& wave, const Entry& entry, bool split) {
    WaveState& state = waves_[wave.index];
    if (state.signalled)
      report("barrier divergence: " + name(wave.index) + " signals at " + text(entry) +
             " and has not waited since its signal at " + text(*state.last));
    if (gone_)
      report("barrier divergence: " + name(wave.index) + " comes to " + text(entry) + ", but " + name(*gone_) +
             " was at " + text(*waves_[*gone_].last) + " and then ended at " + text(*waves_[*gone_].end));
    if (!first_ || phase_ != group_.barrier.phase) {
      phase_ = group_.barrier.phase;
      first_ = &entry;
      first_wave_ = wave.index;
    } else if (first_ != &entry) {
      report("barrier divergence: " + name(wave.index) + " comes to " + text(entry) + " while " + name(first_wave_) +
             " is at " + text(*first_));
    }
    state.last = &entry;
    state.signalled = split;
  }

  void wait(Wave& wave, const Entry& entry) {
    WaveState& state = waves_[wave.index];
    if (!state.signalled)
      report("barrier divergence: " + name(wave.index) + " waits at " + text(entry) + " without its own signal");
    state.signalled = false;
  }

  void end(Wave& wave, const Entry& entry) {
    WaveState& state = waves_[wave.index];
    if (state.signalled)
      report("barrier divergence: " + name(wave.index) + " ends and has not waited since its signal at " +
             text(*state.last));
    if (!state.last) return;
    state.end = &entry;
    gone_ = wave.index;
    if (group_.barrier.signalled > 0)
      report("barrier divergence: " + name(wave.index) + ", which was at " + text(*state.last) + ", ends at " +
             text(entry) + " while " + name(first_wave_) + " waits at " + text(*first_));
  }

  Workgroup& group_;
  std::vector<WaveState> waves_;
  std::uint64_t phase_ = 0;
  const Entry* first_ = nullptr;  // to arrive in this phase
  unsigned first_wave_ = 0;
  std::optional<unsigned> gone_;  // a wave that was at a barrier and has ended
};

}  // namespace

std::unique_ptr<Observer> make_barrier_check(Workgroup& group) { return std::make_unique<BarrierCheck>(group); }

}  // namespace rapt::sim
