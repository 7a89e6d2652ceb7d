// DS loads and stores (ISA documents, "Data Share Operations"). From gfx9 on M0 clamps nothing. Any alignment is
// allowed, as in the unaligned mode that ROCm sets (LLVM's unaligned-access-mode), except for atomics and transposing
// reads.
#include "sim/machine/lds/lds.hpp"

namespace rapt::sim {
namespace {

struct DsForm {
  template <Data D, unsigned L>
  static void load(Wave& w, const Instruction& i, u64 lanes, u32* rows) {
    need_lds(i);
    Offsets o;
    ds_offsets<L>(w, i, static_cast<u32>(i.offset), o);
    lds_load<D, L>(w, i, o, lanes, rows);
  }
  template <Data D, unsigned L>
  static void store(Wave& w, const Instruction& i, u64 lanes, const u32* rows) {
    need_lds(i);
    Offsets o;
    ds_offsets<L>(w, i, static_cast<u32>(i.offset), o);
    lds_store<D, L>(w, i, o, lanes, rows);
  }
};

template <Data D>
void add_load(HandlerTable& t, const char* what) {
  for (const char* verb : {"ds_read_", "ds_load_"})
    t.add(lasting(std::string(verb) + what), load_instruction<DsForm, D, 32>, load_instruction<DsForm, D, 64>);
}
template <Data D>
void add_store(HandlerTable& t, const char* what) {
  for (const char* verb : {"ds_write_", "ds_store_"})
    t.add(lasting(std::string(verb) + what), store_instruction<DsForm, D, 32>, store_instruction<DsForm, D, 64>);
}

// Two addresses from one register: the offsets are in elements, or in units of 64 elements. With equal offsets there is
// one access, with the first data.
enum class Two : u8 { load, store, exchange };
template <Two Kind, Data D, unsigned Scale, unsigned L>
void two(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  constexpr unsigned step = bytes_of(D) * Scale;
  Offsets first, second;
  ds_offsets<L>(w, i, static_cast<u32>(i.offset) * step, first);
  ds_offsets<L>(w, i, u32{i.offset1} * step, second);
  if constexpr (Kind == Two::load) {
    lds_load<D, L>(w, i, first, lanes, w.row(i.dst));
    lds_load<D, L>(w, i, second, lanes, w.row(i.dst) + rows_of(D) * L);
  } else if constexpr (Kind == Two::exchange) {
    alignas(64) u32 rows[2 * rows_of(D) * L];
    lds_load<D, L>(w, i, first, lanes, rows);
    lds_load<D, L>(w, i, second, lanes, rows + rows_of(D) * L);
    lds_store<D, L>(w, i, first, lanes, w.row(i.src[1]));
    if (i.offset != i.offset1) lds_store<D, L>(w, i, second, lanes, w.row(i.src[2]));
    u32* out = w.row(i.dst);
    if (lanes == w.all_lanes()) std::memcpy(out, rows, sizeof rows);
    else
      for_lanes(lanes, [&](unsigned l) {
        for (unsigned d = 0; d < 2 * rows_of(D); ++d) out[d * L + l] = rows[d * L + l];
      });
  } else {
    lds_store<D, L>(w, i, first, lanes, w.row(i.src[1]));
    if (i.offset != i.offset1) lds_store<D, L>(w, i, second, lanes, w.row(i.src[2]));
  }
}

template <Two Kind>
void add_two(HandlerTable& t, const char* near, const char* far, const char* end = "_") {
  const auto name = [end](const char* stem, const char* type) { return lasting(std::string(stem) + end + type); };
  t.add(name(near, "b32"), two<Kind, Data::b32, 1, 32>, two<Kind, Data::b32, 1, 64>);
  t.add(name(near, "b64"), two<Kind, Data::b64, 1, 32>, two<Kind, Data::b64, 1, 64>);
  t.add(name(far, "b32"), two<Kind, Data::b32, 64, 32>, two<Kind, Data::b32, 64, 64>);
  t.add(name(far, "b64"), two<Kind, Data::b64, 64, 32>, two<Kind, Data::b64, 64, 64>);
}

// The address is M0's low half + offset + lane * 4.
template <unsigned L, bool Load>
void addtid(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  Offsets o;
  for (unsigned l = 0; l < L; ++l) o.at[l] = (w.sgpr[sreg::m0] & 0xffff) + static_cast<u32>(i.offset) + 4 * l;
  if constexpr (Load) lds_load<Data::b32, L>(w, i, o, lanes, w.row(i.dst));
  else lds_store<Data::b32, L>(w, i, o, lanes, w.row(i.src[1]));
}

// One counter for the wave: the number of active lanes is added or subtracted, and every lane gets the old value. Its
// base is in M0, according to LLVM on gfx12 too (gfx12's ISA document names only the offset).
template <bool Append>
void count_lanes(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  const u64 first = lanes & -lanes;
  Offsets o;
  std::fill_n(o.at, 64, (w.sgpr[sreg::m0] & 0xffff) + static_cast<u32>(i.offset));
  Addresses a;
  u32 old = 0;
  if (reach_lds<64>(w, i, o, first, 4, Action::atomic, a) != 0) {
    std::memcpy(&old, reinterpret_cast<const void*>(a.at[0]), 4);
    const u32 count = static_cast<u32>(std::popcount(lanes)), value = Append ? old + count : old - count;
    std::memcpy(reinterpret_cast<void*>(a.at[0]), &value, 4);
  }
  u32* out = w.row(i.dst);
  for_lanes(lanes, [&](unsigned l) { out[l] = old; });
}

void nop(Wave&, const Instruction&) {}

template <int Reason>
void refuse(Wave&, const Instruction& i) {
  static constexpr const char* reasons[] = {"the GDS is not simulated", "ray tracing is not simulated"};
  throw Fault(FaultKind::illegal_instruction, std::string(i.opcode->name) + ": " + reasons[Reason]);
}

}  // namespace

void register_lds(HandlerTable& t) {
  add_load<Data::u8>(t, "u8"), add_load<Data::i8>(t, "i8"), add_load<Data::u16>(t, "u16");
  add_load<Data::i16>(t, "i16"), add_load<Data::b32>(t, "b32"), add_load<Data::b64>(t, "b64");
  add_load<Data::b96>(t, "b96"), add_load<Data::b128>(t, "b128");
  add_load<Data::u8_low>(t, "u8_d16"), add_load<Data::u8_high>(t, "u8_d16_hi");
  add_load<Data::i8_low>(t, "i8_d16"), add_load<Data::i8_high>(t, "i8_d16_hi");
  add_load<Data::b16_low>(t, "u16_d16"), add_load<Data::b16_high>(t, "u16_d16_hi");
  add_store<Data::u8>(t, "b8"), add_store<Data::u16>(t, "b16"), add_store<Data::b32>(t, "b32");
  add_store<Data::b64>(t, "b64"), add_store<Data::b96>(t, "b96"), add_store<Data::b128>(t, "b128");
  add_store<Data::u8_high>(t, "b8_d16_hi"), add_store<Data::b16_high>(t, "b16_d16_hi");
  add_two<Two::load>(t, "ds_read2", "ds_read2st64"), add_two<Two::load>(t, "ds_load_2addr", "ds_load_2addr_stride64");
  add_two<Two::store>(t, "ds_write2", "ds_write2st64");
  add_two<Two::store>(t, "ds_store_2addr", "ds_store_2addr_stride64");
  add_two<Two::exchange>(t, "ds_wrxchg2", "ds_wrxchg2st64", "_rtn_");
  add_two<Two::exchange>(t, "ds_storexchg_2addr", "ds_storexchg_2addr_stride64", "_rtn_");
  t.add("ds_read_addtid_b32", addtid<32, true>, addtid<64, true>);
  t.add("ds_load_addtid_b32", addtid<32, true>, addtid<64, true>);
  t.add("ds_write_addtid_b32", addtid<32, false>, addtid<64, false>);
  t.add("ds_store_addtid_b32", addtid<32, false>, addtid<64, false>);
  t.add("ds_append", count_lanes<true>), t.add("ds_consume", count_lanes<false>);
  t.add("ds_nop", nop);
  for (const char* name : {"ds_gws_init", "ds_gws_sema_v", "ds_gws_sema_br", "ds_gws_sema_p", "ds_gws_barrier",
                           "ds_gws_sema_release_all", "ds_ordered_count", "ds_add_gs_reg_rtn", "ds_sub_gs_reg_rtn"})
    t.add(name, refuse<0>);
  for (const char* name : {"ds_bvh_stack_rtn_b32", "ds_bvh_stack_push4_pop1_rtn_b32", "ds_bvh_stack_push8_pop1_rtn_b32",
                           "ds_bvh_stack_push8_pop2_rtn_b64"})
    t.add(name, refuse<1>);
  register_lds_exchange(t);
  register_lds_transpose(t);
  register_lds_atomics(t);
  register_lds_src2(t);
}

}  // namespace rapt::sim
