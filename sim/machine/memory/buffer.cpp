// Plain loads and stores of buffers. Each dword is checked against the range on its own; a load that is out of range
// gives 0, a store does nothing. Any alignment is allowed, as in the unaligned mode that ROCm sets.
#include "sim/machine/memory/buffer.hpp"
#include "sim/machine/memory/buffer_resource.hpp"
#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/memory/flat_to_lds.hpp"

namespace rapt::sim {
namespace {

template <Data D>
constexpr Data part_of = bytes_of(D) < 4 ? D : Data::b32;

template <Data D, unsigned L>
void load_parts(Wave& w, const Instruction& i, const BufferLanes& buffer, u64 lanes, u32* rows) {
  constexpr Data part = part_of<D>;
  Addresses a;
  for (unsigned d = 0; d < rows_of(D); ++d) {
    const u64 inside = buffer.part(lanes, 4 * d, bytes_of(part), a);
    const Access access{buffer.is_private() ? Space::scratch : Space::global, Action::load, bytes_of(part), inside,
                        a.at};
    buffer.check(access);
    note_access(w, i, access);
    load_rows<part, L>(rows + d * L, a.at, inside, keeps_other_half(w));
    if (inside != lanes) zero_rows<part, L>(rows + d * L, lanes & ~inside, keeps_other_half(w));
  }
}

template <Data D, unsigned L>
void store_parts(Wave& w, const Instruction& i, const BufferLanes& buffer, u64 lanes, const u32* rows) {
  constexpr Data part = part_of<D>;
  Addresses a;
  for (unsigned d = 0; d < rows_of(D); ++d) {
    const u64 inside = buffer.part(lanes, 4 * d, bytes_of(part), a);
    const Access access{buffer.is_private() ? Space::scratch : Space::global, Action::store, bytes_of(part), inside,
                        a.at};
    buffer.check(access);
    note_access(w, i, access);
    store_rows<part, L>(rows + d * L, a.at, inside);
    mark_global_store(access);
  }
}

struct BufferForm {
  template <Data D, unsigned L>
  static void load(Wave& w, const Instruction& i, u64 lanes, u32* rows) {
    const BufferLanes buffer(w, i, false);
    Addresses a;
    if (buffer.linear<L>(lanes, bytes_of(D), a)) global_load<D, L>(w, i, a, lanes, rows);
    else load_parts<D, L>(w, i, buffer, lanes, rows);
  }
  template <Data D, unsigned L>
  static void store(Wave& w, const Instruction& i, u64 lanes, const u32* rows) {
    const BufferLanes buffer(w, i, false);
    Addresses a;
    if (buffer.linear<L>(lanes, bytes_of(D), a)) global_store<D, L>(w, i, a, lanes, rows);
    else store_parts<D, L>(w, i, buffer, lanes, rows);
  }
};

// M0 holds 16 bits of LDS offset; 18 on gfx950, which has a larger LDS.
u32 m0_mask(const Wave& w) { return w.arch == Arch::gfx950 ? 0x3ffff : 0xffff; }

// TFE adds a dword that says whether a page was missing: none ever is.
template <Data D, unsigned L>
void load(Wave& w, const Instruction& i) {
  if (i.lds) {
    load_to_lds<BufferForm, D, L>(w, i, m0_mask(w));
    return;
  }
  load_instruction<BufferForm, D, L>(w, i);
  if (i.tfe) for_lanes(w.exec(), [&](unsigned l) { w.row(i.dst)[rows_of(D) * L + l] = 0; });
}

template <Data D>
void add_load(HandlerTable& t, std::initializer_list<const char*> names) {
  for (const char* name : names) t.add(lasting(std::string("buffer_load_") + name), load<D, 32>, load<D, 64>);
}

// Stores the LDS's dwords at M0 + offset + lane * 4 to the buffer.
template <unsigned L>
void store_from_lds(Wave& w, const Instruction& i) {
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  Offsets o;
  direct_offsets<Data::b32, L>((w.sgpr[sreg::m0] & m0_mask(w)) + static_cast<u32>(i.offset), o);
  alignas(64) u32 row[L];
  lds_load<Data::b32, L>(w, i, o, lanes, row);
  BufferForm::store<Data::b32, L>(w, i, lanes, row);
}

}  // namespace

void register_buffer(HandlerTable& t) {
  add_load<Data::u8>(t, {"ubyte", "u8"}), add_load<Data::i8>(t, {"sbyte", "i8"});
  add_load<Data::u16>(t, {"ushort", "u16"}), add_load<Data::i16>(t, {"sshort", "i16"});
  add_load<Data::b32>(t, {"dword", "b32"}), add_load<Data::b64>(t, {"dwordx2", "b64"});
  add_load<Data::b96>(t, {"dwordx3", "b96"}), add_load<Data::b128>(t, {"dwordx4", "b128"});
  add_load<Data::u8_low>(t, {"ubyte_d16", "d16_u8"}), add_load<Data::u8_high>(t, {"ubyte_d16_hi", "d16_hi_u8"});
  add_load<Data::i8_low>(t, {"sbyte_d16", "d16_i8"}), add_load<Data::i8_high>(t, {"sbyte_d16_hi", "d16_hi_i8"});
  add_load<Data::b16_low>(t, {"short_d16", "d16_b16"}), add_load<Data::b16_high>(t, {"short_d16_hi", "d16_hi_b16"});
  PlainInstructions<BufferForm> stores{t, "buffer_"};
  stores.store<Data::u8>({"byte", "b8"}), stores.store<Data::u8_high>({"byte_d16_hi", "d16_hi_b8"});
  stores.store<Data::u16>({"short", "b16"}), stores.store<Data::b16_high>({"short_d16_hi", "d16_hi_b16"});
  stores.store<Data::b32>({"dword", "b32"}), stores.store<Data::b64>({"dwordx2", "b64"});
  stores.store<Data::b96>({"dwordx3", "b96"}), stores.store<Data::b128>({"dwordx4", "b128"});
  t.add("buffer_store_lds_dword", store_from_lds<32>, store_from_lds<64>);
}

}  // namespace rapt::sim
