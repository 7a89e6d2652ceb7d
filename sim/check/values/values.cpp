// A value never written that reaches a store to global memory, an address, a branch or EXEC. Undefined bits may be
// moved, combined, and kept in LDS and private memory, as long as they decide nothing.
#include "sim/check/checks.hpp"
#include "sim/check/values/memory_shadow.hpp"
#include "sim/check/values/propagate.hpp"
#include "sim/check/register_name.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

// An access that involves undefined values, kept until the end of the instruction.
struct Recorded {
  Space space;
  Action action;
  unsigned bytes;
  unsigned loaded;  // dwords that the instruction loaded before
  std::uint64_t lanes;
  std::array<std::uint64_t, 64> at;
};

// The state of a wave and of its current instruction.
struct WaveValues {
  explicit WaveValues(unsigned lanes) : shadow(lanes) {}
  Shadow shadow;
  const Entry* entry = nullptr;
  bool flows = false;      // it reads something undefined
  std::uint64_t exec = 0;  // before it ran
  unsigned loaded = 0;     // dwords that its accesses have loaded
  std::vector<Undefined> results;
  std::vector<Recorded> accesses;
};

class ValueCheck final : public Observer {
 public:
  explicit ValueCheck(Workgroup& group) : runner_(group.waves[0].lanes), memory_(group) {
    for (const Wave& wave : group.waves) {
      WaveValues& values = waves_.emplace_back(wave.lanes);
      for (unsigned row = 0; row < Shadow::rows; ++row)
        if (row >= wave.initial_vgprs) values.shadow.undefine(row, wave.all_lanes());
      for (unsigned s = wave.initial_sgprs; s < sreg::ttmp0; ++s) values.shadow.set_scalar(s, ~0U);
      for (const Wave::UndefinedBits& u : wave.undefined_sgprs) values.shadow.set_scalar(u.sgpr, u.bits);
      values.shadow.set_scalar(sreg::m0, ~0U);
      if (wave.initial_flat_scratch)
        for (unsigned s = sreg::flat_scratch; s < sreg::flat_scratch + 2; ++s) values.shadow.set_scalar(s, 0);
    }
  }

  void before(Wave& wave, const Entry& entry) override {
    WaveValues& values = waves_[wave.index];
    values.entry = &entry;
    values.exec = wave.exec();
    values.accesses.clear();
    values.loaded = 0;
    values.flows = entry.values.reads.touches(values.shadow.undefined());
    if (values.flows) [[unlikely]]
      follow(wave, values, entry);
  }

  void access(Wave& wave, const Instruction& i, const Access& access) override {
    WaveValues& values = waves_[wave.index];
    const unsigned loaded = values.loaded;
    if (access.action != Action::store) values.loaded += (access.bytes + 3) / 4;
    if (access.action == Action::load) {
      if (brings_nothing(values, i, access, loaded)) return;
    } else {
      if (access.space == Space::global && values.flows) check_stored(values, i, access);
      if (access.action == Action::store && !values.flows && values.accesses.empty()) {
        memory_.define(access);
        return;
      }
    }
    Recorded& recorded = values.accesses.emplace_back();
    recorded.space = access.space, recorded.action = access.action, recorded.bytes = access.bytes;
    recorded.loaded = loaded, recorded.lanes = access.lanes;
    // A scalar access has one address.
    std::copy_n(access.at, access.lanes == 1 ? 1 : wave.lanes, recorded.at.begin());
  }

  void after(Wave& wave, const Entry& entry) override {
    WaveValues& values = waves_[wave.index];
    if (!values.flows && values.accesses.empty() && !entry.values.writes.touches(values.shadow.undefined())) return;
    if (entry.values.memory) {
      remember_memory(values, entry);
    } else if (values.flows) {
      for (const Undefined& result : values.results) commit(values.shadow, result);
    } else {
      for (const RegisterAccess& access : entry.effects.writes())
        define(values, access, entry.effects.per_lane, entry.values.kept);
    }
    settle_scalars(wave, values, entry);
  }

 private:
  // The instruction reads registers with undefined bits: checks whether they decide something, and propagates them.
  void follow(const Wave& wave, WaveValues& values, const Entry& entry) {
    values.flows = false;
    const bool by_lane = entry.values.by_lane && (wave.mode & mode::gpr_idx_en) == 0;
    const std::uint64_t lanes = by_lane ? values.exec : wave.all_lanes();
    for (const RegisterAccess& access : entry.effects.reads()) {
      if (!values.shadow.touches(access, lanes)) continue;
      values.flows = true;
      if (access.use == Use::address) check_address(values, access);
      if (access.use == Use::condition) check_condition(wave, values, access);
    }
    if (!values.flows || entry.values.memory) return;
    values.results.clear();
    for (const Instruction* half = &entry.instruction; half; half = half->dual.get()) {
      Instruction alone = *half;
      alone.dual = nullptr;
      const Effects own = entry.instruction.dual ? effects(alone, wave.lanes) : entry.effects;
      for (Undefined& result : propagate(runner_, wave, alone, own, values.shadow))
        values.results.push_back(std::move(result));
    }
  }

