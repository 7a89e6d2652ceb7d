// The check of races against a plain model of it, by random accesses between barriers. Some have the shapes of the fast
// paths: runs, whole sixteen bytes, adjacent halves of a matrix. Both report a race at the same access.
#include "sim/check/races/races.hpp"
#include "sim/tests/support/checked_group.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rapt::sim::test {
namespace {

using u64 = std::uint64_t;

struct Kind {
  Space space;
  unsigned waves;
  bool whole;     // sixteen bytes per lane, at multiples of sixteen
  bool own_code;  // every wave has separate instructions
};

constexpr unsigned memory_bytes = 2048;

// The waves that accessed each byte since the last barrier.
class Model {
 public:
  explicit Model(unsigned waves) : waves_(waves) {}

  bool races(unsigned wave, bool stores, const std::vector<std::pair<unsigned, unsigned char>>& bytes) const {
    for (const auto& [at, value] : bytes)
      for (unsigned other = 0; other < waves_; ++other) {
        if (other == wave) continue;
        if (stored_[at] >> other & 1 && (!stores || value_[at] != value)) return true;
        if (stores && loaded_[at] >> other & 1) return true;
      }
    return false;
  }
  void join(unsigned wave, bool stores, const std::vector<std::pair<unsigned, unsigned char>>& bytes) {
    for (const auto& [at, value] : bytes) {
      (stores ? stored_ : loaded_)[at] |= 1U << wave;
      if (!stores) continue;
      loaded_[at] &= ~(1U << wave);  // a wave's store replaces its earlier load, even if equal stores are not a race
      value_[at] = value;
    }
  }
  void barrier() {
    stored_.fill(0);
    loaded_.fill(0);
  }

 private:
  unsigned waves_;
  std::array<std::uint32_t, memory_bytes> stored_{}, loaded_{};
  std::array<unsigned char, memory_bytes> value_{};
};

class Scene {
 public:
  Scene(const std::shared_ptr<const CheckedCode>& code, const Kind& kind, std::mt19937& random)
      : kind_(kind), random_(random), model_(kind.waves), group_(code, 0, kind.waves, {}), program_(code->program()) {
    group().program = &code->program();
    check_ = make_race_check(group(), launch_);
    // The border of two pages of global memory is in the middle.
    base_ = kind.space == Space::lds ? reinterpret_cast<u64>(group().lds.data()) : (u64{1} << 40) - memory_bytes / 2;
    barrier();
  }

  // Who sees a race: bit 0 the model, bit 1 the check.
  unsigned step() {
    if (pick(8) == 0) barrier();
    const unsigned w = pick(kind_.waves);
    const bool stores = pick(3) == 0;
    const Entry& entry = program_.at(program_.base() + (kind_.own_code ? 32 * w : 0) + (stores ? 8 : 0));
    Wave& wave = group().waves[w];
    const unsigned bytes = kind_.whole ? 16 : 1U << pick(5);
    std::array<u64, 64> at;
    const u64 lanes = shape(wave, w, bytes, at);
    if (lanes == 0) return 0;
    for (unsigned row = 4; row < 8; ++row)
      for (unsigned l = 0; l < wave.lanes; ++l) wave.row(row)[l] = pick(6) == 0 ? 0x01010101 : 0;
    std::vector<std::pair<unsigned, unsigned char>> touched;
    for_lanes(lanes, [&](unsigned l) {
      for (unsigned b = 0; b < bytes; ++b)
        touched.emplace_back(at[l] - base_ + b, reinterpret_cast<unsigned char*>(&wave.row(4 + b / 4)[l])[b % 4]);
    });
    unsigned found = model_.races(w, stores, touched) ? 1 : 0;
    model_.join(w, stores, touched);
    try {
      check_->before(wave, entry);
      check_->access(wave, entry.instruction,
                     {kind_.space, stores ? Action::store : Action::load, bytes, lanes, at.data()});
      check_->after(wave, entry);
    } catch (const Fault&) {
      found |= 2;
    }
    if (stores && kind_.space == Space::lds)
      for (const auto& [byte, value] : touched) group().lds[byte] = value;
    return found;
  }

