// Data used before the wait for it: a register is read or overwritten that a memory operation will still write, or LDS
// is accessed that a load will still fill.
#include "sim/check/waits.hpp"

#include "sim/check/checks.hpp"
#include "sim/isa/facts/halves.hpp"
#include "sim/check/register_name.hpp"

#include <algorithm>

namespace rapt::sim {

// In an in-order queue, all but the last n operations have ended once the counter is at most n, whatever else it
// counts. Out-of-order operations have certainly ended only at 0.
void OutstandingOperations::wait(const Wave& wave, const WaitFacts& facts) {
  for (unsigned c = 0; c < counter_count; ++c) {
    if (facts.ends_barriers) {
      Line& line = lines_[c][static_cast<unsigned>(Queue::barrier)];
      line.ended = line.begun;
    }
    if (facts.at_most[c] == WaitFacts::no_wait) continue;
    std::uint32_t most = facts.at_most[c];
    if (facts.added_sgpr != sreg::null) most = (most + wave.sgpr[facts.added_sgpr]) & 63;  // six bits, as documented
    for (unsigned q = 0; q < queue_count; ++q) {
      Line& line = lines_[c][q];
      if (line.begun > most && (most == 0 || q != static_cast<unsigned>(Queue::none)))
        line.ended = std::max(line.ended, line.begun - most);
    }
  }
  if (std::erase_if(pending_, [this](const Operation& operation) { return ended(operation); }) == 0) return;
  groups_ = 0;
  mask_.clear();
  for (const Operation& operation : pending_) add_registers(*operation.entry);
}

void OutstandingOperations::add_registers(const Entry& entry) {
  groups_ |= entry.written_registers;
  for (const RegisterAccess& access : entry.effects.writes()) mask_.add(access);
}

OutstandingOperations::Operation OutstandingOperations::begin(const Entry& entry) {
  Operation operation;
  operation.entry = &entry;
  for (unsigned c = 0; c < counter_count; ++c)
    if (entry.waits.queue[c] != WaitFacts::uncounted) operation.place[c] = ++lines_[c][entry.waits.queue[c]].begun;
  if (entry.written_registers == 0) return operation;
  // If nothing waits, the last execution of an instruction replaces its previous ones.
  std::erase_if(pending_, [&entry](const Operation& earlier) { return earlier.entry == &entry; });
  pending_.push_back(operation);
  add_registers(entry);
  return operation;
}

bool OutstandingOperations::ended(const Operation& operation) const {
  for (unsigned c = 0; c < counter_count; ++c)
    if (operation.place[c] > 0 && operation.place[c] > lines_[c][operation.entry->waits.queue[c]].ended) return false;
  return true;
}

Counter OutstandingOperations::open_counter(const Operation& operation) const {
  for (unsigned c = 0; c < counter_count; ++c)
    if (operation.place[c] > 0 && operation.place[c] > lines_[c][operation.entry->waits.queue[c]].ended)
      return static_cast<Counter>(c);
  return Counter::load;
}

const OutstandingOperations::Operation* OutstandingOperations::writer(RegisterFile file, unsigned index) const {
  for (auto operation = pending_.rbegin(); operation != pending_.rend(); ++operation)
    for (const RegisterAccess& access : operation->entry->effects.writes())
      if (access.file == file && index - access.first < access.count) return &*operation;
  return nullptr;
}

namespace {

// The halves of its destination that a load writes.
unsigned loaded_halves(const Entry& load) {
  return load.effects.partial_dst ? moved_halves(load.instruction, load.instruction.dst) : halves::both;
}

// The halves of a VGPR that an instruction names. A load that keeps the other half of its destination does not name it.
unsigned named_halves(const Entry& entry, unsigned vgpr) {
  const Instruction& i = entry.instruction;
  if (!entry.waits.counted) return read_halves(i, vgpr) | written_halves(i, vgpr);
  unsigned all = 0;
  for (const RegisterAccess& access : entry.effects.reads()) {
    if (access.file != RegisterFile::vgpr || vgpr - access.first >= access.count) continue;
    if (access.source == Effects::implied) continue;
    const Type type = i.opcode->src[access.source];
    const bool narrow = access.use == Use::store && (type == Type::b8 || is_half(type));
    all |= narrow ? moved_halves(i, i.src[access.source]) : halves::both;
  }
  for (const RegisterAccess& access : entry.effects.writes())
    if (access.file == RegisterFile::vgpr && vgpr - access.first < access.count) all |= loaded_halves(entry);
  return all;
}

class WaitCheck final : public Observer {
 public:
  explicit WaitCheck(Workgroup& group)
      : lds_(reinterpret_cast<std::uint64_t>(group.lds.data())), waves_(group.waves.size()) {}

