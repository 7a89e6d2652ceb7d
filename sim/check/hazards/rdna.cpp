#include "sim/check/hazards/rdna.hpp"

#include "sim/isa/facts/halves.hpp"
#include "sim/check/hazards/report.hpp"

#include <algorithm>
#include <limits>

// Sources: LLVM's GCNHazardRecognizer (the ISA documents of RDNA3 and RDNA4 name only the first rule). Not checked is
// what LLVM 19 does not know: masks rewritten by VALU instructions (gfx11), and SGPRs rewritten after any read (gfx12).
namespace rapt::sim {
namespace {

bool is(const Entry& entry, kind::Kinds kinds) { return (entry.hazards.kinds & kinds) != 0; }

bool named_vgpr(const RegisterAccess& use) { return use.file == RegisterFile::vgpr && use.source != Effects::implied; }

bool has_literal(const Instruction& i) {
  return std::any_of(i.src.begin(), i.src.end(), [](const Operand& o) { return o.literal; });
}

// Whether a VALU instruction wrote a register that another one reads.
bool writes(const Entry& past, const Entry& entry, const RegisterAccess& use) {
  for (const RegisterAccess& result : past.effects.writes())
    if (const auto common = common_register(result, use))
      if (written_halves(past.instruction, *common) & read_halves(entry.instruction, *common)) return true;
  return false;
}

}  // namespace

void RdnaHazards::fail(const std::string& what, const Entry& past, const std::string& remedy) const {
  report(what + " too soon after " + print({arch_, lanes_}, past.instruction) + ": " + remedy);
}

void RdnaHazards::step(const Entry& entry) {
  const bool masks = lanes_ == 64 && contains(gfx11, arch_);
  if (masks && any_rewritten_) check_masks(entry);
  if (is(entry, kind::valu)) {
    check_valu(entry);
    note_valu(entry);
  } else if (is(entry, kind::memory | kind::lds | kind::waits_vdst)) {
    transcendentals_ = {};
    event_count_ = exec_writes_ = 0;
  } else if (is(entry, kind::salu) && is(entry, kind::writes_exec)) {
    events_[events_end_++ % events_.size()] = {&entry, valus_};
    event_count_ = std::min(event_count_ + 1, static_cast<unsigned>(events_.size()));
    exec_writes_ = static_cast<unsigned>(events_.size());  // how many of the last events to search for a write of EXEC
  }
  if (masks) note_masks(entry);
}

void RdnaHazards::check_valu(const Entry& entry) {
  if (last_valu_ && is(entry, kind::product) && is(*last_valu_, kind::product)) check_product(entry);
  if (compare_ && is(entry, kind::permlane))
    fail("exec is used", *compare_, "a VALU instruction other than v_nop must be between");
  if (arch_ == Arch::gfx1100 && transcendentals_[0].entry) check_transcendental(entry);
  if (lanes_ == 64 && exec_writes_ > 0 && contains(gfx11, arch_)) check_forwarding(entry);
}

// The result of a WMMA as A, B or index of the next one.
void RdnaHazards::check_product(const Entry& entry) const {
  for (const RegisterAccess& use : entry.effects.reads())
    if (use.source < 2 || (use.source == 2 && is(entry, kind::sparse)))
      for (const RegisterAccess& result : last_valu_->effects.writes())
        if (const auto common = common_register(use, result))
          fail(register_name(use.file, *common) + " is read", *last_valu_,
               "a VALU instruction or v_nop must be between");
}

// A transcendental result: at least 6 VALU instructions or 2 transcendental ones must be in between.
void RdnaHazards::check_transcendental(const Entry& entry) const {
  for (const Event& past : transcendentals_) {
    if (!past.entry || valus_ - past.before - 1 > 5) return;
    for (const RegisterAccess& use : entry.effects.reads())
      if (named_vgpr(use) && writes(*past.entry, entry, use))
        fail(register_name(use.file, use.first) + " is read", *past.entry, "needs s_waitcnt_depctr va_vdst(0)");
  }
}

// In wave64: two operands, one written before and one after a scalar write of EXEC, all close together.
void RdnaHazards::check_forwarding(const Entry& entry) const {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t longest_after = 4, longest_around = 2;
  std::array<const RegisterAccess*, 8> open;  // operands whose writer is not yet found
  std::size_t count = 0;
  for (const RegisterAccess& use : entry.effects.reads()) {
    const auto same = [&use](const RegisterAccess* other) {
      return other->first == use.first && other->count == use.count;
    };
    if (named_vgpr(use) && count < open.size() && std::none_of(open.begin(), open.begin() + count, same))
      open[count++] = &use;
  }
  if (count < 2) return;
  std::uint64_t after = none, exec = none;
  for (unsigned n = 0; n < event_count_; ++n) {
    const Event& past = event(n);
    // VALU instructions between it and this one.
    const std::uint64_t between = valus_ - past.before - (is(*past.entry, kind::valu) ? 1 : 0);
    if (between > longest_after + longest_around + 2) return;
    if (!is(*past.entry, kind::valu)) {
      if (exec == none && after != none) exec = between;
      continue;
    }
    for (std::size_t o = 0; o < count;) {
      if (!writes(*past.entry, entry, *open[o])) {
        ++o;
        continue;
      }
      const RegisterAccess& use = *open[o];
      open[o] = open[--count];
      if (exec == none) {
        after = std::min(after, between);
        continue;
      }
      if (after > longest_after || exec - after - 1 > longest_around) return;
      if ((exec - after - 1) + (between - exec) > longest_around) return;
      fail(register_name(use.file, use.first) + " is read with a register written after exec changed", *past.entry,
           "needs s_waitcnt_depctr va_vdst(0)");
    }
  }
}

void RdnaHazards::note_valu(const Entry& entry) {
  const std::uint64_t before = valus_++;
  last_valu_ = &entry;
  if (is(entry, kind::compares_exec)) compare_ = &entry;
  else if (!is(entry, kind::nop)) compare_ = nullptr;
  if (is(entry, kind::trans)) {
    transcendentals_[1] = transcendentals_[0];
    transcendentals_[0] = {&entry, before};
  }
  if (lanes_ == 32) return;
  events_[events_end_++ % events_.size()] = {&entry, before};
  event_count_ = std::min(event_count_ + 1, static_cast<unsigned>(events_.size()));
  if (exec_writes_ > 0) --exec_writes_;
}

// In wave64: a lane mask that a VALU instruction read is rewritten by a scalar one, then read again.
void RdnaHazards::check_masks(const Entry& entry) const {
  if (!is(entry, kind::valu | kind::salu)) return;
  for (const RegisterAccess& use : entry.effects.reads())
    if (use.file == RegisterFile::sgpr && rewritten_.touches(use))
      fail(register_name(use.file, use.first) + " is read", *rewriter_,
           "it was read as a lane mask before and needs s_waitcnt_depctr sa_sdst(0)");
}

void RdnaHazards::note_masks(const Entry& entry) {
  if (is(entry, kind::waits_sdst)) {
    read_as_mask_.clear();
    rewritten_.clear();
    any_rewritten_ = false;
  }
  if (!is(entry, kind::valu | kind::salu)) return;
  for (const RegisterAccess& result : entry.effects.writes()) {
    if (result.file != RegisterFile::sgpr || result.first > sreg::vcc + 1) continue;
    if (is(entry, kind::salu) && read_as_mask_.touches(result)) {
      rewritten_.add(result);
      any_rewritten_ = true;
      rewriter_ = &entry;
    }
    for (unsigned n = 0; n < result.count; ++n)
      read_as_mask_.remove(RegisterMask::place(result.file, result.first + n));
  }
  // A VALU instruction that reads another scalar ends the hazard of the masks before it (LLVM 19; later ones are
  // stricter).
  if (is(entry, kind::valu) && (is(entry, kind::reads_scalar) || has_literal(entry.instruction))) read_as_mask_.clear();
  if (!is(entry, kind::reads_mask)) return;
  for (unsigned n = 0; n < entry.instruction.src.size(); ++n) {
    const Operand& source = entry.instruction.src[n];
    if (entry.instruction.opcode->src[n] == Type::mask && source.kind == OperandKind::sgpr)
      read_as_mask_.add({RegisterFile::sgpr, 0, source.index, 2});
  }
  if (is(entry, kind::div_fmas)) read_as_mask_.add({RegisterFile::sgpr, 0, sreg::vcc, 2});
}

}  // namespace rapt::sim
