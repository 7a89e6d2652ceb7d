// FLAT (gfx12: VFLAT): src0 the address, src1 the data, src2 the scalar base if there is one.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode flat_rows[] = {
    {"flat_load_u8", Format::flat, 0x10, rdna, b32, none, {b64, none, b64}},
    {"flat_load_i8", Format::flat, 0x11, rdna, b32, none, {b64, none, b64}},
    {"flat_load_u16", Format::flat, 0x12, rdna, b32, none, {b64, none, b64}},
    {"flat_load_i16", Format::flat, 0x13, rdna, b32, none, {b64, none, b64}},
    {"flat_load_b32", Format::flat, 0x14, rdna, b32, none, {b64, none, b64}},
    {"flat_load_b64", Format::flat, 0x15, rdna, b64, none, {b64, none, b64}},
    {"flat_load_b96", Format::flat, 0x16, rdna, b96, none, {b64, none, b64}},
    {"flat_load_b128", Format::flat, 0x17, rdna, b128, none, {b64, none, b64}},
    {"flat_store_b8", Format::flat, 0x18, rdna, none, none, {b64, b8, b64}},
    {"flat_store_b16", Format::flat, 0x19, rdna, none, none, {b64, b16, b64}},
    {"flat_store_b32", Format::flat, 0x1a, rdna, none, none, {b64, b32, b64}},
    {"flat_store_b64", Format::flat, 0x1b, rdna, none, none, {b64, b64, b64}},
    {"flat_store_b96", Format::flat, 0x1c, rdna, none, none, {b64, b96, b64}},
    {"flat_store_b128", Format::flat, 0x1d, rdna, none, none, {b64, b128, b64}},
    {"flat_load_d16_u8", Format::flat, 0x1e, rdna, b16, none, {b64, none, b64}},
    {"flat_load_d16_i8", Format::flat, 0x1f, rdna, b16, none, {b64, none, b64}},
    {"flat_load_d16_b16", Format::flat, 0x20, rdna, b16, none, {b64, none, b64}},
    {"flat_load_d16_hi_u8", Format::flat, 0x21, rdna, b16, none, {b64, none, b64}},
    {"flat_load_d16_hi_i8", Format::flat, 0x22, rdna, b16, none, {b64, none, b64}},
    {"flat_load_d16_hi_b16", Format::flat, 0x23, rdna, b16, none, {b64, none, b64}},
    {"flat_store_d16_hi_b8", Format::flat, 0x24, rdna, none, none, {b64, b8, b64}},
    {"flat_store_d16_hi_b16", Format::flat, 0x25, rdna, none, none, {b64, b16, b64}},
    {"flat_atomic_swap_b32", Format::flat, 0x33, rdna, b32, none, {b64, b32, b64}},
    {"flat_atomic_cmpswap_b32", Format::flat, 0x34, rdna, b32, none, {b64, b64, b64}},
    {"flat_atomic_add_u32", Format::flat, 0x35, rdna, u32, none, {b64, u32, b64}},
    {"flat_atomic_sub_u32", Format::flat, 0x36, rdna, u32, none, {b64, u32, b64}},
    {"flat_atomic_sub_clamp_u32", Format::flat, 0x37, gfx12, u32, none, {b64, u32, b64}},
    {"flat_atomic_min_i32", Format::flat, 0x38, rdna, i32, none, {b64, i32, b64}},
    {"flat_atomic_min_u32", Format::flat, 0x39, rdna, u32, none, {b64, u32, b64}},
    {"flat_atomic_max_i32", Format::flat, 0x3a, rdna, i32, none, {b64, i32, b64}},
    {"flat_atomic_max_u32", Format::flat, 0x3b, rdna, u32, none, {b64, u32, b64}},
    {"flat_atomic_and_b32", Format::flat, 0x3c, rdna, b32, none, {b64, b32, b64}},
    {"flat_atomic_or_b32", Format::flat, 0x3d, rdna, b32, none, {b64, b32, b64}},
    {"flat_atomic_xor_b32", Format::flat, 0x3e, rdna, b32, none, {b64, b32, b64}},
    {"flat_atomic_inc_u32", Format::flat, 0x3f, rdna, u32, none, {b64, u32, b64}},
    {"flat_atomic_dec_u32", Format::flat, 0x40, rdna, u32, none, {b64, u32, b64}},
    {"flat_atomic_swap_b64", Format::flat, 0x41, rdna, b64, none, {b64, b64, b64}},
    {"flat_atomic_cmpswap_b64", Format::flat, 0x42, rdna, b64, none, {b64, b128, b64}},
    {"flat_atomic_add_u64", Format::flat, 0x43, rdna, u64, none, {b64, u64, b64}},
    {"flat_atomic_sub_u64", Format::flat, 0x44, rdna, u64, none, {b64, u64, b64}},
    {"flat_atomic_min_i64", Format::flat, 0x45, rdna, i64, none, {b64, i64, b64}},
    {"flat_atomic_min_u64", Format::flat, 0x46, rdna, u64, none, {b64, u64, b64}},
    {"flat_atomic_max_i64", Format::flat, 0x47, rdna, i64, none, {b64, i64, b64}},
    {"flat_atomic_max_u64", Format::flat, 0x48, rdna, u64, none, {b64, u64, b64}},
    {"flat_atomic_and_b64", Format::flat, 0x49, rdna, b64, none, {b64, b64, b64}},
    {"flat_atomic_or_b64", Format::flat, 0x4a, rdna, b64, none, {b64, b64, b64}},
    {"flat_atomic_xor_b64", Format::flat, 0x4b, rdna, b64, none, {b64, b64, b64}},
    {"flat_atomic_inc_u64", Format::flat, 0x4c, rdna, u64, none, {b64, u64, b64}},
    {"flat_atomic_dec_u64", Format::flat, 0x4d, rdna, u64, none, {b64, u64, b64}},
    {"flat_atomic_cmpswap_f32", Format::flat, 0x50, gfx11, f32, none, {b64, b64, b64}},
    {"flat_atomic_cond_sub_u32", Format::flat, 0x50, gfx12, u32, none, {b64, u32, b64}},
    {"flat_atomic_min_f32", Format::flat, 0x51, gfx11, f32, none, {b64, f32, b64}},
    {"flat_atomic_min_num_f32", Format::flat, 0x51, gfx12, f32, none, {b64, f32, b64}},
    {"flat_atomic_max_f32", Format::flat, 0x52, gfx11, f32, none, {b64, f32, b64}},
    {"flat_atomic_max_num_f32", Format::flat, 0x52, gfx12, f32, none, {b64, f32, b64}},
    {"flat_atomic_add_f32", Format::flat, 0x56, rdna, f32, none, {b64, f32, b64}},
    {"flat_atomic_pk_add_f16", Format::flat, 0x59, gfx12, pk_f16, none, {b64, pk_f16, b64}},
    {"flat_atomic_pk_add_bf16", Format::flat, 0x5a, gfx12, pk_bf16, none, {b64, pk_bf16, b64}},
};

}  // namespace

const Table flat_table = flat_rows;

}  // namespace rapt::sim::rdna_isa
