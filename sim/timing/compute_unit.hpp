// One unit with its resident workgroups: a compute unit of CDNA, where one SIMD has its turn in each clock, or a
// workgroup processor of RDNA, where all four have. A SIMD in its turn issues at most one instruction of each kind,
// from different waves, which issue in order. Trace-driven: what instructions do was decided by the machine, here they
// only take time. What they have to wait for is in results_cdna.cpp and results_rdna.cpp.
#pragma once

#include "sim/timing/counters.hpp"
#include "sim/timing/instruction_fetch.hpp"
#include "sim/timing/plan.hpp"
#include "sim/timing/results.hpp"
#include "sim/timing/timeline.hpp"

#include <deque>
#include <limits>
#include <optional>

namespace rapt::sim::timing {

class ComputeUnit {
 public:
  ComputeUnit(const Chip& chip, Steps& steps, const Shares& shares, Service& service, std::vector<SlotTime>& slots,
              Placement placement = {}, Timeline* timeline = nullptr);

  // The group's trace must live until the group has ended.
  void start(const GroupTrace& group, Clock at);
  bool empty() const { return groups_.empty(); }
  // Runs until one of its groups ends, and returns when, or to `until`.
  std::optional<Clock> run(Clock until);
  // When the last of its vector memory operations so far will have ended: on RDNA stores may outlive
  // their wave.
  Clock memory_ended() const { return memory_.ended(); }
  void share(const Shares& shares) { memory_.share(shares); }  // from now on

  double memory_busy() const { return memory_.memory_busy(); }
  Clock matrix_busy() const { return matrix_busy_; }  // of all SIMDs
  Clock vector_busy() const { return vector_busy_; }
  std::uint64_t instructions() const { return instructions_; }

 private:
  static constexpr Clock never = std::numeric_limits<Clock>::max();
  struct Group;
  struct Simd;
  struct Wave {
    const WaveTrace* trace;
    Group* group;
    Simd* simd;
    std::size_t at = 0, request = 0;
    std::uint32_t line = 0;  // of its next instruction, in the instruction cache
    Clock ready = 0;         // not issued before
    Clock could = 0;         // when it could have issued its next instruction, had nothing stalled it
    Stall reason = Stall::issue;
    std::uint32_t age = 0;  // the number of waves that the unit started before
    unsigned priority = 0;
    unsigned arrivals = 0;  // at barriers
    bool at_barrier = false, released = false;
    bool scalar_loads = false;  // lgkmcnt counts some, and not only the LDS's
    std::array<Outstanding, counter_count> outstanding;
    std::unique_ptr<Results> results;
  };
  struct Group {
    std::vector<std::unique_ptr<Wave>> waves;
    unsigned live = 0, arrived = 0;
    unsigned barriers = 0;   // that all have arrived at
    unsigned lds_place = 0;  // among the groups that are resident
  };
  struct Simd {
    std::vector<Wave*> waves;  // the oldest first
    unsigned compute_unit = 0;
    Clock next = never;  // when one of its waves may issue
    Clock vector_free = 0, matrix_free = 0, transcendental_free = 0;
  };
  using Used = std::array<bool, port_count>;

  Wave& add_wave(Group& group, const WaveTrace& trace, Simd& simd, Clock at);
  void turn(Simd& simd);
  void try_issue(Simd& simd, Wave& wave, Used& used);
  bool wait_until(Wave& wave, Clock time, Stall reason);
  bool is_held(Simd& simd, Wave& wave, const Step& step);
  bool waits_for_counters(Wave& wave, const Step& step);
  bool waits_for_stores(Wave& wave);
  void issue(Simd& simd, Wave& wave, const Step& step);
  void issue_memory(Wave& wave, const Step& step, std::uint32_t slot);
  void go_on(Wave& wave, const Step& step, std::uint32_t slot);
  void meet(Wave& wave, const Step& step);
  void release(Group& group);
  void end(Simd& simd, Wave& wave);
  unsigned free_lds_place() const;
  double& lds_free(const Wave& wave);
  Clock turn_at(const Simd& simd, Clock from) const;
  Clock next_turn() const;

  const Chip& chip_;
  Steps& steps_;
  std::vector<SlotTime>& slots_;
  Timeline* timeline_;  // null: not drawn
  InstructionFetch fetch_;
  MemoryPath memory_;
  std::array<double, 2> lds_free_{};  // of each block of banks: one per compute unit
  std::vector<Simd> simds_;
  std::deque<std::unique_ptr<Group>> groups_;
  std::unique_ptr<Group> ended_;
  Placement placement_;
  unsigned next_simd_ = 0, groups_started_ = 0;
  Clock now_ = 0, matrix_busy_ = 0, vector_busy_ = 0;
  std::uint64_t instructions_ = 0;
  std::uint32_t waves_ = 0;
};

}  // namespace rapt::sim::timing
