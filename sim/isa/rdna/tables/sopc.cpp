// SOPC: comparisons into scc.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode sopc_rows[] = {
    {"s_cmp_eq_i32", Format::sopc, 0x00, rdna, none, none, {i32, i32}},
    {"s_cmp_lg_i32", Format::sopc, 0x01, rdna, none, none, {i32, i32}},
    {"s_cmp_gt_i32", Format::sopc, 0x02, rdna, none, none, {i32, i32}},
    {"s_cmp_ge_i32", Format::sopc, 0x03, rdna, none, none, {i32, i32}},
    {"s_cmp_lt_i32", Format::sopc, 0x04, rdna, none, none, {i32, i32}},
    {"s_cmp_le_i32", Format::sopc, 0x05, rdna, none, none, {i32, i32}},
    {"s_cmp_eq_u32", Format::sopc, 0x06, rdna, none, none, {u32, u32}},
    {"s_cmp_lg_u32", Format::sopc, 0x07, rdna, none, none, {u32, u32}},
    {"s_cmp_gt_u32", Format::sopc, 0x08, rdna, none, none, {u32, u32}},
    {"s_cmp_ge_u32", Format::sopc, 0x09, rdna, none, none, {u32, u32}},
    {"s_cmp_lt_u32", Format::sopc, 0x0a, rdna, none, none, {u32, u32}},
    {"s_cmp_le_u32", Format::sopc, 0x0b, rdna, none, none, {u32, u32}},
    {"s_bitcmp0_b32", Format::sopc, 0x0c, rdna, none, none, {b32, b32}},
    {"s_bitcmp1_b32", Format::sopc, 0x0d, rdna, none, none, {b32, b32}},
    {"s_bitcmp0_b64", Format::sopc, 0x0e, rdna, none, none, {b64, b32}},
    {"s_bitcmp1_b64", Format::sopc, 0x0f, rdna, none, none, {b64, b32}},
    {"s_cmp_eq_u64", Format::sopc, 0x10, rdna, none, none, {u64, u64}},
    {"s_cmp_lg_u64", Format::sopc, 0x11, rdna, none, none, {u64, u64}},
    {"s_cmp_lt_f32", Format::sopc, 0x41, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_eq_f32", Format::sopc, 0x42, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_le_f32", Format::sopc, 0x43, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_gt_f32", Format::sopc, 0x44, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_lg_f32", Format::sopc, 0x45, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_ge_f32", Format::sopc, 0x46, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_o_f32", Format::sopc, 0x47, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_u_f32", Format::sopc, 0x48, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_nge_f32", Format::sopc, 0x49, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_nlg_f32", Format::sopc, 0x4a, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_ngt_f32", Format::sopc, 0x4b, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_nle_f32", Format::sopc, 0x4c, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_neq_f32", Format::sopc, 0x4d, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_nlt_f32", Format::sopc, 0x4e, from_gfx1151, none, none, {f32, f32}},
    {"s_cmp_lt_f16", Format::sopc, 0x51, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_eq_f16", Format::sopc, 0x52, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_le_f16", Format::sopc, 0x53, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_gt_f16", Format::sopc, 0x54, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_lg_f16", Format::sopc, 0x55, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_ge_f16", Format::sopc, 0x56, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_o_f16", Format::sopc, 0x57, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_u_f16", Format::sopc, 0x58, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_nge_f16", Format::sopc, 0x59, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_nlg_f16", Format::sopc, 0x5a, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_ngt_f16", Format::sopc, 0x5b, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_nle_f16", Format::sopc, 0x5c, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_neq_f16", Format::sopc, 0x5d, from_gfx1151, none, none, {f16, f16}},
    {"s_cmp_nlt_f16", Format::sopc, 0x5e, from_gfx1151, none, none, {f16, f16}},
};

}  // namespace

const Table sopc_table = sopc_rows;

}  // namespace rapt::sim::rdna_isa
