// Loads to LDS: memory to LDS without a register in between (CDNA ISA documents, "Memory Buffer Load to LDS" and "Flat
// Addressing"). Lane l writes at M0 + instruction offset + l * 4, from three dwords on l * 16; data smaller than a
// dword are extended to one. A load that is out of its buffer's range writes 0. LLVM has one rule for all of gfx9
// (AMDGPUDMAOperations, "GFX9 DMA").
#pragma once

#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/lds/space.hpp"

namespace rapt::sim {

constexpr Data lds_data(Data data) { return data == Data::b96 || data == Data::b128 ? data : Data::b32; }

template <Data D, unsigned L>
inline void direct_offsets(u32 base, Offsets& o) {
  constexpr u32 stride = D == Data::b96 || D == Data::b128 ? 16 : 4;
  for (unsigned l = 0; l < L; ++l) o.at[l] = base + l * stride;
}

// `m0_mask`: the bits of M0 that are used.
template <class Form, Data D, unsigned L>
inline void load_to_lds(Wave& w, const Instruction& i, u32 m0_mask) {
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  alignas(64) u32 rows[4 * L];
  Form::template load<D, L>(w, i, lanes, rows);
  Offsets o;
  direct_offsets<D, L>((w.sgpr[sreg::m0] & m0_mask) + static_cast<u32>(i.offset), o);
  lds_store_later<lds_data(D), L>(w, i, o, lanes, rows);
}

// GLOBAL and SCRATCH ignore the two lowest bits of M0.
template <class Form, Data D, unsigned L>
void flat_to_lds(Wave& w, const Instruction& i) {
  load_to_lds<Form, D, L>(w, i, 0x3fffc);
}

// The same on gfx906, gfx908 and gfx90a, where plain loads of up to a dword have a bit for it (MI100 and MI200 ISA
// documents, "FLAT": LDS).
template <class Form, Data D, unsigned L>
void load_or_fill_lds(Wave& w, const Instruction& i) {
  if (i.lds) flat_to_lds<Form, D, L>(w, i);
  else load_instruction<Form, D, L>(w, i);
}
template <class Form, Data D>
void add_with_lds_bit(HandlerTable& t, std::string name) {
  constexpr ArchSet archs = before_gfx90a | only(Arch::gfx90a);
  t.add(lasting(std::move(name)), load_or_fill_lds<Form, D, 32>, load_or_fill_lds<Form, D, 64>, archs);
}
// Must be added before the plain loads: the first handler of an architecture counts.
template <class Form>
void add_loads_with_lds_bit(HandlerTable& t, const std::string& prefix) {
  add_with_lds_bit<Form, Data::u8>(t, prefix + "load_ubyte");
  add_with_lds_bit<Form, Data::i8>(t, prefix + "load_sbyte");
  add_with_lds_bit<Form, Data::u16>(t, prefix + "load_ushort");
  add_with_lds_bit<Form, Data::i16>(t, prefix + "load_sshort");
  add_with_lds_bit<Form, Data::b32>(t, prefix + "load_dword");
}

}  // namespace rapt::sim