  void before(Wave& wave, const Entry& entry) override {
    WaveState& state = waves_[wave.index];
    if (state.outstanding.may_touch(entry.registers)) {
      for (const RegisterAccess& access : entry.effects.reads()) check_use(wave, state, entry, access, false);
      for (const RegisterAccess& access : entry.effects.writes()) check_use(wave, state, entry, access, true);
    }
    if (entry.waits.waits) state.outstanding.wait(wave, entry.waits);
    state.fills_lds = entry.waits.to_lds;
    if (entry.waits.counted) state.latest = state.outstanding.begin(entry);
  }

  void access(Wave& wave, const Instruction&, const Access& access) override {
    if (access.space != Space::lds) return;
    WaveState& state = waves_[wave.index];
    if (state.fills_lds) remember_fill(wave, state, access);
    else if (!fills_.empty()) check_fills(wave, access);
  }

 private:
  struct WaveState {
    OutstandingOperations outstanding;
    OutstandingOperations::Operation latest;
    bool fills_lds = false;
  };
  // LDS that a wave's load will write: [first, last), as host addresses.
  struct Fill {
    unsigned wave;
    OutstandingOperations::Operation operation;
    std::uint64_t first, last;
  };

  static void check_use(const Wave& wave, WaveState& state, const Entry& entry, const RegisterAccess& access,
                        bool written) {
    if (!state.outstanding.touches(access)) return;
    for (unsigned n = 0; n < access.count; ++n) {
      const auto* writer = state.outstanding.writer(access.file, access.first + n);
      if (!writer) continue;
      const bool keeps = !written && access.source == Effects::implied && access.file != RegisterFile::sgpr &&
                         access.file != RegisterFile::scc;  // a load that keeps half of its destination
      if ((written || keeps) && in_order(wave, entry, *writer)) continue;
      if (is_rdna(wave.arch) && access.file == RegisterFile::vgpr &&
          (named_halves(entry, access.first + n) & loaded_halves(*writer->entry)) == 0)
        continue;
      report(register_name(access.file, access.first + n) + (written ? " is overwritten" : " is used") +
             " before the wait for " + text(wave, state, *writer));
    }
  }

  // Loads of one queue write their registers in order, up to gfx11 (LLVM: VmemWriteVgprInOrder); on gfx12 too, loads
  // that write a part of a register are skipped.
  static bool in_order(const Wave& wave, const Entry& entry, const OutstandingOperations::Operation& writer) {
    if (contains(gfx12, wave.arch) && !entry.effects.partial_dst && entry.effects.unit != Unit::lds) return false;
    const WaitFacts& mine = entry.waits;
    const WaitFacts& its = writer.entry->waits;
    return mine.counted && mine.queue == its.queue &&
           std::find(mine.queue.begin(), mine.queue.end(), static_cast<std::uint8_t>(Queue::none)) == mine.queue.end();
  }

  static std::string text(const Wave& wave, const WaveState& state, const OutstandingOperations::Operation& operation) {
    return print({wave.arch, wave.lanes}, operation.entry->instruction) + " (" +
           std::string(counter_name(wave.arch, state.outstanding.open_counter(operation))) + ")";
  }

  void remember_fill(const Wave& wave, const WaveState& state, const Access& access) {
    for_lanes(access.lanes, [&](unsigned lane) {
      const std::uint64_t first = access.at[lane], last = first + access.bytes;
      if (!fills_.empty() && fills_.back().wave == wave.index && fills_.back().last == first &&
          fills_.back().operation.place == state.latest.place)
        fills_.back().last = last;
      else fills_.push_back({wave.index, state.latest, first, last});
    });
  }

  // Another wave's load is outstanding too: only that wave's own wait, then a barrier, makes its data visible.
  void check_fills(const Wave& wave, const Access& access) {
    std::erase_if(fills_, [this](const Fill& fill) { return waves_[fill.wave].outstanding.ended(fill.operation); });
    if (fills_.empty()) return;
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    for_lanes(access.lanes, [&](unsigned lane) {
      lowest = std::min(lowest, access.at[lane]);
      highest = std::max(highest, access.at[lane] + access.bytes);
    });
    for (const Fill& fill : fills_) {
      if (fill.last <= lowest || fill.first >= highest) continue;
      for_lanes(access.lanes, [&](unsigned lane) {
        if (access.at[lane] >= fill.last || access.at[lane] + access.bytes <= fill.first) return;
        const std::string whose =
            fill.wave == wave.index ? "the wait for " : "wave " + std::to_string(fill.wave) + "'s wait for ";
        report("LDS byte " + std::to_string(access.at[lane] - lds_) +
                   (access.action == Action::load ? " is used before " : " is overwritten before ") + whose +
                   text(wave, waves_[fill.wave], fill.operation),
               lane, access.at[lane]);
      });
    }
  }

  std::uint64_t lds_;
  std::vector<WaveState> waves_;
  std::vector<Fill> fills_;
};

}  // namespace

std::unique_ptr<Observer> make_wait_check(Workgroup& group) { return std::make_unique<WaitCheck>(group); }

}  // namespace rapt::sim
