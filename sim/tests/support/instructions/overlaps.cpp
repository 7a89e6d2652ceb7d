#include "sim/tests/support/instructions/overlaps.hpp"

#include "sim/isa/effects.hpp"

#include <algorithm>

namespace rapt::sim::test {
namespace {

constexpr std::array written_slots{dst, dst2, y_dst};
constexpr std::array read_slots{src0, src1, src2, src3, src4, y_src0, y_src1, y_src2};
constexpr unsigned special_sources[] = {251, 252, 253};  // whether VCC is 0, whether EXEC is, SCC
constexpr unsigned special_registers[] = {sreg::vcc - 2, sreg::vcc,  sreg::vcc + 1,
                                          sreg::m0,      sreg::exec, sreg::exec + 1};

bool is_register(const Operand& o) {
  return o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr ||
         (o.kind == OperandKind::sgpr && o.index != sreg::null);
}

bool same(const Operand& a, const Operand& b) {
  return a.kind == b.kind && a.index == b.index && a.dwords == b.dwords && a.high == b.high;
}

bool has_halves(const Place& p) {
  return p.coding == Coding::half || p.coding == Coding::half_source || (p.coding != Coding::sdwa && p.flag != 0);
}

// M0 moves a relative operand by up to three registers more, within the numbered ones.
unsigned reach(const Opcode& opcode) { return is_relative(opcode, dst) || is_relative(opcode, src0) ? 3 : 0; }
bool is_in_reach(const Opcode& opcode, unsigned slot, Register r) {
  return !is_relative(opcode, slot) || r.kind == OperandKind::vgpr || r.index < sreg::vcc - 6;
}

// Atomics of buffers and of the scalar unit, whose data and result are one field.
bool takes_data_from_result(const Encoding& e) {
  const Place &result = e.places[dst], &data = e.places[e.opcode->format == Format::smem ? src2 : src1];
  return (e.opcode->format == Format::smem || e.opcode->format == Format::mubuf) && result.exists() && data.exists() &&
         result.field == data.field;
}

class Placements {
 public:
  Placements(const Encoding& apart, const std::function<void(const Encoding&)>& visit)
      : apart_(apart), instruction_(*apart.decode()), visit_(visit) {}

  void visit_all() {
    for (const unsigned written : written_slots)
      if (is_register(operand(instruction_, written))) around(written);
    sources_on_implied();
    // An encoding with data and result in one field always overlaps.
    if (takes_data_from_result(apart_)) visit_(apart_);
  }

 private:
  // The encoding with an operand moved; none if that cannot be encoded.
  static std::optional<Encoding> moved(const Encoding& e, unsigned slot, Register to) {
    if (!is_in_reach(*e.opcode, slot, to)) return std::nullopt;
    Encoding result = e;
    set_register(result, slot, to);
    const auto i = result.decode();
    if (!i) return std::nullopt;
    const Operand& o = operand(*i, slot);
    return o.kind == to.kind && o.index == to.index && o.high == to.high ? std::optional(result) : std::nullopt;
  }

  std::vector<Register> bases(unsigned written) const {
    const Operand& o = operand(instruction_, written);
    std::vector<Register> result;
    if (o.kind == OperandKind::sgpr) {
      result.push_back({o.kind, 32});
      for (const unsigned special : special_registers) result.push_back({o.kind, special});
    } else {
      const unsigned first = o.dwords > 4 ? 160 : 40;
      result.push_back({o.kind, written == y_dst ? first + 1 : first});
      if (has_halves(apart_.places[written])) result.push_back({o.kind, first, true});
    }
    return result;
  }

  void around(unsigned written) {
    if (!apart_.places[written].exists()) return beside(apart_, written);
    for (const Register& base : bases(written)) {
      const auto e = moved(apart_, written, base);
      if (!e) continue;
      if (base.kind == OperandKind::sgpr && base.index >= sreg::vcc - 2) visit_(*e), special_flags(*e);
      beside(*e, written);
    }
  }

  struct Choice {
    unsigned slot;
    Register at;
    Operand operand;
  };

  // All places of a source in which it overlaps the written operand.
  void choose(const Encoding& e, unsigned slot, const Operand& result, std::vector<Choice>& choices) const {
    const Place& place = e.places[slot];
    if (!place.exists() || place.field == e.places[dst].field) return;
    if (result.kind == OperandKind::sgpr ? !can_be_scalar(place.coding) : !can_be_vector(place.coding)) return;
    const Operand& source = operand(instruction_, slot);
    const unsigned width = std::max<unsigned>(source.dwords, 1), margin = reach(*e.opcode);
    const unsigned before = std::min<unsigned>(result.index, width - 1 + margin);
    for (unsigned index = result.index - before; index < result.index + result.dwords + margin; ++index)
      for (const bool high : {false, true}) {
        if (high && !has_halves(place)) continue;
        const Register at{result.kind, index, high};
        const auto candidate = moved(e, slot, at);
        if (!candidate) continue;
        const auto i = candidate->decode();
        if (meet(operand(*i, slot), result) || margin > 0) choices.push_back({slot, at, operand(*i, slot)});
      }
  }

