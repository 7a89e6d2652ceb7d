// The address forms of GLOBAL, FLAT and SCRATCH instructions, each with a load and a store of any data format.
#pragma once

#include "sim/machine/memory/scratch_space.hpp"

namespace rapt::sim {

// Whether there is a scalar operand; "off" is encoded as NULL on some architectures.
inline bool present(const Operand& o) {
  return o.kind != OperandKind::none && !(o.kind == OperandKind::sgpr && o.index == sreg::null);
}

// VGPR pair + offset, or SGPR pair + unsigned 32-bit VGPR + offset (ISA documents, "Global"; the VGPR is zero-extended,
// as LLVM assumes).
template <unsigned L>
void global_addresses(Wave& w, const Instruction& i, Addresses& a);

template <Data D, unsigned L>
void global_load(Wave& w, const Instruction& i, const Addresses& a, u64 lanes, u32* rows);
template <Data D, unsigned L>
void global_store(Wave& w, const Instruction& i, const Addresses& a, u64 lanes, const u32* rows);

struct GlobalForm {
  template <Data D, unsigned L>
  static void load(Wave& w, const Instruction& i, u64 lanes, u32* rows) {
    Addresses a;
    global_addresses<L>(w, i, a);
    global_load<D, L>(w, i, a, lanes, rows);
  }
  template <Data D, unsigned L>
  static void store(Wave& w, const Instruction& i, u64 lanes, const u32* rows) {
    Addresses a;
    global_addresses<L>(w, i, a);
    global_store<D, L>(w, i, a, lanes, rows);
  }
};

// SGPR + VGPR + offset, each optional; a 32-bit byte offset into the lane's memory.
struct ScratchForm {
  template <unsigned L>
  static void offsets(Wave& w, const Instruction& i, Offsets& o);
  template <Data D, unsigned L>
  static void load(Wave& w, const Instruction& i, u64 lanes, u32* rows) {
    Offsets o;
    offsets<L>(w, i, o);
    private_load<D, L>(w, i, o, lanes, rows);
  }
  template <Data D, unsigned L>
  static void store(Wave& w, const Instruction& i, u64 lanes, const u32* rows) {
    Offsets o;
    offsets<L>(w, i, o);
    private_store<D, L>(w, i, o, lanes, rows);
  }
};

// The lanes of a FLAT access, by the space of their address.
struct FlatLanes {
  u64 global = 0, lds = 0, scratch = 0;
};
template <unsigned L>
FlatLanes split_flat(const Addresses& a, u64 lanes);
// The low halves of the addresses: offsets in LDS or in private memory.
template <unsigned L>
void flat_offsets(const Addresses& a, Offsets& o);

struct FlatForm {
  template <Data D, unsigned L>
  static void load(Wave& w, const Instruction& i, u64 lanes, u32* rows) {
    Addresses a;
    global_addresses<L>(w, i, a);
    const FlatLanes split = split_flat<L>(a, lanes);
    if (split.global) global_load<D, L>(w, i, a, split.global, rows);
    if (split.global == lanes) return;
    Offsets o;
    flat_offsets<L>(a, o);
    if (split.lds) lds_load<D, L>(w, i, o, split.lds, rows);
    if (split.scratch) private_load<D, L>(w, i, o, split.scratch, rows);
  }
  template <Data D, unsigned L>
  static void store(Wave& w, const Instruction& i, u64 lanes, const u32* rows) {
    Addresses a;
    global_addresses<L>(w, i, a);
    const FlatLanes split = split_flat<L>(a, lanes);
    if (split.global) global_store<D, L>(w, i, a, split.global, rows);
    if (split.global == lanes) return;
    Offsets o;
    flat_offsets<L>(a, o);
    if (split.lds) lds_store<D, L>(w, i, o, split.lds, rows);
    if (split.scratch) private_store<D, L>(w, i, o, split.scratch, rows);
  }
};

}  // namespace rapt::sim
