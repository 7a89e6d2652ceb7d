#include "sim/machine/lds/space.hpp"

#include "sim/machine/lds/arrivals.hpp"

namespace rapt::sim {

u64 lds_lanes_inside(const Wave& w, const Offsets& offsets, u64 lanes, unsigned bytes, Action action) {
  const u32 limit = lds_limit(w);
  u64 inside = 0;
  for_lanes(lanes, [&](unsigned lane) {
    const u32 offset = offsets.at[lane];
    if (offset <= limit && limit - offset >= bytes) {
      inside |= u64{1} << lane;
      return;
    }
    if (!checked(w)) return;
    static constexpr const char* verbs[] = {"load", "store", "atomic"};
    throw Fault(FaultKind::check,
                std::string("LDS ") + verbs[static_cast<unsigned>(action)] + " of " + std::to_string(bytes) +
                    " bytes at byte " + std::to_string(offset) + ": the workgroup has " + std::to_string(limit),
                lane, offset);
  });
  return inside;
}

template <Data D, unsigned L>
void lds_load(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, u32* rows) {
  Addresses a;
  const u64 inside = reach_lds<L>(w, i, offsets, lanes, bytes_of(D), Action::load, a);
  load_rows<D, L>(rows, a.at, inside, keeps_other_half(w));
  if (inside != lanes) [[unlikely]]
    zero_rows<D, L>(rows, lanes & ~inside, keeps_other_half(w));
}

template <Data D, unsigned L>
void lds_store(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, const u32* rows) {
  Addresses a;
  const u64 inside = reach_lds<L>(w, i, offsets, lanes, bytes_of(D), Action::store, a);
  store_rows<D, L>(rows, a.at, inside);
}

template <Data D, unsigned L>
void lds_store_later(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, const u32* rows) {
  Addresses a;
  const u64 inside = reach_lds<L>(w, i, offsets, lanes, bytes_of(D), Action::store, a);
  std::vector<LdsArrival::Word> words;
  for_lanes(inside, [&](unsigned lane) {
    for (unsigned dword = 0; dword < rows_of(D); ++dword)
      words.push_back({reinterpret_cast<unsigned char*>(a.at[lane]) + 4 * std::size_t{dword}, rows[dword * L + lane]});
  });
  defer_to_lds(w, std::move(words));
}

#define RAPT_LATER(d, L) \
  template void lds_store_later<Data::d, L>(Wave&, const Instruction&, const Offsets&, u64, const u32*);
RAPT_LATER(b32, 32)
RAPT_LATER(b32, 64)
RAPT_LATER(b96, 32)
RAPT_LATER(b96, 64)
RAPT_LATER(b128, 32)
RAPT_LATER(b128, 64)
#define RAPT_LOAD(d, L) template void lds_load<Data::d, L>(Wave&, const Instruction&, const Offsets&, u64, u32*);
#define RAPT_STORE(d, L) \
  template void lds_store<Data::d, L>(Wave&, const Instruction&, const Offsets&, u64, const u32*);
RAPT_EACH_LOAD(RAPT_LOAD)
RAPT_EACH_STORE(RAPT_STORE)

}  // namespace rapt::sim
