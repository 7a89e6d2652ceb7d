// Every bit of every encoding that the decoder accepts has an effect, is refused, or is in the list of hints
// (support/bits/hints_*.cpp). RAPT_SIM_BIT_PASSES asks for more passes than the usual number. An ordinary run has every
// second target.
#include "sim/tests/support/instructions/any_instruction.hpp"
#include "sim/tests/support/bits/search.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace rapt::sim::test {
namespace {

constexpr unsigned usual_passes = 60, usual_hint_passes = 4;

struct Counts {
  std::array<unsigned, outcome_count> bits{};
  unsigned hints = 0, forms = 0;

  void add(const Counts& other) {
    for (unsigned n = 0; n < outcome_count; ++n) bits[n] += other.bits[n];
    hints += other.hints, forms += other.forms;
  }
  unsigned of(Outcome outcome) const { return bits[static_cast<unsigned>(outcome)]; }
  void print(const std::string& what) const {
    std::printf("%s: %u forms; bits: %u effect, %u refused, %u other opcode, %u hint\n", what.c_str(), forms,
                of(Outcome::effect), of(Outcome::refused), of(Outcome::other), hints);
  }
};

// "lds[0] (bit 13)"
std::string name_of(const Form& form, unsigned bit) {
  const Layout::Place place = form.layout->place(bit);
  return std::string(place.field) + "[" + std::to_string(place.bit) + "] (bit " + std::to_string(bit) + ")";
}

class EveryBit : public testing::TestWithParam<Target> {
 protected:
  // After all targets, every hint in the list was needed for some bit.
  static void TearDownTestSuite() {
    all_.print("all");
    if (looked_at_.size() < every_target().size()) return;
    for (const std::span<const Hint> list : all_hints())
      for (const Hint& hint : list)
        EXPECT_TRUE(used_.contains(&hint)) << "a hint that no bit needs: " << hint.layouts << " " << hint.fields << " "
                                           << hint.rows << ": " << hint.why;
  }

  void look_at(Target target) {
    const char* asked = std::getenv("RAPT_SIM_BIT_PASSES");
    const unsigned passes = asked ? static_cast<unsigned>(std::atoi(asked)) : usual_passes;
    BitSearch search(target);
    search.run(passes, asked ? passes : usual_hint_passes);
    Counts counts;
    for (const Form& form : search.forms()) {
      ++counts.forms;
      if (form.ran) check(search, form, counts);
      else check_refused(search, form, counts);
    }
    counts.print(describe(target));
    all_.add(counts);
    looked_at_.insert(describe(target));
    check_forms(search);
  }

  // The random words covered every form that the tests of all instructions know.
  void check_forms(const BitSearch& search) {
    const DecodeMode mode{search.target().arch, search.target().lanes};
    std::set<std::pair<const Opcode*, std::uint64_t>> found;
    for (const Form& form : search.forms()) found.emplace(form.row, operands_in_use(*decode(mode, form.bases.front())));
    for (const Opcode& row : opcodes(mode.arch))
      for (const Encoding& e : encodings(mode, row))
        EXPECT_TRUE(found.contains({&row, operands_in_use(*e.decode())}))
            << describe(search.target()) << " " << row.name << " " << e.form;
  }

  void check(const BitSearch& search, const Form& form, Counts& counts) {
    EXPECT_TRUE(!form.everywhere || writes_by_m0(*form.row))
        << describe(search.target()) << ": " << search.describe(form) << " or the same with one bit flipped writes "
        << "registers that effects() does not name";
    std::string idle, needless;
    for (unsigned bit = 0; bit < form.bits.size(); ++bit) {
      const Outcome outcome = form.bits[bit];
      ++counts.bits[static_cast<unsigned>(outcome)];
      const Hint* hint = form.hints[bit];
      if (outcome == Outcome::idle && hint == nullptr) idle += " " + name_of(form, bit);
      if (outcome == Outcome::idle && hint != nullptr) used_.insert(hint), ++counts.hints;
      if (outcome == Outcome::effect && hint != nullptr) needless += " " + name_of(form, bit);
    }
    const auto where = [&] {
      return describe(search.target()) + ", " + std::string(form.layout->name) + ": " + search.describe(form);
    };
    if (!idle.empty()) ADD_FAILURE() << where() << ": without effect, and no hint:" << idle;
    if (!needless.empty()) ADD_FAILURE() << where() << ": an effect, though a hint:" << needless;
  }

  // All bits of instructions that the simulator refuses to execute are refused.
  void check_refused(const BitSearch& search, const Form& form, Counts& counts) {
    counts.bits[static_cast<unsigned>(Outcome::refused)] += static_cast<unsigned>(form.bits.size());
    const std::string_view name = form.row->name;
    const bool first_page = name.find("addtid") != name.npos;  // without a base, there is no memory at the address
    const DecodeMode mode{search.target().arch, search.target().lanes};
    EXPECT_TRUE(is_refused(*form.row, search.target()) || is_refused(*decode(mode, form.bases.front())) || first_page)
        << describe(search.target()) << ": never ran: " << search.describe(form);
  }

  static inline std::set<const Hint*> used_;
  static inline std::set<std::string> looked_at_;
  static inline Counts all_;
};

TEST_P(EveryBit, HasAnEffectOrIsRefusedOrAHint) { look_at(GetParam()); }

// Every target nightly. In an ordinary run one of each pair of them (gfx908 and gfx90a, wave32 and wave64 of an RDNA):
// in turn the second and the first.
std::vector<Target> targets() {
  std::vector<Target> list;
  std::size_t number = 0;
  for (const Target& target : every_target()) {
    if (taken(number + number / 2 + 1, 2)) list.push_back(target);
    ++number;
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Targets, EveryBit, testing::ValuesIn(targets()), [](const auto& target) {
  return std::string(name(target.param.arch)) + "_" + std::to_string(target.param.lanes);
});

}  // namespace
}  // namespace rapt::sim::test