  // The usual load reads defined bytes, so its registers become defined as any other instruction's do.
  bool brings_nothing(const WaveValues& values, const Instruction& i, const Access& access, unsigned loaded) const {
    const bool vector = i.dst.kind == OperandKind::vgpr || i.dst.kind == OperandKind::agpr;
    if (!vector && i.dst.kind != OperandKind::sgpr) return true;
    if (values.entry->values.d16 && values.shadow.undefined_lanes(first_row(i, loaded)) != 0) return false;
    return memory_.all_defined(access);
  }

  static unsigned first_row(const Instruction& i, unsigned loaded) {
    return i.dst.index + loaded + (i.dst.kind == OperandKind::agpr ? Wave::agpr_row : 0);
  }

  // `kept`: bits of each lane that the instruction does not change.
  static void define(WaveValues& values, const RegisterAccess& access, bool per_lane, std::uint32_t kept = 0) {
    if (access.file == RegisterFile::sgpr) {
      for (unsigned n = 0; n < access.count && access.first + n < sreg::count; ++n)
        values.shadow.set_scalar(access.first + n, 0);
    } else if (access.file != RegisterFile::scc) {
      const std::uint64_t lanes = per_lane ? values.exec : ~std::uint64_t{0};
      for (unsigned n = 0; n < access.count; ++n)
        define_row(values.shadow, row_of(access.file, access.first + n), lanes, kept);
    }
  }

  static void define_row(Shadow& shadow, unsigned row, std::uint64_t lanes, std::uint32_t kept) {
    if (kept == 0) return shadow.define(row, lanes);
    for_lanes(shadow.undefined_lanes(row) & lanes,
              [&](unsigned lane) { shadow.set_bits(row, lane, shadow.bits(row, lane) & kept); });
  }

  static void commit(Shadow& shadow, const Undefined& result) {
    for (unsigned n = 0; n < result.rows.size(); ++n) {
      if (result.file == RegisterFile::sgpr) {
        shadow.set_scalar(result.first + n, result.rows[n][0]);
      } else {
        for (unsigned lane = 0; lane < shadow.lanes(); ++lane)
          shadow.set_bits(result.first + n, lane, result.rows[n][lane]);
      }
    }
  }

  void check_address(const WaveValues& values, const RegisterAccess& access) const {
    for (unsigned n = 0; n < access.count; ++n) {
      if (access.file == RegisterFile::sgpr) {
        if (values.shadow.scalar(access.first + n) != 0)
          report(register_name(access.file, access.first + n) + " was never written and takes part in an address");
        continue;
      }
      const std::uint64_t bad = values.shadow.undefined_lanes(row_of(access.file, access.first + n)) & values.exec;
      if (bad != 0)
        report(register_name(access.file, access.first + n) + " was never written and takes part in an address",
               static_cast<unsigned>(std::countr_zero(bad)));
    }
  }

  static void check_condition(const Wave& wave, const WaveValues& values, const RegisterAccess& access) {
    if (access.file == RegisterFile::scc) report("scc comes from a value never written and decides a branch");
    for (unsigned n = 0; n < access.count; ++n) {
      const std::uint32_t bits = values.shadow.scalar(access.first + n);
      if (bits != 0)
        report(register_name(access.file, access.first + n) + " comes from a value never written and decides a branch",
               static_cast<unsigned>(std::countr_zero(bits)) + 32 * (n % (wave.lanes / 32)));
    }
  }

  // The bits that go to memory: `bytes` of the data registers, or of one register's upper half.
  static void check_stored(const WaveValues& values, const Instruction& i, const Access& access) {
    const Operand& data = i.src[1];
    if (data.kind != OperandKind::vgpr && data.kind != OperandKind::agpr) return;
    const RegisterFile file = data.kind == OperandKind::agpr ? RegisterFile::agpr : RegisterFile::vgpr;
    for_lanes(access.lanes, [&](unsigned lane) {
      for (unsigned d = 0; d < (access.bytes + 3) / 4 && d < data.dwords; ++d) {
        const unsigned left = access.bytes - 4 * d;
        std::uint32_t bits = values.shadow.bits(row_of(file, data.index + d), lane);
        if (values.entry->values.upper) bits >>= 16;
        if (left < 4) bits &= (1U << 8 * left) - 1;
        if (bits != 0)
          report(register_name(file, data.index + d) + " was never written and is stored", lane, access.at[lane]);
      }
    });
  }

