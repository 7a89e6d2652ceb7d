#include "sim/isa/facts/waits.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

class Builder {
 public:
  Builder(const Instruction& i, const Effects& e, Arch arch) : i_(i), e_(e), name_(i.opcode->name), arch_(arch) {}

  WaitFacts facts() {
    if (e_.unit == Unit::wait) {
      read_wait();
    } else {
      count();
    }
    facts_.counted =
        std::any_of(facts_.queue.begin(), facts_.queue.end(), [](auto q) { return q != WaitFacts::uncounted; });
    return facts_;
  }

 private:
  bool gfx12() const { return contains(sim::gfx12, arch_); }
  bool says(std::string_view part) const { return name_.find(part) != name_.npos; }

  void at_most(Counter counter, unsigned count) {
    facts_.waits = true;
    facts_.at_most[static_cast<unsigned>(counter)] = static_cast<std::uint8_t>(count);
  }
  void raise(Counter counter, Queue queue) {
    facts_.queue[static_cast<unsigned>(counter)] = static_cast<std::uint8_t>(queue);
  }

  void read_wait() {
    if (i_.src[0].kind == OperandKind::sgpr) facts_.added_sgpr = static_cast<std::uint8_t>(i_.src[0].index);
    const auto bits = static_cast<std::uint16_t>(i_.immediate);
    if (name_ == "s_waitcnt" && is_cdna(arch_)) {
      at_most(Counter::load, (bits & 15) | (bits >> 14) << 4);
      at_most(Counter::lds, bits >> 8 & 15);
    } else if (name_ == "s_waitcnt") {
      at_most(Counter::load, bits >> 10);
      at_most(Counter::lds, bits >> 4 & 63);
    } else if (name_ == "s_waitcnt_vmcnt" || name_ == "s_wait_loadcnt") {
      at_most(Counter::load, bits & 63);
    } else if (name_ == "s_waitcnt_vscnt" || name_ == "s_wait_storecnt") {
      at_most(Counter::store, bits & 63);
    } else if (name_ == "s_waitcnt_lgkmcnt" || name_ == "s_wait_dscnt") {
      at_most(Counter::lds, bits & 63);
    } else if (name_ == "s_wait_kmcnt") {
      at_most(Counter::scalar, bits & 31);
    } else if (name_ == "s_wait_loadcnt_dscnt" || name_ == "s_wait_storecnt_dscnt") {
      at_most(says("load") ? Counter::load : Counter::store, bits >> 8 & 63);
      at_most(Counter::lds, bits & 63);
    } else if (name_ == "s_wait_idle") {
      for (unsigned c = 0; c < counter_count; ++c) at_most(static_cast<Counter>(c), 0);
    }
  }

  void count() {
    const Counter scalar = gfx12() ? Counter::scalar : Counter::lds;
    switch (e_.unit) {
      case Unit::smem: raise(scalar, Queue::none); break;
      case Unit::message: raise(scalar, Queue::message); break;
      case Unit::lds:
        if (i_.opcode->format == Format::ds && name_ != "ds_nop") raise(Counter::lds, Queue::lds);
        break;
      case Unit::flat: count_flat(); break;
      case Unit::global:
      case Unit::scratch:
      case Unit::buffer: raise(memory_counter(), Queue::memory); break;
      default: count_barrier(scalar); break;
    }
    facts_.to_lds = !e_.stores && (i_.lds || (i_.opcode->traits & trait::to_lds) != 0);
  }

  // A flat operation may access the LDS. On gfx9 it may then complete out of order with all others; gfx10 and later
  // keep the order of both counters (LLVM: FlatLgkmVMemCountInOrder).
  void count_flat() {
    raise(memory_counter(), is_cdna(arch_) ? Queue::none : Queue::memory);
    raise(Counter::lds, is_cdna(arch_) ? Queue::none : Queue::lds);
  }

  // From gfx10 on, operations that return nothing have a separate counter. Cache operations count with their kind.
  Counter memory_counter() const {
    if (is_cdna(arch_)) return Counter::load;
    if (name_.starts_with("global_wb")) return Counter::store;
    return e_.stores && i_.dst.kind == OperandKind::none ? Counter::store : Counter::load;
  }

  void count_barrier(Counter scalar) {
    facts_.ends_barriers = facts_.waits = name_ == "s_barrier_wait";
    if (name_ == "s_get_barrier_state") raise(scalar, Queue::none);
    if (name_ == "s_barrier_signal_isfirst") raise(scalar, Queue::barrier);
  }

  const Instruction& i_;
  const Effects& e_;
  std::string_view name_;
  Arch arch_;
  WaitFacts facts_;
};

}  // namespace

std::string_view counter_name(Arch arch, Counter counter) {
  static constexpr std::string_view before_gfx12[] = {"vmcnt", "lgkmcnt", "vscnt", "lgkmcnt"};
  static constexpr std::string_view from_gfx12[] = {"loadcnt", "dscnt", "storecnt", "kmcnt"};
  return (contains(gfx12, arch) ? from_gfx12 : before_gfx12)[static_cast<unsigned>(counter)];
}

WaitFacts wait_facts(const Instruction& instruction, const Effects& effects, Arch arch) {
  return Builder(instruction, effects, arch).facts();
}

}  // namespace rapt::sim
