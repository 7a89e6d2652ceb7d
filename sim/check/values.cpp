// A value never written that reaches a store to global memory, an address, a branch or EXEC. Undefined bits may be
// moved, combined, and kept in LDS and private memory: what counts is that they decide something.
#include "sim/check/checks.hpp"
#include "sim/check/lds_shadow.hpp"
#include "sim/check/propagate.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

struct Recorded {
  Space space;
  Action action;
  unsigned bytes;
  std::uint64_t lanes;
  std::array<std::uint64_t, 64> at;
};

struct WaveValues {
  explicit WaveValues(unsigned lanes) : shadow(lanes) {}
  Shadow shadow;
  bool flows = false;              // the instruction at hand reads something undefined
  std::uint64_t exec = 0;          // before it ran
  std::vector<Undefined> results;  // of the instruction at hand, if it flows
  bool scc = false;
  std::vector<Recorded> accesses;  // of the instruction at hand
};

const char* file_letter(RegisterFile file) {
  return file == RegisterFile::vgpr ? "v" : file == RegisterFile::agpr ? "a" : "s";
}

std::string register_name(RegisterFile file, unsigned index) {
  if (file == RegisterFile::scc) return "scc";
  if (file == RegisterFile::sgpr) {
    if (index == sreg::vcc || index == sreg::vcc + 1) return index == sreg::vcc ? "vcc_lo" : "vcc_hi";
    if (index == sreg::exec || index == sreg::exec + 1) return index == sreg::exec ? "exec_lo" : "exec_hi";
    if (index == sreg::m0) return "m0";
  }
  return file_letter(file) + std::to_string(index);
}

class ValueCheck final : public Check {
 public:
  explicit ValueCheck(Workgroup& group) : group_(group), runner_(group.waves[0].lanes), lds_(group.lds.size()) {
    for (const Wave& wave : group.waves) {
      WaveValues& values = waves_.emplace_back(wave.lanes);
      for (unsigned row = 0; row < Shadow::rows; ++row)
        if (row >= wave.initial_vgprs) values.shadow.undefine(row, wave.all_lanes());
      for (unsigned s = wave.initial_sgprs; s < sreg::ttmp0; ++s) values.shadow.set_scalar(s, ~0U);
      values.shadow.set_scalar(sreg::m0, ~0U);
      if (wave.initial_flat_scratch)
        for (unsigned s = sreg::flat_scratch; s < sreg::flat_scratch + 2; ++s) values.shadow.set_scalar(s, 0);
    }
  }

  void before(Wave& wave, const Entry& entry) override {
    WaveValues& values = waves_[wave.index];
    values.flows = false;
    values.exec = wave.exec();
    values.accesses.clear();
    for (const RegisterAccess& access : entry.effects.reads()) {
      if (!values.shadow.touches(access)) continue;
      values.flows = true;
      if (access.use == Use::address) check_address(values, access);
      if (access.use == Use::condition) check_condition(wave, values, access);
    }
    if (!values.flows || is_memory(entry)) return;
    values.results.clear();
    for (const Instruction* half = &entry.instruction; half; half = half->dual.get()) {
      Instruction alone = *half;
      alone.dual = nullptr;
      const Effects own = entry.instruction.dual ? effects(alone, wave.lanes) : entry.effects;
      for (Undefined& result : propagate(runner_, wave, alone, own, values.shadow))
        values.results.push_back(std::move(result));
    }
  }

  void access(Wave& wave, const Instruction& i, const Access& access) override {
    WaveValues& values = waves_[wave.index];
    Recorded recorded{access.space, access.action, access.bytes, access.lanes, {}};
    // A scalar access has one address.
    std::copy_n(access.at, access.lanes == 1 ? 1 : wave.lanes, recorded.at.begin());
    values.accesses.push_back(recorded);
    if (access.action != Action::load && access.space == Space::global && values.flows) check_stored(values, i, access);
  }

  void after(Wave& wave, const Entry& entry) override {
    WaveValues& values = waves_[wave.index];
    if (is_memory(entry)) {
      remember_memory(values, entry);
    } else if (values.flows) {
      for (const Undefined& result : values.results) commit(values.shadow, result);
    } else {
      for (const RegisterAccess& access : entry.effects.writes()) define(values, access, entry.effects.per_lane);
    }
    settle_scalars(wave, values, entry);
  }

 private:
  static bool is_memory(const Entry& entry) {
    const Effects& e = entry.effects;
    return e.loads || e.stores || e.atomic;
  }

  static void define(WaveValues& values, const RegisterAccess& access, bool per_lane) {
    if (access.file == RegisterFile::sgpr) {
      for (unsigned n = 0; n < access.count && access.first + n < sreg::count; ++n)
        values.shadow.set_scalar(access.first + n, 0);
    } else if (access.file != RegisterFile::scc) {
      const std::uint64_t lanes = per_lane ? values.exec : ~std::uint64_t{0};
      for (unsigned n = 0; n < access.count; ++n) values.shadow.define(row_of(access.file, access.first + n), lanes);
    }
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
    const bool upper = i.opcode->name.find("d16_hi") != std::string_view::npos || data.high;
    for_lanes(access.lanes, [&](unsigned lane) {
      for (unsigned d = 0; d < (access.bytes + 3) / 4 && d < data.dwords; ++d) {
        const unsigned left = access.bytes - 4 * d;
        std::uint32_t bits = values.shadow.bits(row_of(file, data.index + d), lane);
        if (left < 4) bits = upper ? bits >> 16 : bits & ((1U << 8 * left) - 1);
        if (bits != 0)
          report(register_name(file, data.index + d) + " was never written and is stored", lane, access.at[lane]);
      }
    });
  }