 private:
  Workgroup& group() { return *group_.wave(0).group; }
  unsigned pick(unsigned n) { return static_cast<unsigned>(random_() % n); }

  // A wave's part of memory, which changes with each barrier, or sometimes any part.
  u64 shape(const Wave& wave, unsigned w, unsigned bytes, std::array<u64, 64>& at) {
    const unsigned lanes = wave.lanes, part = memory_bytes / kind_.waves;
    const bool own = pick(16) != 0;
    const unsigned first = own ? (w + phase_) % kind_.waves * part : 0, size = own ? part : memory_bytes;
    const unsigned start = pick(size / bytes) * bytes, stride = bytes * (1U << pick(4));
    const unsigned far = lanes >> (1 + pick(3)), kind = pick(5);
    for (unsigned l = 0; l < lanes; ++l) {
      u64 offset = start + l * bytes;                                                          // one run
      if (kind == 1) offset = start + l * stride;                                              // many
      if (kind == 2) offset = start + (l & (far - 1)) * stride * 2 + ((l & far) ? bytes : 0);  // parts of a matrix
      if (kind == 3) offset = start + l / 4 * bytes;                                           // several lanes each
      if (kind == 4) offset = pick(size) / bytes * bytes;
      at[l] = base_ + first + offset % size;
    }
    u64 active = wave.all_lanes();
    if (pick(4) == 0) active &= random_() | u64{random_()} << 32;
    // After a single lane's store, which may be a flag, the wave's accesses are recorded separately. There is room for
    // four per sixteen bytes.
    if (kind_.whole && kind_.waves == 2 && pick(4) == 0) active = u64{1} << pick(lanes);
    else if (std::has_single_bit(active)) active = 0;
    return active;
  }

  void barrier() {
    const Entry& entry = program_.at(program_.base() + 16);
    for (Wave& wave : group().waves) {
      check_->before(wave, entry);
      if (wave.index + 1 == kind_.waves) ++group().barrier.phase;
      check_->after(wave, entry);
    }
    model_.barrier();
    ++phase_;
  }

  Kind kind_;
  std::mt19937& random_;
  Model model_;
  CheckedGroup group_;
  const Program& program_;
  RaceLaunch launch_;
  std::unique_ptr<Observer> check_;
  u64 base_ = 0;
  unsigned phase_ = 0;
};

class RandomRaces : public testing::TestWithParam<Kind> {};

TEST_P(RandomRaces, AsTheModelSays) {
  std::mt19937 random(3);
  for (const Arch arch : {Arch::gfx942, Arch::gfx1100}) {
    const std::string text = is_cdna(arch) ? "ds_read_b128 v[4:7], v0\nds_write_b128 v0, v[4:7]\ns_barrier\n"
                                           : "ds_load_b128 v[4:7], v0\nds_store_b128 v0, v[4:7]\ns_barrier\n";
    const auto code =
        std::make_shared<CheckedCode>(arch, std::vector<std::string>(GetParam().waves, text + "s_nop 0\ns_nop 0"));
    ASSERT_EQ(code->start(1) - code->start(0), 32);
    unsigned races = 0, silent = 0, missed = 0;
    for (unsigned scenes = 0; scenes < 300; ++scenes) {
      Scene scene(code, GetParam(), random);
      for (unsigned n = 0; n < 60; ++n) {
        const unsigned found = scene.step();
        ASSERT_NE(found, 2) << "a race that is none, in scene " << scenes << ", step " << n;
        races += found == 3;
        silent += found == 0;
        missed += found == 1;
        if (found != 0) break;
      }
    }
    EXPECT_EQ(missed, 0);
    EXPECT_GT(races, 100);
    EXPECT_GT(silent, 1000);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomRaces,
                         testing::Values(Kind{Space::lds, 2, false, false}, Kind{Space::lds, 2, false, true},
                                         Kind{Space::lds, 2, true, true}, Kind{Space::lds, 8, true, false},
                                         Kind{Space::global, 2, false, false}, Kind{Space::global, 2, true, true},
                                         Kind{Space::global, 8, true, false}));

}  // namespace
}  // namespace rapt::sim::test
