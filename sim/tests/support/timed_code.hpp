// Assembly as one workgroup on a compute unit of the timing model.
#pragma once

#include "sim/tests/support/profiled_code.hpp"
#include "sim/timing/compute_unit.hpp"
#include "sim/timing/recorder.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {

class TimedCode {
 public:
  TimedCode(const timing::Chip& chip, const std::string& text, unsigned waves = 1)
      : chip_(chip), code_(chip.arch, text + "\ns_endpgm", 0, waves) {}

  Wave& wave(unsigned n = 0) { return code_.wave(n); }
  void set_address(unsigned sgpr, const void* address) {
    for (Wave& w : code_.group.waves) w.set_pair(sgpr, reinterpret_cast<std::uint64_t>(address));
  }

  // Clocks until the group's end, when it is alone on its unit. May be called once.
  timing::Clock clocks() {
    record();
    return again();
  }
  // The same from the trace, where `units` units do the same, each with its own L1.
  timing::Clock again(unsigned units = 1, timing::Placement placement = {}) {
    timing::Steps steps(code_.program(), chip_);
    const std::vector<std::vector<timing::CrowdGroup>> crowd(1, {units, {&trace_, ~std::uint64_t{0}}});
    timing::Service service(chip_, steps, crowd, {});
    slots.assign(code_.program().slots(), {});
    timing::ComputeUnit unit(chip_, steps, timing::shares_of(chip_, chip_.clock_mhz, 1, 1), service, slots, placement);
    unit.start(trace_, 0);
    return unit.run(~std::uint64_t{0}).value();
  }
  const timing::GroupTrace& trace() const { return trace_; }

  std::vector<timing::SlotTime> slots;
  std::uint64_t stalled(timing::Stall stall) const {
    std::uint64_t sum = 0;
    for (const timing::SlotTime& slot : slots) sum += slot.stalled[static_cast<unsigned>(stall)];
    return sum;
  }

 private:
  void record() {
    timing::Recorder recorder(chip_.line_bytes, {}, 1);
    recorder.begin_group(code_.group, 0);
    code_.run(recorder);
    trace_ = recorder.end_group();
  }

  timing::Chip chip_;
  ProfiledCode code_;
  timing::GroupTrace trace_;
};

// For tests of each chip that has instructions of its own.
inline std::vector<const timing::Chip*> chips_of(ArchSet archs) {
  std::vector<const timing::Chip*> list;
  for (const timing::Chip& chip : timing::chips())
    if (instructions_of(chip.arch) == chip.arch && contains(archs, chip.arch)) list.push_back(&chip);
  return list;
}
inline std::string chip_name(const testing::TestParamInfo<const timing::Chip*>& test) {
  return std::string(test.param->name);
}

inline std::string repeat(unsigned times, const std::string& text) {
  std::string all;
  for (unsigned n = 0; n < times; ++n) all += text + "\n";
  return all;
}

}  // namespace rapt::sim::test