  void beside(const Encoding& e, unsigned written) {
    const auto instruction = e.decode();
    const Operand result = operand(*instruction, written);
    std::vector<Choice> choices;
    for (const unsigned slot : read_slots) choose(e, slot, result, choices);
    bool fixed = false;  // a source that has no field overlaps it
    for (const unsigned slot : read_slots)
      fixed |= !e.places[slot].exists() && meet(operand(*instruction, slot), result) && written != dst;
    if (fixed) visit_(e);
    // If there are few choices, all at once; for wide operands, which have many, two, and all in one register, which an
    // address with an offset cannot use.
    const bool few = choices.size() <= 16;
    std::vector<const Choice*> taken;
    combine(e, choices, 0, few ? read_slots.size() : 2, taken);
    if (!few && !reaches_memory(*e.opcode)) all_in_one(e, result, choices);
  }

  // Choices from `next` on in addition to those taken: one per source, and two are one register or do not overlap.
  void combine(const Encoding& e, const std::vector<Choice>& choices, std::size_t next, std::size_t at_most,
               std::vector<const Choice*>& taken) {
    for (; next < choices.size(); ++next) {
      const Choice& c = choices[next];
      const bool excluded = std::any_of(taken.begin(), taken.end(), [&](const Choice* t) {
        return t->slot == c.slot || (meet(t->operand, c.operand) && !same(t->operand, c.operand));
      });
      const auto with = excluded ? std::nullopt : moved(e, c.slot, c.at);
      if (!with) continue;
      visit_(*with);
      taken.push_back(&c);
      if (taken.size() < at_most) combine(*with, choices, next + 1, at_most, taken);
      taken.pop_back();
    }
  }

  void all_in_one(const Encoding& e, const Operand& result, const std::vector<Choice>& choices) {
    Encoding all = e;
    for (const Choice& c : choices)
      if (c.operand.index == result.index)
        if (const auto next = moved(all, c.slot, c.at)) all = *next;
    visit_(all);
  }

  void sources_on_implied() {
    const Effects all = effects(instruction_, apart_.mode.lanes);
    const bool writes_unnamed = std::any_of(all.writes().begin(), all.writes().end(), [](const RegisterAccess& a) {
      return a.source == Effects::implied && a.file == RegisterFile::sgpr;
    });
    if (!writes_unnamed) return;
    for (const unsigned slot : read_slots) {
      if (!apart_.places[slot].exists() || !can_be_scalar(apart_.places[slot].coding)) continue;
      for (const unsigned special : special_registers)
        if (const auto e = moved(apart_, slot, {OperandKind::sgpr, special})) visit_(*e);
    }
  }

  // SCC and the like as sources, which are written implicitly or through VCC and EXEC.
  void special_flags(const Encoding& e) {
    for (const unsigned slot : read_slots) {
      if (!e.places[slot].exists() || !can_be_scalar(e.places[slot].coding)) continue;
      for (const unsigned code : special_sources)
        if (const auto flagged = moved(e, slot, {OperandKind::special, code})) visit_(*flagged);
    }
  }

  const Encoding& apart_;
  const Instruction instruction_;
  const std::function<void(const Encoding&)>& visit_;
};

}  // namespace

bool meet(const Operand& a, const Operand& b) {
  return is_register(a) && a.kind == b.kind && a.index < b.index + b.dwords && b.index < a.index + a.dwords;
}

void for_each_overlap(const Encoding& apart, const std::function<void(const Encoding&)>& visit) {
  Placements(apart, visit).visit_all();
}

Instruction apart(const Encoding& overlapping) {
  const auto from = overlapping.decode();
  Encoding e = overlapping;
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    if (!e.places[slot].exists()) continue;
    const Operand& o = operand(*from, slot);
    Register to = apart_register(slot, o.kind == OperandKind::special ? OperandKind::sgpr : o.kind);
    // One of VOPD's results is in an even register, the other in an odd one.
    if (from->dual && (slot == dst || slot == y_dst)) to.index = (to.index & ~1U) | (o.index & 1U);
    to.high = o.high;
    set_register(e, slot, to);
  }
  Instruction i = *e.decode();
  if (takes_data_from_result(e)) i.dst.index = static_cast<std::uint16_t>(apart_register(dst, i.dst.kind).index);
  return i;
}

}  // namespace rapt::sim::test
