#include "sim/machine/memory/scratch.hpp"
#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/memory/flat_spaces.hpp"
#include "sim/machine/memory/flat_to_lds.hpp"

namespace rapt::sim {
namespace {

// gfx12: dword n of the block is moved to or from register n if bit n of M0 is set.
template <unsigned L, bool Load>
void block(Wave& w, const Instruction& i) {
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  Offsets first, dword;
  ScratchForm::offsets<L>(w, i, first);
  u32* rows = w.row(Load ? i.dst : i.src[1]);
  for_lanes(w.sgpr[sreg::m0], [&](unsigned n) {
    for (unsigned l = 0; l < L; ++l) dword.at[l] = first.at[l] + 4 * n;
    if constexpr (Load) private_load<Data::b32, L>(w, i, dword, lanes, rows + n * L);
    else private_store<Data::b32, L>(w, i, dword, lanes, rows + n * L);
  });
}

template <Data D>
void add_to_lds(HandlerTable& t, const char* name) {
  t.add(name, flat_to_lds<ScratchForm, D, 32>, flat_to_lds<ScratchForm, D, 64>, cdna);
}

}  // namespace

void register_scratch(HandlerTable& t) {
  add_loads_with_lds_bit<ScratchForm>(t, "scratch_");
  PlainInstructions<ScratchForm>{t, "scratch_"}.add_all();
  t.add("scratch_load_block", block<32, true>, block<64, true>);
  t.add("scratch_store_block", block<32, false>, block<64, false>);
  add_to_lds<Data::u8>(t, "scratch_load_lds_ubyte"), add_to_lds<Data::i8>(t, "scratch_load_lds_sbyte");
  add_to_lds<Data::u16>(t, "scratch_load_lds_ushort"), add_to_lds<Data::i16>(t, "scratch_load_lds_sshort");
  add_to_lds<Data::b32>(t, "scratch_load_lds_dword");
}

}  // namespace rapt::sim