  // Loads read the shadow of memory, stores to LDS and private memory write theirs.
  void remember_memory(WaveValues& values, const Entry& entry) {
    const Instruction& i = entry.instruction;
    const Effects& e = entry.effects;
    for (const RegisterAccess& access : e.writes())
      if (!e.partial_dst) define(values, access, e.per_lane);
    unsigned store_source = 1, store_dword = 0;
    for (const Recorded& r : values.accesses) {
      if (r.action != Action::store) {
        if (i.dst.kind == OperandKind::vgpr || i.dst.kind == OperandKind::agpr) bring(values, i, r);
        else if (i.dst.kind == OperandKind::sgpr) bring_scalar(values, i, r);
      }
      if (r.action != Action::load) {
        if (store_dword >= std::max<unsigned>(1, i.src[store_source].dwords) && store_source == 1)
          store_source = 2, store_dword = 0;
        leave(values, i.src[store_source], r, store_dword);
        store_dword += (r.bytes + 3) / 4;
      }
    }
  }

  void bring(WaveValues& values, const Instruction& i, const Recorded& r) const {
    const unsigned row = first_row(i, r.loaded);
    const bool half = values.entry->values.d16, upper = values.entry->values.upper;
    for_lanes(r.lanes & values.exec, [&](unsigned lane) {
      for (unsigned d = 0; 4 * d < r.bytes && r.loaded + d < std::max<unsigned>(1, i.dst.dwords); ++d) {
        const unsigned bytes = std::min(4U, r.bytes - 4 * d);
        std::uint32_t bits = memory_.bits(r.space, r.at[lane] + 4 * d, bytes);
        if (half) {
          bits = bits != 0 ? 0xffff : 0;
          const std::uint32_t old = values.shadow.bits(row + d, lane);
          bits = upper ? (old & 0xffff) | bits << 16 : (old & 0xffff0000) | bits;
        } else if (bytes < 4 && bits != 0) {
          bits = ~0U;  // extended to the whole register
        }
        values.shadow.set_bits(row + d, lane, bits);
      }
    });
  }

  void bring_scalar(WaveValues& values, const Instruction& i, const Recorded& r) const {
    for (unsigned d = 0; 4 * d < r.bytes && d < i.dst.dwords; ++d)
      values.shadow.set_scalar(i.dst.index + d, memory_.bits(r.space, r.at[0] + 4 * d, std::min(4U, r.bytes - 4 * d)));
  }

  void leave(const WaveValues& values, const Operand& data, const Recorded& r, unsigned first) {
    if (r.space == Space::global) return;  // reported if it is undefined
    const bool held = data.kind == OperandKind::vgpr || data.kind == OperandKind::agpr;
    const unsigned row = data.index + first + (data.kind == OperandKind::agpr ? Wave::agpr_row : 0);
    for_lanes(r.lanes, [&](unsigned lane) {
      for (unsigned d = 0; 4 * d < r.bytes; ++d) {
        std::uint32_t bits = held && values.flows ? values.shadow.bits(row + d, lane) : 0;
        if (values.entry->values.upper) bits >>= 16;
        memory_.set_bits(r.space, r.at[lane] + 4 * d, std::min(4U, r.bytes - 4 * d), bits);
      }
    });
  }

  // SCC follows its sources; an undefined EXEC decides which lanes run.
  void settle_scalars(const Wave& wave, WaveValues& values, const Entry& entry) {
    for (const RegisterAccess& access : entry.effects.writes()) {
      if (access.file == RegisterFile::scc) values.shadow.set_scc(values.flows);
      if (access.file != RegisterFile::sgpr || access.first > sreg::exec || access.first + access.count <= sreg::exec)
        continue;
      for (unsigned n = 0; n < wave.lanes / 32; ++n)
        if (const std::uint32_t bits = values.shadow.scalar(sreg::exec + n); bits != 0)
          report("exec comes from a value never written and decides which lanes run",
                 static_cast<unsigned>(std::countr_zero(bits)) + 32 * n);
    }
  }

  ShadowRunner runner_;
  MemoryShadow memory_;
  std::vector<WaveValues> waves_;
};

}  // namespace

std::unique_ptr<Observer> make_value_check(Workgroup& group) { return std::make_unique<ValueCheck>(group); }

}  // namespace rapt::sim
