#include "sim/machine/memory/flat_special.hpp"
#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/memory/flat_spaces.hpp"
#include "sim/machine/memory/flat_to_lds.hpp"

namespace rapt::sim {
namespace {

// The lane's number times 4 is added to the address, which has no VGPR.
template <unsigned L>
void addtid_addresses(Wave& w, const Instruction& i, Addresses& a) {
  global_addresses<L>(w, i, a);
  for (unsigned l = 0; l < L; ++l) a.at[l] += 4 * l;
}

template <unsigned L>
void load_addtid(Wave& w, const Instruction& i) {
  if (w.exec() == 0) return;
  Addresses a;
  addtid_addresses<L>(w, i, a);
  global_load<Data::b32, L>(w, i, a, w.exec(), w.row(i.dst));
}

template <unsigned L>
void store_addtid(Wave& w, const Instruction& i) {
  if (w.exec() == 0) return;
  Addresses a;
  addtid_addresses<L>(w, i, a);
  global_store<Data::b32, L>(w, i, a, w.exec(), w.row(i.src[1]));
}

// gfx12: dword n of the block is moved to or from register n if bit n of M0 is set.
template <unsigned L, bool Load>
void block(Wave& w, const Instruction& i) {
  if (w.exec() == 0) return;
  Addresses a, dword;
  global_addresses<L>(w, i, a);
  u32* rows = w.row(Load ? i.dst : i.src[1]);
  for_lanes(w.sgpr[sreg::m0], [&](unsigned n) {
    for (unsigned l = 0; l < L; ++l) dword.at[l] = a.at[l] + 4 * n;
    if constexpr (Load) global_load<Data::b32, L>(w, i, dword, w.exec(), rows + n * L);
    else global_store<Data::b32, L>(w, i, dword, w.exec(), rows + n * L);
  });
}

// Every access reaches memory at once, so writing back and invalidating caches changes nothing.
void no_effect(Wave&, const Instruction&) {}

template <Data D>
void add_to_lds(HandlerTable& t, const char* name) {
  t.add(name, flat_to_lds<GlobalForm, D, 32>, flat_to_lds<GlobalForm, D, 64>, cdna);
}

}  // namespace

void register_global_special(HandlerTable& t) {
  t.add("global_load_addtid_b32", load_addtid<32>, load_addtid<64>);
  t.add("global_store_addtid_b32", store_addtid<32>, store_addtid<64>);
  t.add("global_load_block", block<32, true>, block<64, true>);
  t.add("global_store_block", block<32, false>, block<64, false>);
  add_to_lds<Data::u8>(t, "global_load_lds_ubyte"), add_to_lds<Data::i8>(t, "global_load_lds_sbyte");
  add_to_lds<Data::u16>(t, "global_load_lds_ushort"), add_to_lds<Data::i16>(t, "global_load_lds_sshort");
  add_to_lds<Data::b32>(t, "global_load_lds_dword");
  add_to_lds<Data::b96>(t, "global_load_lds_dwordx3"), add_to_lds<Data::b128>(t, "global_load_lds_dwordx4");
  for (const char* name : {"global_inv", "global_wb", "global_wbinv", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_inv",
                           "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_wbl2"})
    t.add(name, no_effect);
  register_global_transpose(t);
}

}  // namespace rapt::sim
