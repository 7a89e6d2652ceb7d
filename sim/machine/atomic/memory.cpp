// Atomics of the GLOBAL and FLAT instructions.
#include "sim/machine/atomic/atomic.hpp"
#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/memory/flat_spaces.hpp"

namespace rapt::sim {
namespace {

// For cmpswap, the value to compare follows the value to store; the other operations have no second operand.
const u32* second_operand(const Wave& w, const Instruction& i, const u32* data, unsigned bytes) {
  return i.src[1].dwords * 4U > bytes ? data + bytes / 4 * w.lanes : data;
}

}  // namespace

void global_atomic(Wave& w, const Instruction& i, const AtomicKernel& kernel, const Addresses& a, u64 lanes) {
  const Access access{Space::global, Action::atomic, kernel.bytes, lanes, a.at};
  if (w.lanes == 32) check_global<32>(w, access);
  else check_global<64>(w, access);
  check_aligned(access);
  note_access(w, i, access);
  const u32* data = w.row(i.src[1]);
  u32* result = i.dst.kind == OperandKind::none ? nullptr : w.row(i.dst);
  kernel.shared({a.at, lanes, data, second_operand(w, i, data, kernel.bytes), result, w.lanes,
                 memory_float_rules(w, kernel.use)});
  mark_global_store(access);
}

namespace {

void addresses_of(Wave& w, const Instruction& i, Addresses& a) {
  if (w.lanes == 32) global_addresses<32>(w, i, a);
  else global_addresses<64>(w, i, a);
}

void run_global(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  Addresses a;
  addresses_of(w, i, a);
  global_atomic(w, i, kernel, a, w.exec());
}

template <unsigned L>
void flat_lds(Wave& w, const Instruction& i, const AtomicKernel& kernel, const Offsets& o, u64 lanes) {
  Addresses a;
  const u64 inside = reach_lds<L>(w, i, o, lanes, kernel.bytes, Action::atomic, a);
  check_aligned({Space::lds, Action::atomic, kernel.bytes, inside, a.at});
  const u32* data = w.row(i.src[1]);
  u32* result = i.dst.kind == OperandKind::none ? nullptr : w.row(i.dst);
  kernel.own({a.at, inside, data, second_operand(w, i, data, kernel.bytes), result, L, lds_float_rules(w, kernel.use)});
  if (result) {
    if (kernel.bytes == 4) zero_rows<Data::b32, L>(result, lanes & ~inside, true);
    else zero_rows<Data::b64, L>(result, lanes & ~inside, true);
  }
}

// No other lane accesses these bytes, so the operation works on a copy.
template <unsigned L>
void flat_private(Wave& w, const Instruction& i, const AtomicKernel& kernel, const Offsets& o, u64 lanes) {
  alignas(64) u64 values[L] = {};
  alignas(64) u32 rows[2 * L];
  Addresses a;
  for (unsigned l = 0; l < L; ++l) a.at[l] = reinterpret_cast<u64>(&values[l]);
  const auto move = [&](bool in) {
    if (kernel.bytes == 4) {
      if (in) private_load<Data::b32, L>(w, i, o, lanes, rows), store_rows<Data::b32, L>(rows, a.at, lanes);
      else load_rows<Data::b32, L>(rows, a.at, lanes, true), private_store<Data::b32, L>(w, i, o, lanes, rows);
    } else {
      if (in) private_load<Data::b64, L>(w, i, o, lanes, rows), store_rows<Data::b64, L>(rows, a.at, lanes);
      else load_rows<Data::b64, L>(rows, a.at, lanes, true), private_store<Data::b64, L>(w, i, o, lanes, rows);
    }
  };
  move(true);
  const u32* data = w.row(i.src[1]);
  u32* result = i.dst.kind == OperandKind::none ? nullptr : w.row(i.dst);
  kernel.own(
      {a.at, lanes, data, second_operand(w, i, data, kernel.bytes), result, L, memory_float_rules(w, kernel.use)});
  move(false);
}

template <unsigned L>
void run_flat_in(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  Addresses a;
  global_addresses<L>(w, i, a);
  const FlatLanes split = split_flat<L>(a, w.exec());
  if (split.global) global_atomic(w, i, kernel, a, split.global);
  if ((split.lds | split.scratch) == 0) return;
  Offsets o;
  flat_offsets<L>(a, o);
  if (split.lds) flat_lds<L>(w, i, kernel, o, split.lds);
  if (split.scratch) flat_private<L>(w, i, kernel, o, split.scratch);
}

void run_flat(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  if (w.lanes == 32) run_flat_in<32>(w, i, kernel);
  else run_flat_in<64>(w, i, kernel);
}

void refuse_ordered(Wave&, const Instruction& i) {
  throw Fault(FaultKind::illegal_instruction,
              std::string(i.opcode->name) + ": the ordering of geometry waves is not simulated");
}

}  // namespace

void register_memory_atomics(HandlerTable& t) {
  for (const NamedAtomic& a : memory_atomics) {
    t.add(lasting(std::string("global_atomic_") + a.name), atomic_handler<run_global>(a.operation));
    t.add(lasting(std::string("flat_atomic_") + a.name), atomic_handler<run_flat>(a.operation));
  }
  t.add("global_atomic_ordered_add_b64", refuse_ordered);
  register_buffer_atomics(t);
}

}  // namespace rapt::sim
