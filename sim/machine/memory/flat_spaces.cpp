#include "sim/machine/memory/flat_spaces.hpp"

namespace rapt::sim {

template <unsigned L>
void global_addresses(Wave& w, const Instruction& i, Addresses& a) {
  const u64 offset = static_cast<u64>(std::int64_t{i.offset});
  const bool has_row = i.src[0].kind != OperandKind::none;
  if (present(i.src[2])) {
    const u64 base = read_scalar64(w, i.src[2]) + offset;
    if (has_row) {
      const u32* row = w.row(i.src[0]);
      for (unsigned l = 0; l < L; ++l) a.at[l] = base + row[l];
    } else {
      for (unsigned l = 0; l < L; ++l) a.at[l] = base;
    }
  } else if (has_row) {
    const u32* row = w.row(i.src[0]);
    for (unsigned l = 0; l < L; ++l) a.at[l] = (row[l] | u64{row[L + l]} << 32) + offset;
  } else {
    for (unsigned l = 0; l < L; ++l) a.at[l] = offset;
  }
}
template void global_addresses<32>(Wave&, const Instruction&, Addresses&);
template void global_addresses<64>(Wave&, const Instruction&, Addresses&);

template <unsigned L>
void ScratchForm::offsets(Wave& w, const Instruction& i, Offsets& o) {
  const u32 base = static_cast<u32>(i.offset) + (present(i.src[2]) ? read_scalar32(w, i.src[2]) : 0);
  if (i.src[0].kind != OperandKind::none) {
    const u32* row = w.row(i.src[0]);
    for (unsigned l = 0; l < L; ++l) o.at[l] = base + row[l];
  } else {
    for (unsigned l = 0; l < L; ++l) o.at[l] = base;
  }
}
template void ScratchForm::offsets<32>(Wave&, const Instruction&, Offsets&);
template void ScratchForm::offsets<64>(Wave&, const Instruction&, Offsets&);

template <unsigned L>
FlatLanes split_flat(const Addresses& a, u64 lanes) {
  u64 high = 0;
  for (unsigned l = 0; l < L; ++l) high |= a.at[l] >> 48;
  if (high == 0) [[likely]]
    return {lanes, 0, 0};
  FlatLanes split;
  for_lanes(lanes, [&](unsigned l) {
    const u64 window = a.at[l] >> 32 << 32, bit = u64{1} << l;
    (window == shared_aperture ? split.lds : window == private_aperture ? split.scratch : split.global) |= bit;
  });
  return split;
}
template FlatLanes split_flat<32>(const Addresses&, u64);
template FlatLanes split_flat<64>(const Addresses&, u64);

template <unsigned L>
void flat_offsets(const Addresses& a, Offsets& o) {
  for (unsigned l = 0; l < L; ++l) o.at[l] = static_cast<u32>(a.at[l]);
}
template void flat_offsets<32>(const Addresses&, Offsets&);
template void flat_offsets<64>(const Addresses&, Offsets&);

template <Data D, unsigned L>
void global_load(Wave& w, const Instruction& i, const Addresses& a, u64 lanes, u32* rows) {
  const Access access{Space::global, Action::load, bytes_of(D), lanes, a.at};
  check_global<L>(w, access);
  note_access(w, i, access);
  load_rows<D, L>(rows, a.at, lanes, keeps_other_half(w));
}

template <Data D, unsigned L>
void global_store(Wave& w, const Instruction& i, const Addresses& a, u64 lanes, const u32* rows) {
  const Access access{Space::global, Action::store, bytes_of(D), lanes, a.at};
  check_global<L>(w, access);
  note_access(w, i, access);
  store_rows<D, L>(rows, a.at, lanes);
  mark_global_store(access);
}

#define RAPT_LOAD(d, L) template void global_load<Data::d, L>(Wave&, const Instruction&, const Addresses&, u64, u32*);
#define RAPT_STORE(d, L) \
  template void global_store<Data::d, L>(Wave&, const Instruction&, const Addresses&, u64, const u32*);
RAPT_EACH_LOAD(RAPT_LOAD)
RAPT_EACH_STORE(RAPT_STORE)

}  // namespace rapt::sim
