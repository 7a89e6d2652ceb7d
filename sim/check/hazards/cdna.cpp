#include "sim/check/hazards/cdna.hpp"

#include "sim/check/hazards/matrix.hpp"
#include "sim/check/hazards/report.hpp"

// Sources: the tables of required wait states in the ISA documents of CDNA1 to CDNA4, and LLVM's GCNHazardRecognizer,
// which is followed if they differ.
namespace rapt::sim {
namespace {

constexpr unsigned product_reach = 19;
constexpr unsigned longest_window = 5;

bool is_vector(RegisterFile file) { return file == RegisterFile::vgpr || file == RegisterFile::agpr; }

// Checks the rules on one pair of instructions.
class Pair {
 public:
  Pair(Arch arch, unsigned lanes, const Entry& past, const Entry& entry, std::uint64_t gap)
      : arch_(arch), lanes_(lanes), past_(past), entry_(entry), gap_(gap) {}

  void check(bool f64_product_between) const;

 private:
  bool was(kind::Kinds kinds) const { return (past_.hazards.kinds & kinds) != 0; }
  bool is(kind::Kinds kinds) const { return (entry_.hazards.kinds & kinds) != 0; }

  // A register of the file that the past instruction wrote and `uses` (reads or writes of this one) touches; `take`
  // chooses the uses that count.
  template <typename Take>
  void written(std::span<const RegisterAccess> uses, unsigned states, const char* verb, Take take) const {
    if (gap_ >= states) return;
    for (const RegisterAccess& use : uses)
      if (take(use))
        for (const RegisterAccess& result : past_.effects.writes())
          if (const auto common = common_register(use, result))
            fail(register_name(use.file, *common) + " is " + verb, states);
  }
  template <typename Take>
  void read(unsigned states, Take take) const {
    written(entry_.effects.reads(), states, "read", take);
  }
  void exec(unsigned states) const {
    if (was(kind::writes_exec | kind::compares_exec) && gap_ < states) fail("exec is used", states);
  }
  [[noreturn]] void fail(const std::string& what, unsigned states) const {
    report(what + " " + wait_states(gap_) + " after " + print({arch_, lanes_}, past_.instruction) + ", which needs " +
           std::to_string(states));
  }
  bool gfx90a() const { return !contains(before_gfx90a, arch_); }
  bool gfx940() const { return arch_ == Arch::gfx942 || arch_ == Arch::gfx950; }

  void check_scalars() const;
  void check_vectors() const;
  void check_dots() const;
  void check_accumulators() const;
  void check_wide_store() const;

