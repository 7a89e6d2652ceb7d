// An instruction reads all its registers before it writes any. So it has the same results where a destination shares
// registers with sources as with separate registers. Each instruction's operands are moved onto each other in every way
// that its encodings allow, with inactive lanes, addresses beyond a buffer's end, and modifiers.
//
// An ordinary run has every second placement, under one of the conditions in turn; the nightly one runs each several
// times under all of them.
#include "sim/tests/support/instructions/overlaps.hpp"
#include "sim/tests/support/instructions/renamed_run.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace rapt::sim::test {
namespace {

// Overlaps for which the hardware guarantees nothing. The simulator reads first there too, so it is deterministic, and
// this test includes them all; code that relies on more is wrong in other ways. XNACK's replays, for which LLVM keeps
// the results of scalar loads apart from their addresses, are not simulated.
enum class Meets : std::uint8_t { any_source, part_of_src2, all_but_src2_itself, exec };
struct Undefined {
  ArchSet archs;
  std::vector<std::string_view> names;  // or how they begin
  unsigned from_dwords;                 // of the destination
  Meets meets;
  const char* source;
};
const std::vector<Undefined> undefined{
    {cdna,
     {"v_mfma_"},
     5,
     Meets::part_of_src2,
     "MFMA, C on a part of D: LLVM's VOPProfileMAI (VOP3PInstructions.td) has it of more than 4 registers, and that A "
     "and B may overlap D; llvm-mc refuses it"},
    {rdna,
     {"v_wmma_", "v_swmmac_"},
     1,
     Meets::all_but_src2_itself,
     "WMMA, A, B, the index or a part of C on D: LLVM 22 marks D early-clobber (llc -stop-after=finalize-isel)"},
    {every_arch,
     {"v_qsad_pk_u16_u8", "v_mqsad_pk_u16_u8", "v_mqsad_u32_u8"},
     2,
     Meets::any_source,
     "QSAD, MQSAD: LLVM 22 marks the destination early-clobber"},
    {only(Arch::gfx1100),
     {"v_mad_u64_u32", "v_mad_i64_i32"},
     2,
     Meets::part_of_src2,
     "gfx11.0's 64-bit MAD, a part of src2 on the destination: LLVM's FeatureMADIntraFwdBug and mad_64_32.ll"},
    {only(Arch::gfx950),
     {"v_cvt_scalef32_pk32_", "v_cvt_scalef32_sr_pk32_", "v_cvt_scalef32_2xpk16_"},
     2,
     Meets::any_source,
     "conversions of 32 values: LLVM 22 marks the destination early-clobber, for 2xpk16 since its change 188809"},
    {every_arch,
     {"s_"},
     1,
     Meets::exec,
     "saveexec to EXEC: the ISA documents save EXEC \"before the bitwise operation\", but their formulas write the "
     "destination last; here the new mask stays"}};

bool matches(const Undefined& u, Arch arch, const Instruction& i) {
  const std::string_view name = i.opcode->name;
  if (!contains(u.archs, arch) || i.dst.dwords < u.from_dwords ||
      std::none_of(u.names.begin(), u.names.end(), [&](std::string_view start) { return name.starts_with(start); }))
    return false;
  const bool src2_itself = i.src[2].kind == i.dst.kind && i.src[2].index == i.dst.index;
  const bool part_of_src2 = meet(i.dst, i.src[2]) && !src2_itself;
  const bool others = meet(i.dst, i.src[0]) || meet(i.dst, i.src[1]);
  switch (u.meets) {
    case Meets::any_source: return others || meet(i.dst, i.src[2]);
    case Meets::part_of_src2: return part_of_src2;
    case Meets::all_but_src2_itself: return others || part_of_src2;
    case Meets::exec:
      return name.find("_saveexec_") != name.npos &&
             meet(i.dst, {.kind = OperandKind::sgpr, .dwords = 2, .index = sreg::exec});
  }
  return false;
}

// Random bits in the encoding's options, if they are legal and do not change the operands' widths.
Encoding with_options(const Encoding& e, std::mt19937& random) {
  const auto plain = e.decode();
  Encoding result = e;
  for (const Field& field : e.options) {
    Encoding changed = result;
    put(changed.words, field, static_cast<std::uint32_t>(random()));
    const auto i = changed.decode();
    bool same = i.has_value() && !is_refused(*i);
    for (unsigned slot = 0; same && slot < slot_count; ++slot) {
      const Operand &a = operand(*i, slot), &b = operand(*plain, slot);
      same = a.kind == b.kind && a.dwords == b.dwords;
    }
    if (same) result = changed;
  }
  return result;
}

// All lanes and all inside; some lanes and some beyond the end; the same with modifiers and another mode.
constexpr unsigned kinds_of_conditions = 3;
Conditions conditions(unsigned kind, const Opcode& row, std::mt19937& random) {
  Conditions c;
  if (kind == 0) return c;
  c.beyond = true;
  if (!needs_all_lanes(row)) c.exec = (random() | std::uint64_t{random()} << 32) >> random() % 64;
  // Rounding and denormals of every kind.
  if (kind == 2) c.mode = random() & 0xff;
  return c;
}

struct Counts {
  std::size_t placements = 0, runs = 0, rows = 0, wrong = 0;
  std::vector<std::size_t> undefined;
};

class OverlapTest {
 public:
  OverlapTest(Target target, bool all, Counts& counts) : target_(target), all_(all), counts_(counts), run_(target) {}

