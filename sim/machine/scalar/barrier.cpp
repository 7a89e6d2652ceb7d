#include "sim/machine/scalar/barrier.hpp"

#include "sim/machine/lds/arrivals.hpp"
#include "sim/machine/core/workgroup.hpp"

namespace rapt::sim {
namespace {

void complete_phase(Workgroup& group) {
  if (group.barrier.members == 0 || group.barrier.signalled < group.barrier.members) return;
  group.barrier.signalled = 0;
  ++group.barrier.phase;
  for (Wave& wave : group.waves)
    if (wave.state == WaveState::at_barrier && group.barrier.phase > wave.barrier_phase)
      wave.state = WaveState::running;
}

}  // namespace

bool signal_barrier(Wave& wave) {
  Barrier& barrier = wave.group->barrier;
  const bool first = barrier.signalled == 0;
  wave.barrier_phase = barrier.phase;
  ++barrier.signalled;
  complete_phase(*wave.group);
  return first;
}

void wait_barrier(Wave& wave) {
  if (wave.group->barrier.phase <= wave.barrier_phase) wave.state = WaveState::at_barrier;
}

void end_wave(Wave& wave) {
  arrive_in_lds(wave, 0);
  wave.state = WaveState::ended;
  --wave.group->live_waves;
  --wave.group->barrier.members;
  complete_phase(*wave.group);
}

}  // namespace rapt::sim
