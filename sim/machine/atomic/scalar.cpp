// gfx9's scalar atomics (Vega ISA, "Scalar Memory": S_ATOMIC_*). With glc set, the old value is returned in the data
// registers.
#include "sim/machine/memory/flat_access.hpp"
#include "sim/machine/scalar/scalar.hpp"
#include "sim/memory/memory.hpp"

#include <string>

namespace rapt::sim {
namespace {

template <typename T, typename Operation>
T exchange(T* at, Operation operation) {
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, operation(old), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
  }
  return old;
}

// The operand's address: plain forms have a 64-bit base, buffer forms a descriptor whose bounds are checked.
std::uint64_t target(const Wave& w, const Instruction& i, std::size_t bytes, bool buffer) {
  constexpr std::uint64_t dwords = ~std::uint64_t{3};  // the two lowest bits of every part are ignored
  const std::uint64_t in_register = i.src[1].kind == OperandKind::none ? 0 : read_scalar32(w, i.src[1]);
  const std::uint64_t offset =
      ((static_cast<std::uint64_t>(std::int64_t{i.offset}) & dwords) + (in_register & dwords)) &
      ~std::uint64_t{bytes - 1};
  const std::uint64_t base = w.pair(i.src[0].index) & (buffer ? 0xfffffffffffc : dwords);
  const std::uint64_t records = w.sgpr[i.src[0].index + 2], stride = w.sgpr[i.src[0].index + 1] >> 16 & 0x3fff;
  if (buffer && offset + bytes > (stride == 0 ? records : records * stride)) return 0;
  const std::uint64_t address = (base + offset) & ~std::uint64_t{bytes - 1};
  const Allocation* allocation = Memory::process().find(address);
  if (!allocation || allocation->base + allocation->size - address < bytes)
    throw Fault(FaultKind::illegal_address, "scalar atomic: " + Memory::process().describe(address), {}, address);
  return address;
}

template <typename T, bool Buffer, typename Operation>
void atomic(Wave& w, const Instruction& i) {
  const std::uint64_t address = target(w, i, sizeof(T), Buffer);
  T data[2];
  std::memcpy(data, &w.sgpr[i.src[2].index], sizeof data);
  if (address == 0) return;
  const Access access{Space::global, Action::atomic, sizeof(T), 1, &address};
  note_access(w, i, access);
  const T old = exchange(reinterpret_cast<T*>(address), [&](T value) { return Operation{}(value, data[0], data[1]); });
  mark_global_store(access);
  if (i.glc) std::memcpy(&w.sgpr[i.src[2].index], &old, sizeof old);
}

template <typename Operation>
void add_atomic(HandlerTable& t, const char* name32, const char* name64, const char* buffer32, const char* buffer64,
                Operation) {
  t.add(name32, atomic<std::uint32_t, false, Operation>);
  t.add(name64, atomic<std::uint64_t, false, Operation>);
  t.add(buffer32, atomic<std::uint32_t, true, Operation>);
  t.add(buffer64, atomic<std::uint64_t, true, Operation>);
}

template <typename T>
bool less_signed(T a, T b) {
  return static_cast<std::make_signed_t<T>>(a) < static_cast<std::make_signed_t<T>>(b);
}

}  // namespace

#define NAMES(op) "s_atomic_" op, "s_atomic_" op "_x2", "s_buffer_atomic_" op, "s_buffer_atomic_" op "_x2"
void register_scalar_atomics(HandlerTable& t) {
  add_atomic(t, NAMES("swap"), [](auto, auto d, auto) { return d; });
  add_atomic(t, NAMES("cmpswap"), [](auto m, auto d, auto compare) { return m == compare ? d : m; });
  add_atomic(t, NAMES("add"), [](auto m, auto d, auto) { return m + d; });
  add_atomic(t, NAMES("sub"), [](auto m, auto d, auto) { return m - d; });
  add_atomic(t, NAMES("smin"), [](auto m, auto d, auto) { return less_signed(d, m) ? d : m; });
  add_atomic(t, NAMES("umin"), [](auto m, auto d, auto) { return d < m ? d : m; });
  add_atomic(t, NAMES("smax"), [](auto m, auto d, auto) { return less_signed(m, d) ? d : m; });
  add_atomic(t, NAMES("umax"), [](auto m, auto d, auto) { return m < d ? d : m; });
  add_atomic(t, NAMES("and"), [](auto m, auto d, auto) { return m & d; });
  add_atomic(t, NAMES("or"), [](auto m, auto d, auto) { return m | d; });
  add_atomic(t, NAMES("xor"), [](auto m, auto d, auto) { return m ^ d; });
  add_atomic(t, NAMES("inc"), [](auto m, auto d, auto) { return m >= d ? m - m : m + 1; });
  add_atomic(t, NAMES("dec"), [](auto m, auto d, auto) { return m == 0 || m > d ? d : m - 1; });
}
#undef NAMES

}  // namespace rapt::sim
