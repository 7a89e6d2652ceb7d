// SMEM: loads, stores and atomics of scalar registers (ISA documents, "Scalar Memory Operations"). Caches have no
// effect here.
#include "sim/machine/memory/flat_access.hpp"
#include "sim/machine/scalar/scalar.hpp"

#include <algorithm>
#include <bit>

namespace rapt::sim {
namespace {

unsigned char* reached(u64 address, std::size_t bytes) {
  const Allocation* allocation = Memory::process().find(address);
  if (!allocation || allocation->base + allocation->size - address < bytes)
    throw Fault(FaultKind::illegal_address,
                "scalar access of " + std::to_string(bytes) + " bytes: " + Memory::process().describe(address), {},
                address);
  return reinterpret_cast<unsigned char*>(address);
}

// Accesses of whole dwords ignore the two lowest bits of every part of the address, so that they never carry. (Vega ISA
// and RDNA3 ISA, "Scalar Memory": the two LSBs of all components are treated as zero.)
constexpr u64 bytes_of_parts = ~u64{0}, dwords_of_parts = ~u64{3};

u64 byte_offset(const Wave& w, const Instruction& i, u64 kept) {
  const u64 in_register = i.src[1].kind == OperandKind::none ? 0 : read_scalar32(w, i.src[1]);
  return (static_cast<u64>(std::int64_t{i.offset}) & kept) + (in_register & kept);
}

u64 plain_address(const Wave& w, const Instruction& i, u64 kept) {
  return (read_scalar64(w, i.src[0]) & kept) + byte_offset(w, i, kept);
}

// The scalar unit uses base, stride and num_records of the descriptor; the offset is checked against num_records *
// stride (stride 0: bytes), and reads beyond give 0.
struct ScalarBuffer {
  u64 base;
  u64 bytes;
};

ScalarBuffer scalar_buffer(const Wave& w, const Operand& descriptor) {
  const u64 low = w.pair(descriptor.index);
  const u32 records = w.sgpr[descriptor.index + 2];
  const u64 stride = low >> 48 & 0x3fff;
  return {low & 0xffffffffffff, stride == 0 ? records : records * stride};
}

void note_scalar(Wave& w, const Instruction& i, Action action, u64 address, unsigned bytes) {
  note_access(w, i, {Space::global, action, bytes, 1, &address});
}

// The number of dwords of a buffer access, from its first one on, that are in range.
unsigned dwords_inside(const ScalarBuffer& buffer, u64 offset, unsigned count) {
  return offset >= buffer.bytes ? 0 : static_cast<unsigned>(std::min<u64>(count, (buffer.bytes - offset) / 4));
}

template <unsigned Count>
void load(Wave& w, const Instruction& i) {
  const u64 address = plain_address(w, i, dwords_of_parts);
  u32 values[Count];
  std::memcpy(values, reached(address, sizeof values), sizeof values);
  note_scalar(w, i, Action::load, address, sizeof values);
  if (i.dst.index != sreg::null) std::memcpy(&w.sgpr[i.dst.index], values, sizeof values);
}

template <unsigned Count>
void buffer_load(Wave& w, const Instruction& i) {
  const ScalarBuffer buffer = scalar_buffer(w, i.src[0]);
  const u64 offset = byte_offset(w, i, dwords_of_parts), address = (buffer.base & dwords_of_parts) + offset;
  const unsigned inside = dwords_inside(buffer, offset, Count);
  u32 values[Count] = {};
  for (unsigned n = 0; n < inside; ++n) std::memcpy(&values[n], reached(address + 4 * n, 4), 4);
  if (inside > 0) note_scalar(w, i, Action::load, address, 4 * inside);
  if (i.dst.index != sreg::null) std::memcpy(&w.sgpr[i.dst.index], values, sizeof values);
}

// gfx12's loads of 8 and 16 bits.
template <typename T>
void load_small(Wave& w, const Instruction& i) {
  const u64 address = plain_address(w, i, bytes_of_parts);
  T value;
  std::memcpy(&value, reached(address, sizeof value), sizeof value);
  note_scalar(w, i, Action::load, address, sizeof value);
  write_scalar32(w, i.dst, static_cast<u32>(value));
}

template <typename T>
void buffer_load_small(Wave& w, const Instruction& i) {
  const ScalarBuffer buffer = scalar_buffer(w, i.src[0]);
  const u64 offset = byte_offset(w, i, bytes_of_parts);
  T value = 0;
  if (offset + sizeof value <= buffer.bytes) {
    std::memcpy(&value, reached(buffer.base + offset, sizeof value), sizeof value);
    note_scalar(w, i, Action::load, buffer.base + offset, sizeof value);
  }
  write_scalar32(w, i.dst, static_cast<u32>(value));
}

template <unsigned Count>
void store(Wave& w, const Instruction& i) {
  const u64 address = plain_address(w, i, dwords_of_parts);
  unsigned char* to = reached(address, 4 * Count);
  note_scalar(w, i, Action::store, address, 4 * Count);
  std::memcpy(to, &w.sgpr[i.src[2].index], 4 * Count);
  Memory::process().mark_written(address, 4 * Count);
}

template <unsigned Count>
void buffer_store(Wave& w, const Instruction& i) {
  const ScalarBuffer buffer = scalar_buffer(w, i.src[0]);
  const u64 offset = byte_offset(w, i, dwords_of_parts), address = (buffer.base & dwords_of_parts) + offset;
  const unsigned inside = dwords_inside(buffer, offset, Count);
  if (inside == 0) return;
  unsigned char* to = reached(address, 4 * inside);
  note_scalar(w, i, Action::store, address, 4 * inside);
  std::memcpy(to, &w.sgpr[i.src[2].index], 4 * inside);
  Memory::process().mark_written(address, 4 * inside);
}

// Private memory of the whole wave: an offset in a register is in units of 64 bytes, the immediate offset in bytes
// (CDNA ISA documents, S_SCRATCH_LOAD_DWORD).
template <unsigned Count, bool Load>
void scratch_access(Wave& w, const Instruction& i) {
  const u64 blocks = i.src[1].kind == OperandKind::none ? 0 : read_scalar32(w, i.src[1]);
  const u64 immediate = static_cast<u64>(std::int64_t{i.offset}) & dwords_of_parts;
  const u64 address = (read_scalar64(w, i.src[0]) & dwords_of_parts) + immediate + blocks * 64;
  unsigned char* at = reached(address, 4 * Count);
  note_scalar(w, i, Load ? Action::load : Action::store, address, 4 * Count);
  if (Load) {
    std::memcpy(&w.sgpr[i.dst.index], at, 4 * Count);
  } else {
    std::memcpy(at, &w.sgpr[i.src[2].index], 4 * Count);
    Memory::process().mark_written(address, 4 * Count);
  }
}

void no_effect(Wave&, const Instruction&) {}

void memory_time(Wave& w, const Instruction& i) { write_scalar64(w, i.dst, w.cycles); }
// The real-time counter runs at 100 MHz, about a twentieth of the shader clock.
void real_time(Wave& w, const Instruction& i) { write_scalar64(w, i.dst, w.cycles / 20); }

}  // namespace

void register_scalar_memory(HandlerTable& t) {
  t.add("s_load_dword", load<1>), t.add("s_load_b32", load<1>);
  t.add("s_load_dwordx2", load<2>), t.add("s_load_b64", load<2>);
  t.add("s_load_b96", load<3>);
  t.add("s_load_dwordx4", load<4>), t.add("s_load_b128", load<4>);
  t.add("s_load_dwordx8", load<8>), t.add("s_load_b256", load<8>);
  t.add("s_load_dwordx16", load<16>), t.add("s_load_b512", load<16>);
  t.add("s_buffer_load_dword", buffer_load<1>), t.add("s_buffer_load_b32", buffer_load<1>);
  t.add("s_buffer_load_dwordx2", buffer_load<2>), t.add("s_buffer_load_b64", buffer_load<2>);
  t.add("s_buffer_load_b96", buffer_load<3>);
  t.add("s_buffer_load_dwordx4", buffer_load<4>), t.add("s_buffer_load_b128", buffer_load<4>);
  t.add("s_buffer_load_dwordx8", buffer_load<8>), t.add("s_buffer_load_b256", buffer_load<8>);
  t.add("s_buffer_load_dwordx16", buffer_load<16>), t.add("s_buffer_load_b512", buffer_load<16>);
  t.add("s_load_u8", load_small<std::uint8_t>), t.add("s_load_i8", load_small<std::int8_t>);
  t.add("s_load_u16", load_small<std::uint16_t>), t.add("s_load_i16", load_small<std::int16_t>);
  t.add("s_buffer_load_u8", buffer_load_small<std::uint8_t>), t.add("s_buffer_load_i8", buffer_load_small<std::int8_t>);
  t.add("s_buffer_load_u16", buffer_load_small<std::uint16_t>);
  t.add("s_buffer_load_i16", buffer_load_small<std::int16_t>);
  t.add("s_store_dword", store<1>), t.add("s_store_dwordx2", store<2>), t.add("s_store_dwordx4", store<4>);
  t.add("s_buffer_store_dword", buffer_store<1>), t.add("s_buffer_store_dwordx2", buffer_store<2>);
  t.add("s_buffer_store_dwordx4", buffer_store<4>);
  t.add("s_scratch_load_dword", scratch_access<1, true>), t.add("s_scratch_load_dwordx2", scratch_access<2, true>);
  t.add("s_scratch_load_dwordx4", scratch_access<4, true>);
  t.add("s_scratch_store_dword", scratch_access<1, false>), t.add("s_scratch_store_dwordx2", scratch_access<2, false>);
  t.add("s_scratch_store_dwordx4", scratch_access<4, false>);
  t.add("s_memtime", memory_time), t.add("s_memrealtime", real_time);
  for (const char* name :
       {"s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb", "s_dcache_wb_vol", "s_dcache_discard", "s_dcache_discard_x2",
        "s_gl1_inv", "s_atc_probe", "s_atc_probe_buffer", "s_prefetch_data", "s_prefetch_data_pc_rel",
        "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_buffer_prefetch_data"})
    t.add(name, no_effect);
  register_scalar_atomics(t);
}

}  // namespace rapt::sim