  Arch arch_;
  unsigned lanes_;
  const Entry& past_;
  const Entry& entry_;
  std::uint64_t gap_;
};

constexpr auto any_use = [](const RegisterAccess&) { return true; };
constexpr auto named = [](const RegisterAccess& use) { return use.source != Effects::implied; };
constexpr auto vector_named = [](const RegisterAccess& use) { return is_vector(use.file) && named(use); };
constexpr auto scalar_use = [](const RegisterAccess& use) {
  return use.file == RegisterFile::sgpr && (named(use) || use.first == sreg::vcc);
};
template <unsigned N>
constexpr auto source = [](const RegisterAccess& use) { return use.source == N; };

void Pair::check(bool f64_product_between) const {
  if (was(kind::writes_scalar)) check_scalars();
  if (was(kind::valu)) check_vectors();
  if (gfx90a() && was(kind::dot)) check_dots();
  if (!gfx90a()) check_accumulators();
  if (was(kind::wide_store) && is(kind::writes_vector)) check_wide_store();
  if (was(kind::setreg) && is(kind::getreg | kind::setreg) && gap_ < 2 &&
      past_.hazards.hardware_register == entry_.hazards.hardware_register)
    fail(is(kind::getreg) ? "the hardware register is read" : "the hardware register is written", 2);
  // S_SETVSKIP needs no wait states before vector instructions: the tables only name S_SETREG.
  if (was(kind::setvskip) && is(kind::getmode) && gap_ < 2) fail("the hardware register is read", 2);
  if (was(kind::sets_vskip) && is(kind::valu | kind::memory | kind::lds) && gap_ < 2)
    fail("a vector instruction runs", 2);
  if (was(kind::writes_m0) && is(kind::reads_m0) && gap_ < 1) fail("m0 is read", 1);
  if (was(kind::f64_product) && is(kind::fma_f64) && gap_ < 2) fail("a product of f64 runs", 2);
  if (arch_ == Arch::gfx90a && is(kind::memory | kind::lds) && f64_product_between)
    read(2, [](const RegisterAccess& use) { return is_vector(use.file); });
}

void Pair::check_scalars() const {
  if (is(kind::memory))
    read(5, [](const RegisterAccess& use) {
      return use.file == RegisterFile::sgpr && (named(use) || use.first == sreg::m0);
    });
  if (is(kind::div_fmas)) read(4, [](const RegisterAccess& use) { return use.first == sreg::vcc; });
  if (is(kind::selects_lane)) read(4, source<1>);
  if (gfx940() && is(kind::valu)) read(2, scalar_use);
}

void Pair::check_vectors() const {
  if (is(kind::dpp)) {
    read(2, vector_named);
    exec(5);
  }
  if (is(kind::product) || (!gfx90a() && is(kind::accvgpr_write))) {
    exec(4);
    if (!was(kind::product) && !(gfx90a() && was(kind::dot)))
      read(2, [this](const RegisterAccess& use) {
        return gfx90a() ? is_vector(use.file) : use.file == RegisterFile::vgpr;
      });
  }
  if (gfx940() && is(kind::valu)) {
    if (was(kind::trans) && !is(kind::trans)) read(1, vector_named);
    if (was(kind::shifts_result)) read(1, vector_named);
    if (is(kind::reads_lane)) read(1, source<0>);
    if (is(kind::names_lane)) exec(4);
  }
  if (arch_ == Arch::gfx950 && is(kind::permlane)) {
    read(2, [](const RegisterAccess& use) { return is_vector(use.file); });
    if (was(kind::compares_exec)) exec(4);
  }
}

// C is forwarded from the same operation.
void Pair::check_dots() const {
  if (is(kind::product)) return;
  const bool same = past_.instruction.opcode->name == entry_.instruction.opcode->name;
  read(3, [same](const RegisterAccess& use) { return is_vector(use.file) && !(same && use.source >= 2); });
  if (!same) written(entry_.effects.writes(), 3, "written", any_use);
}

// gfx908's v_accvgpr_read and v_accvgpr_write.
void Pair::check_accumulators() const {
  if (was(kind::accvgpr_write)) {
    const auto agpr = [](const RegisterAccess& use) { return use.file == RegisterFile::agpr; };
    if (is(kind::accvgpr_read)) read(3, agpr);
    if (is(kind::product)) {
      read(3, [agpr](const RegisterAccess& use) { return agpr(use) && use.source != 2; });
      read(1, [agpr](const RegisterAccess& use) { return agpr(use) && use.source == 2; });
    }
  }
  if (was(kind::accvgpr_read) && is(kind::memory | kind::lds))
    read(2, [](const RegisterAccess& use) { return use.file == RegisterFile::vgpr; });
}

// A store of more than 8 bytes per lane reads its data late.
void Pair::check_wide_store() const {
  const unsigned states = gfx940() ? 2 : 1;
  if (gap_ >= states) return;
  for (const RegisterAccess& data : past_.effects.reads())
    if (data.source == 1 && is_vector(data.file))
      for (const RegisterAccess& result : entry_.effects.writes())
        if (const auto common = common_register(data, result))
          fail(register_name(data.file, *common) + " is written", states);
}

}  // namespace

void CdnaHazards::step(const Entry& entry) {
  const HazardFacts& facts = entry.hazards;
  if (((newer_ | older_) & facts.watches) != 0) check_recent(entry);
  if ((entry.registers & product_groups_) != 0 && now_ - product(0).end < product_reach) check_products(entry);
  now_ += facts.wait_states;
  if (facts.kinds == 0) return;
  if (now_ - newer_begin_ >= longest_window) {
    older_ = newer_;
    newer_ = 0;
    newer_begin_ = now_;
  }
  newer_ |= facts.kinds;
  recent_[recent_end_++ % recent_.size()] = {&entry, facts.kinds, now_};
  if ((facts.kinds & kind::product) == 0) return;
  if (now_ - product(0).end > product_reach) {
    product_registers_.clear();
    product_groups_ = 0;
  }
  const auto add = [this](const RegisterAccess& access) {
    product_registers_.add(access);
    product_groups_ |= register_groups(access);
  };
  for (const RegisterAccess& access : entry.effects.writes()) add(access);
  for (const RegisterAccess& access : entry.effects.reads())
    if (access.source == 2 && is_vector(access.file)) add(access);
  products_[products_end_++ % products_.size()] = {&entry, facts.kinds, now_};
}

void CdnaHazards::check_recent(const Entry& entry) {
  bool f64_product_between = false;
  for (unsigned n = 0; n < recent_.size(); ++n) {
    const Past& past = recent(n);
    const std::uint64_t gap = now_ - past.end;
    if (gap >= entry.hazards.window) return;
    if (past.kinds & entry.hazards.watches) Pair(arch_, lanes_, *past.entry, entry, gap).check(f64_product_between);
    f64_product_between |= (past.kinds & kind::f64_product) != 0;
  }
}

void CdnaHazards::check_products(const Entry& entry) {
  if ((entry.hazards.kinds & (kind::valu | kind::memory | kind::lds)) == 0) return;
  for (const RegisterAccess& access : entry.effects.reads())
    if (product_registers_.touches(access)) check_product_use(entry, access, false);
  if (entry.hazards.kinds & kind::product) return;
  for (const RegisterAccess& access : entry.effects.writes())
    if (product_registers_.touches(access)) check_product_use(entry, access, true);
}

// Only the latest product that wrote the register matters: it waited for those before it.
void CdnaHazards::check_product_use(const Entry& entry, const RegisterAccess& access, bool written) {
  const HazardFacts& user = entry.hazards;
  bool decided = false, sum_decided = !written;
  for (unsigned n = 0; n < products_.size() && !(decided && sum_decided); ++n) {
    const Past& past = product(n);
    const std::uint64_t gap = now_ - past.end;
    if (gap >= product_reach) return;
    const auto require = [&](unsigned states, unsigned common, const char* verb) {
      if (gap >= states) return;
      report(register_name(access.file, common) + " is " + verb + " " + wait_states(gap) + " after " +
             print({arch_, lanes_}, past.entry->instruction) + ", which needs " + std::to_string(states));
    };
    for (const RegisterAccess& result : past.entry->effects.writes()) {
      const auto common = common_register(access, result);
      if (!common || decided) continue;
      const bool same = access.first == result.first && access.count == result.count;
      ProductUse use = ProductUse::factor;
      if (written) use = ProductUse::write;
      else if (user.kinds & (kind::memory | kind::lds)) use = ProductUse::memory_read;
      else if ((user.kinds & kind::product) == 0) use = ProductUse::valu_read;
      else if (access.source == ((user.kinds & kind::sparse) ? Effects::implied : 2))
        use = same ? ProductUse::same_sum : ProductUse::overlapped_sum;
      // gfx908: also check the product before one that wrote exactly the same registers.
      decided = !(arch_ == Arch::gfx908 && use == ProductUse::same_sum);
      require(wait_states_after_product(arch_, past.entry->hazards, use, user), *common, written ? "written" : "read");
    }
    if (sum_decided || (past.kinds & kind::sparse)) continue;
    for (const RegisterAccess& sum : past.entry->effects.reads()) {
      if (sum.source != 2 || !is_vector(sum.file)) continue;
      const auto common = common_register(access, sum);
      if (!common) continue;
      sum_decided = true;
      require(wait_states_after_sum_read(arch_, past.entry->hazards, user), *common, "written");
    }
  }
}

}  // namespace rapt::sim