  void row(const Opcode& row) {
    const std::size_t before = counts_.placements;
    for (const Encoding& e : encodings({target_.arch, target_.lanes}, row)) {
      if (is_refused(*e.decode())) continue;
      for (unsigned kind = 0; kind < kinds_of_conditions; ++kind)
        encoding(kind == 2 ? with_options(e, random_) : e, kind);
    }
    counts_.rows += counts_.placements != before;
  }

 private:
  void encoding(const Encoding& e, unsigned kind) {
    unsigned number = 0;
    for_each_overlap(e, [&](const Encoding& overlapping) {
      counts_.placements += kind == 0;
      if (!all_ && number++ % (2 * kinds_of_conditions) != 2 * kind) return;
      for (unsigned repeat = 0; repeat < (all_ ? 4U : 1U); ++repeat) compare(overlapping, kind);
    });
  }

  void compare(const Encoding& overlapping, unsigned kind) {
    const auto i = overlapping.decode();
    ++counts_.runs;
    for (std::size_t n = 0; n < undefined.size(); ++n) counts_.undefined[n] += matches(undefined[n], target_.arch, *i);
    const Conditions c = conditions(kind, *overlapping.opcode, random_);
    const std::string difference = run_.difference(*i, apart(overlapping), c, random_);
    if (difference.empty()) return;
    ++counts_.wrong;
    if (std::exchange(said_, overlapping.opcode) != overlapping.opcode)  // one failure per row is enough to read
      ADD_FAILURE() << describe(target_) << ": " << print(overlapping.mode, *i) << ": " << difference;
  }

  Target target_;
  bool all_;
  Counts& counts_;
  RenamedRun run_;
  std::mt19937 random_{1};
  const Opcode* said_ = nullptr;  // the last failure
};

TEST(Overlap, TheResultsAreThoseOfRegistersApart) {
  const bool all = whole_lists();
  Counts counts;
  counts.undefined.resize(undefined.size());
  for (const Target& target : every_target()) {
    OverlapTest test(target, all, counts);
    for (const Opcode& row : opcodes(target.arch))
      if (!is_refused(row, target)) test.row(row);
  }
  std::cout << counts.rows << " rows of the opcode tables overlap, in " << counts.placements << " placements; "
            << counts.runs << " runs\n";
  for (std::size_t n = 0; n < undefined.size(); ++n) {
    std::cout << counts.undefined[n] << " undefined on the product: " << undefined[n].source << "\n";
    EXPECT_GT(counts.undefined[n], 0U);
  }
  EXPECT_EQ(counts.wrong, 0U);
  EXPECT_GT(counts.placements, 420000U);
  EXPECT_GT(counts.runs, all ? 5000000U : 210000U);
}

}  // namespace
}  // namespace rapt::sim::test
