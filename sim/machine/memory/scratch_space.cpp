#include "sim/machine/memory/scratch_space.hpp"

namespace rapt::sim {
namespace {

// Accesses that straddle dwords are done byte by byte, through these.
struct Staged {
  alignas(64) unsigned char bytes[64][16];
  Addresses a;
  Staged() {
    for (unsigned l = 0; l < 64; ++l) a.at[l] = reinterpret_cast<u64>(bytes[l]);
  }
};

unsigned char* private_byte(const Wave& w, u32 offset, unsigned lane) {
  return reinterpret_cast<unsigned char*>(w.scratch_base + (u64{offset / 4} * w.lanes + lane) * 4 + offset % 4);
}

enum class Move : u8 { in, out };
template <Move M>
void move_bytes(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, unsigned bytes, Staged& staged) {
  Addresses a;
  for (unsigned b = 0; b < bytes; ++b) {
    for_lanes(lanes, [&](unsigned l) { a.at[l] = reinterpret_cast<u64>(private_byte(w, offsets.at[l] + b, l)); });
    note_access(w, i, {Space::scratch, M == Move::in ? Action::load : Action::store, 1, lanes, a.at, bytes});
    for_lanes(lanes, [&](unsigned l) {
      auto* byte = reinterpret_cast<unsigned char*>(a.at[l]);
      if (M == Move::in) staged.bytes[l][b] = *byte;
      else *byte = staged.bytes[l][b];
    });
  }
}

[[noreturn]] void refuse(const Wave& w, const Offsets& offsets, u64 lanes, unsigned bytes, Action action) {
  const u32 limit = w.scratch_bytes_per_lane;
  static constexpr const char* verbs[] = {"load", "store", "atomic"};
  for_lanes(lanes, [&](unsigned lane) {
    const u32 offset = offsets.at[lane];
    if (offset > limit || limit - offset < bytes)
      throw Fault(FaultKind::illegal_address,
                  std::string("private ") + verbs[static_cast<unsigned>(action)] + " of " + std::to_string(bytes) +
                      " bytes at byte " + std::to_string(static_cast<std::int32_t>(offset)) + ": a lane has " +
                      std::to_string(limit),
                  lane, offset);
  });
  throw Fault(FaultKind::illegal_address, "private access without private memory");
}

// Checks the offsets against the lane's size; true if no access straddles dwords unnecessarily.
template <unsigned L>
[[gnu::noinline]] bool check(const Wave& w, const Offsets& offsets, u64 lanes, unsigned bytes, Action action) {
  const u32 limit = w.scratch_bytes_per_lane;
  if (limit < bytes) refuse(w, offsets, lanes, bytes, action);
  const u32 last = limit - bytes;
  const u32 room = bytes < 4 ? 4 - bytes : 0;  // how far into a dword an access may begin
  u32 outside = 0, straddles = 0;              // their top bits
  const auto look = [&](unsigned l) {
    const u32 offset = offsets.at[l];
    outside |= offset | (last - offset);
    straddles |= room - (offset & 3);
  };
  if (lanes == w.all_lanes())
    for (unsigned l = 0; l < L; ++l) look(l);
  else for_lanes(lanes, look);
  if (outside >> 31 != 0) refuse(w, offsets, lanes, bytes, action);
  return straddles >> 31 == 0;
}

// The address of the dword that is `plus` bytes into every lane's access.
template <unsigned L>
[[gnu::noinline]] void addresses(const Wave& w, const Offsets& offsets, u32 plus, Addresses& a) {
  for (unsigned l = 0; l < L; ++l) {
    const u32 offset = offsets.at[l] + plus;
    a.at[l] = w.scratch_base + (u64{offset / 4} * L + l) * 4 + offset % 4;
  }
}

}  // namespace

template <Data D, unsigned L>
void private_load(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, u32* rows) {
  const bool keep = keeps_other_half(w);
  if (!check<L>(w, offsets, lanes, bytes_of(D), Action::load)) {
    Staged staged;
    move_bytes<Move::in>(w, i, offsets, lanes, bytes_of(D), staged);
    load_rows<D, L>(rows, staged.a.at, lanes, keep);
    return;
  }
  constexpr Data part = bytes_of(D) < 4 ? D : Data::b32;
  Addresses a;
  for (unsigned d = 0; d < rows_of(D); ++d) {
    addresses<L>(w, offsets, 4 * d, a);
    note_access(w, i, {Space::scratch, Action::load, bytes_of(part), lanes, a.at});
    load_rows<part, L>(rows + d * L, a.at, lanes, keep);
  }
}

template <Data D, unsigned L>
void private_store(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, const u32* rows) {
  if (!check<L>(w, offsets, lanes, bytes_of(D), Action::store)) {
    Staged staged;
    store_rows<D, L>(rows, staged.a.at, lanes);
    move_bytes<Move::out>(w, i, offsets, lanes, bytes_of(D), staged);
    return;
  }
  constexpr Data part = bytes_of(D) < 4 ? D : Data::b32;
  Addresses a;
  for (unsigned d = 0; d < rows_of(D); ++d) {
    addresses<L>(w, offsets, 4 * d, a);
    note_access(w, i, {Space::scratch, Action::store, bytes_of(part), lanes, a.at});
    store_rows<part, L>(rows + d * L, a.at, lanes);
  }
}

#define RAPT_LOAD(d, L) template void private_load<Data::d, L>(Wave&, const Instruction&, const Offsets&, u64, u32*);
#define RAPT_STORE(d, L) \
  template void private_store<Data::d, L>(Wave&, const Instruction&, const Offsets&, u64, const u32*);
RAPT_EACH_LOAD(RAPT_LOAD)
RAPT_EACH_STORE(RAPT_STORE)

}  // namespace rapt::sim
