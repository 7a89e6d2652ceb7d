// Atomic operations: what they do to a value, and how a wave's lanes do it one after the other.
#pragma once

#include "sim/machine/atomic/float.hpp"
#include "sim/machine/memory/flat_access.hpp"
#include "sim/machine/core/handlers.hpp"

#include <utility>

namespace rapt::sim {

enum class Atomic : u8 {
  swap32,
  swap64,
  cmpswap32,
  cmpswap64,
  add32,
  add64,
  sub32,
  sub64,
  rsub32,
  rsub64,
  inc32,
  inc64,
  dec32,
  dec64,
  smin32,
  smin64,
  smax32,
  smax64,
  umin32,
  umin64,
  umax32,
  umax64,
  and32,
  and64,
  or32,
  or64,
  xor32,
  xor64,
  mskor32,
  mskor64,
  sub_clamp32,
  cond_sub32,
  wrap32,
  add_f32,
  min_f32,
  max_f32,
  cmpswap_f32,
  add_f64,
  min_f64,
  max_f64,
  cmpswap_f64,
  pk_add_f16,
  pk_add_bf16,
  count,
};

// One wave's operands. Lane l of row 0 is data[l]; row 1 holds the upper half of 64-bit values. result may be null.
struct AtomicOperands {
  const u64* at;
  u64 lanes;
  const u32* data;
  const u32* data2;
  u32* result;
  unsigned width;  // of the wave
  FloatRules rules;
};

// The denormal modes that an operation follows.
enum class FloatUse : u8 { none, f32, f32_sum, f64, f64_sum, f16 };

struct AtomicKernel {
  unsigned bytes;
  FloatUse use;
  void (*shared)(const AtomicOperands&);  // other host threads work on the same memory
  void (*own)(const AtomicOperands&);     // LDS and private memory
};
const AtomicKernel& atomic_kernel(Atomic operation);

FloatRules memory_float_rules(const Wave& w, FloatUse use);
FloatRules lds_float_rules(const Wave& w, FloatUse use);

// Throws a Fault if a lane's address is not a multiple of the operand's size, as every architecture requires.
void check_aligned(const Access& access);

// The operation on global memory, for lanes whose addresses are known; data and destination are where memory
// instructions have them.
void global_atomic(Wave& w, const Instruction& i, const AtomicKernel& kernel, const Addresses& a, u64 lanes);

// Mnemonics of the memory operations, without the space and "atomic_".
struct NamedAtomic {
  const char* name;
  Atomic operation;
};
inline constexpr NamedAtomic memory_atomics[] = {
    {"swap", Atomic::swap32},
    {"swap_x2", Atomic::swap64},
    {"swap_b32", Atomic::swap32},
    {"swap_b64", Atomic::swap64},
    {"cmpswap", Atomic::cmpswap32},
    {"cmpswap_x2", Atomic::cmpswap64},
    {"cmpswap_b32", Atomic::cmpswap32},
    {"cmpswap_b64", Atomic::cmpswap64},
    {"add", Atomic::add32},
    {"add_x2", Atomic::add64},
    {"add_u32", Atomic::add32},
    {"add_u64", Atomic::add64},
    {"sub", Atomic::sub32},
    {"sub_x2", Atomic::sub64},
    {"sub_u32", Atomic::sub32},
    {"sub_u64", Atomic::sub64},
    {"smin", Atomic::smin32},
    {"smin_x2", Atomic::smin64},
    {"min_i32", Atomic::smin32},
    {"min_i64", Atomic::smin64},
    {"umin", Atomic::umin32},
    {"umin_x2", Atomic::umin64},
    {"min_u32", Atomic::umin32},
    {"min_u64", Atomic::umin64},
    {"smax", Atomic::smax32},
    {"smax_x2", Atomic::smax64},
    {"max_i32", Atomic::smax32},
    {"max_i64", Atomic::smax64},
    {"umax", Atomic::umax32},
    {"umax_x2", Atomic::umax64},
    {"max_u32", Atomic::umax32},
    {"max_u64", Atomic::umax64},
    {"and", Atomic::and32},
    {"and_x2", Atomic::and64},
    {"and_b32", Atomic::and32},
    {"and_b64", Atomic::and64},
    {"or", Atomic::or32},
    {"or_x2", Atomic::or64},
    {"or_b32", Atomic::or32},
    {"or_b64", Atomic::or64},
    {"xor", Atomic::xor32},
    {"xor_x2", Atomic::xor64},
    {"xor_b32", Atomic::xor32},
    {"xor_b64", Atomic::xor64},
    {"inc", Atomic::inc32},
    {"inc_x2", Atomic::inc64},
    {"inc_u32", Atomic::inc32},
    {"inc_u64", Atomic::inc64},
    {"dec", Atomic::dec32},
    {"dec_x2", Atomic::dec64},
    {"dec_u32", Atomic::dec32},
    {"dec_u64", Atomic::dec64},
    {"csub_u32", Atomic::sub_clamp32},
    {"sub_clamp_u32", Atomic::sub_clamp32},
    {"cond_sub_u32", Atomic::cond_sub32},
    {"add_f32", Atomic::add_f32},
    {"add_f64", Atomic::add_f64},
    {"cmpswap_f32", Atomic::cmpswap_f32},
    {"min_f32", Atomic::min_f32},
    {"max_f32", Atomic::max_f32},
    {"min_f64", Atomic::min_f64},
    {"max_f64", Atomic::max_f64},
    {"min_num_f32", Atomic::min_f32},
    {"max_num_f32", Atomic::max_f32},
    {"pk_add_f16", Atomic::pk_add_f16},
    {"pk_add_bf16", Atomic::pk_add_bf16},
};

// A handler for each operation: Run(w, i, kernel).
using RunAtomic = void (*)(Wave&, const Instruction&, const AtomicKernel&);
template <RunAtomic Run, Atomic A>
void atomic_instruction(Wave& w, const Instruction& i) {
  if (w.exec() != 0) Run(w, i, atomic_kernel(A));
}
template <RunAtomic Run>
Handler atomic_handler(Atomic operation) {
  return [&]<std::size_t... N>(std::index_sequence<N...>) {
    static constexpr Handler all[] = {atomic_instruction<Run, static_cast<Atomic>(N)>...};
    return all[static_cast<unsigned>(operation)];
  }(std::make_index_sequence<static_cast<std::size_t>(Atomic::count)>());
}

void register_memory_atomics(HandlerTable& table);
void register_buffer_atomics(HandlerTable& table);

}  // namespace rapt::sim