  // Loads bring the shadow of memory, stores to LDS and private memory leave theirs there.
  void remember_memory(WaveValues& values, const Entry& entry) {
    const Instruction& i = entry.instruction;
    const Effects& e = entry.effects;
    for (const RegisterAccess& access : e.writes())
      if (!e.partial_dst) define(values, access, e.per_lane);
    unsigned load_dword = 0, store_source = 1, store_dword = 0;
    for (const Recorded& r : values.accesses) {
      if (r.action != Action::store) {
        if (i.dst.kind == OperandKind::vgpr || i.dst.kind == OperandKind::agpr) bring(values, i, r, load_dword);
        else if (i.dst.kind == OperandKind::sgpr) bring_scalar(values, i, r);
        load_dword += (r.bytes + 3) / 4;
      }
      if (r.action != Action::load) {
        if (store_dword >= std::max<unsigned>(1, i.src[store_source].dwords) && store_source == 1)
          store_source = 2, store_dword = 0;
        leave(values, i.src[store_source], r, store_dword);
        store_dword += (r.bytes + 3) / 4;
      }
    }
  }

  // The undefined bits of up to four bytes of memory.
  std::uint32_t memory_bits(const Recorded& r, unsigned lane, unsigned offset, unsigned bytes) const {
    const std::uint64_t address = r.at[lane] + offset;
    if (r.space == Space::lds) return lds_.bits(address - reinterpret_cast<std::uint64_t>(group_.lds.data()), bytes);
    std::uint32_t bits = 0;
    if (!Memory::process().is_written(address, bytes))
      for (unsigned b = 0; b < bytes; ++b)
        if (!Memory::process().is_written(address + b, 1)) bits |= 0xffU << 8 * b;
    return bits;
  }

  bool all_written(const Recorded& r) const {
    bool all = true;
    for_lanes(r.lanes, [&](unsigned lane) {
      all = all && (r.space == Space::lds
                        ? lds_.defined(r.at[lane] - reinterpret_cast<std::uint64_t>(group_.lds.data()), r.bytes)
                        : Memory::process().is_written(r.at[lane], r.bytes));
    });
    return all;
  }

  void bring(WaveValues& values, const Instruction& i, const Recorded& r, unsigned first) {
    const bool agpr = i.dst.kind == OperandKind::agpr;
    const unsigned row = i.dst.index + first + (agpr ? Wave::agpr_row : 0);
    const bool upper = i.opcode->name.find("d16_hi") != std::string_view::npos || i.dst.high;
    const bool half = i.opcode->name.find("d16") != std::string_view::npos;
    if (!half && all_written(r)) return;
    for_lanes(r.lanes & values.exec, [&](unsigned lane) {
      for (unsigned d = 0; 4 * d < r.bytes && first + d < std::max<unsigned>(1, i.dst.dwords); ++d) {
        const unsigned bytes = std::min(4U, r.bytes - 4 * d);
        std::uint32_t bits = memory_bits(r, lane, 4 * d, bytes);
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
      values.shadow.set_scalar(i.dst.index + d, memory_bits(r, 0, 4 * d, std::min(4U, r.bytes - 4 * d)));
  }

  void leave(const WaveValues& values, const Operand& data, const Recorded& r, unsigned first) {
    if (r.space == Space::global) return;  // reported where it is undefined
    const bool held = data.kind == OperandKind::vgpr || data.kind == OperandKind::agpr;
    const unsigned row = data.index + first + (data.kind == OperandKind::agpr ? Wave::agpr_row : 0);
    for_lanes(r.lanes, [&](unsigned lane) {
      for (unsigned d = 0; 4 * d < r.bytes; ++d) {
        const unsigned bytes = std::min(4U, r.bytes - 4 * d);
        std::uint32_t bits = held && values.flows ? values.shadow.bits(row + d, lane) : 0;
        if (data.high) bits >>= 16;
        const std::uint64_t address = r.at[lane] + 4 * d;
        if (r.space == Space::lds) {
          lds_.set_bits(address - reinterpret_cast<std::uint64_t>(group_.lds.data()), bytes, bits);
        } else {
          Memory::process().mark_written(address, bytes);
          for (unsigned b = 0; bits != 0 && b < bytes; ++b)
            if ((bits >> 8 * b & 0xff) != 0) Memory::process().mark_unwritten(address + b, 1);
        }
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

  Workgroup& group_;
  ShadowRunner runner_;
  LdsShadow lds_;
  std::vector<WaveValues> waves_;
};

}  // namespace

std::unique_ptr<Check> make_value_check(Workgroup& group) { return std::make_unique<ValueCheck>(group); }

}  // namespace rapt::sim
