// VOP3P except for the matrix operations.
#include "sim/isa/cdna/tables.hpp"

namespace rapt::sim::gfx9 {
namespace {

using namespace row;

constexpr Opcode vop3p_rows[] = {
    {"v_pk_mad_i16", vop3p, 0x00, cdna, pk_i16, none, {pk_i16, pk_i16, pk_i16}},
    {"v_pk_mul_lo_u16", vop3p, 0x01, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_add_i16", vop3p, 0x02, cdna, pk_i16, none, {pk_i16, pk_i16}},
    {"v_pk_sub_i16", vop3p, 0x03, cdna, pk_i16, none, {pk_i16, pk_i16}},
    {"v_pk_lshlrev_b16", vop3p, 0x04, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_lshrrev_b16", vop3p, 0x05, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_ashrrev_i16", vop3p, 0x06, cdna, pk_i16, none, {pk_u16, pk_i16}},
    {"v_pk_max_i16", vop3p, 0x07, cdna, pk_i16, none, {pk_i16, pk_i16}},
    {"v_pk_min_i16", vop3p, 0x08, cdna, pk_i16, none, {pk_i16, pk_i16}},
    {"v_pk_mad_u16", vop3p, 0x09, cdna, pk_u16, none, {pk_u16, pk_u16, pk_u16}},
    {"v_pk_add_u16", vop3p, 0x0a, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_sub_u16", vop3p, 0x0b, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_max_u16", vop3p, 0x0c, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_min_u16", vop3p, 0x0d, cdna, pk_u16, none, {pk_u16, pk_u16}},
    {"v_pk_fma_f16", vop3p, 0x0e, cdna, pk_f16, none, {pk_f16, pk_f16, pk_f16}},
    {"v_pk_add_f16", vop3p, 0x0f, cdna, pk_f16, none, {pk_f16, pk_f16}},
    {"v_pk_mul_f16", vop3p, 0x10, cdna, pk_f16, none, {pk_f16, pk_f16}},
    {"v_pk_min_f16", vop3p, 0x11, cdna, pk_f16, none, {pk_f16, pk_f16}},
    {"v_pk_max_f16", vop3p, 0x12, cdna, pk_f16, none, {pk_f16, pk_f16}},
    {"v_dot2_f32_bf16", vop3p, 0x1a, only_950, f32, none, {pk_bf16, pk_bf16, f32}},
    {"v_pk_minimum3_f16", vop3p, 0x1b, only_950, pk_f16, none, {pk_f16, pk_f16, pk_f16}},
    {"v_pk_maximum3_f16", vop3p, 0x1c, only_950, pk_f16, none, {pk_f16, pk_f16, pk_f16}},
    {"v_fma_mix_f32", vop3p, 0x20, cdna, f32, none, {f32, f32, f32}},
    {"v_fma_mixlo_f16", vop3p, 0x21, cdna, f16, none, {f32, f32, f32}},
    {"v_fma_mixhi_f16", vop3p, 0x22, cdna, f16, none, {f32, f32, f32}},
    {"v_dot2_f32_f16", vop3p, 0x23, cdna, f32, none, {pk_f16, pk_f16, f32}},
    {"v_dot2_i32_i16", vop3p, 0x26, cdna, i32, none, {pk_i16, pk_i16, i32}},
    {"v_dot2_u32_u16", vop3p, 0x27, cdna, u32, none, {pk_u16, pk_u16, u32}},
    {"v_dot4_i32_i8", vop3p, 0x28, cdna, i32, none, {b32, b32, i32}, no_op_sel},
    {"v_dot4_u32_u8", vop3p, 0x29, cdna, u32, none, {b32, b32, u32}, no_op_sel},
    {"v_dot8_i32_i4", vop3p, 0x2a, cdna, i32, none, {b32, b32, i32}, no_op_sel},
    {"v_dot8_u32_u4", vop3p, 0x2b, cdna, u32, none, {b32, b32, u32}, no_op_sel},
    {"v_mfma_ld_scale_b32", vop3p, 0x2c, only_950, none, none, {b32, b32}, no_clamp | lax_modifiers},
    {"v_pk_fma_f32", vop3p, 0x30, from_90a, pk_f32, none, {pk_f32, pk_f32, pk_f32}},
    {"v_pk_mul_f32", vop3p, 0x31, from_90a, pk_f32, none, {pk_f32, pk_f32}},
    {"v_pk_add_f32", vop3p, 0x32, from_90a, pk_f32, none, {pk_f32, pk_f32}},
    {"v_pk_mov_b32", vop3p, 0x33, from_90a, pk_b32, none, {pk_b32, pk_b32}},
    {"v_accvgpr_read_b32", vop3p, 0x58, from_908, b32, none, {b32}, acc_src0},
    {"v_accvgpr_write_b32", vop3p, 0x59, from_908, b32, none, {b32}, acc_dst},
};

}  // namespace

const Table vop3p_table = vop3p_rows;

}  // namespace rapt::sim::gfx9
