// SOP2.
#include "sim/isa/gfx11/tables.hpp"
#include "sim/isa/gfx11/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode rows[] = {
    {"s_add_co_u32", Format::sop2, 0x00, gfx12, u32, none, {u32, u32}},
    {"s_add_u32", Format::sop2, 0x00, gfx11, u32, none, {u32, u32}},
    {"s_sub_co_u32", Format::sop2, 0x01, gfx12, u32, none, {u32, u32}},
    {"s_sub_u32", Format::sop2, 0x01, gfx11, u32, none, {u32, u32}},
    {"s_add_co_i32", Format::sop2, 0x02, gfx12, i32, none, {i32, i32}},
    {"s_add_i32", Format::sop2, 0x02, gfx11, i32, none, {i32, i32}},
    {"s_sub_co_i32", Format::sop2, 0x03, gfx12, i32, none, {i32, i32}},
    {"s_sub_i32", Format::sop2, 0x03, gfx11, i32, none, {i32, i32}},
    {"s_add_co_ci_u32", Format::sop2, 0x04, gfx12, u32, none, {u32, u32}},
    {"s_addc_u32", Format::sop2, 0x04, gfx11, u32, none, {u32, u32}},
    {"s_sub_co_ci_u32", Format::sop2, 0x05, gfx12, u32, none, {u32, u32}},
    {"s_subb_u32", Format::sop2, 0x05, gfx11, u32, none, {u32, u32}},
    {"s_absdiff_i32", Format::sop2, 0x06, rdna, i32, none, {i32, i32}},
    {"s_lshl_b32", Format::sop2, 0x08, rdna, b32, none, {b32, b32}},
    {"s_lshl_b64", Format::sop2, 0x09, rdna, b64, none, {b64, b32}},
    {"s_lshr_b32", Format::sop2, 0x0a, rdna, b32, none, {b32, b32}},
    {"s_lshr_b64", Format::sop2, 0x0b, rdna, b64, none, {b64, b32}},
    {"s_ashr_i32", Format::sop2, 0x0c, rdna, i32, none, {i32, i32}},
    {"s_ashr_i64", Format::sop2, 0x0d, rdna, i64, none, {i64, b32}},
    {"s_lshl1_add_u32", Format::sop2, 0x0e, rdna, u32, none, {u32, u32}},
    {"s_lshl2_add_u32", Format::sop2, 0x0f, rdna, u32, none, {u32, u32}},
    {"s_lshl3_add_u32", Format::sop2, 0x10, rdna, u32, none, {u32, u32}},
    {"s_lshl4_add_u32", Format::sop2, 0x11, rdna, u32, none, {u32, u32}},
    {"s_min_i32", Format::sop2, 0x12, rdna, i32, none, {i32, i32}},
    {"s_min_u32", Format::sop2, 0x13, rdna, u32, none, {u32, u32}},
    {"s_max_i32", Format::sop2, 0x14, rdna, i32, none, {i32, i32}},
    {"s_max_u32", Format::sop2, 0x15, rdna, u32, none, {u32, u32}},
    {"s_and_b32", Format::sop2, 0x16, rdna, b32, none, {b32, b32}},
    {"s_and_b64", Format::sop2, 0x17, rdna, b64, none, {b64, b64}},
    {"s_or_b32", Format::sop2, 0x18, rdna, b32, none, {b32, b32}},
    {"s_or_b64", Format::sop2, 0x19, rdna, b64, none, {b64, b64}},
    {"s_xor_b32", Format::sop2, 0x1a, rdna, b32, none, {b32, b32}},
    {"s_xor_b64", Format::sop2, 0x1b, rdna, b64, none, {b64, b64}},
    {"s_nand_b32", Format::sop2, 0x1c, rdna, b32, none, {b32, b32}},
    {"s_nand_b64", Format::sop2, 0x1d, rdna, b64, none, {b64, b64}},
    {"s_nor_b32", Format::sop2, 0x1e, rdna, b32, none, {b32, b32}},
    {"s_nor_b64", Format::sop2, 0x1f, rdna, b64, none, {b64, b64}},
    {"s_xnor_b32", Format::sop2, 0x20, rdna, b32, none, {b32, b32}},
    {"s_xnor_b64", Format::sop2, 0x21, rdna, b64, none, {b64, b64}},
    {"s_and_not1_b32", Format::sop2, 0x22, rdna, b32, none, {b32, b32}},
    {"s_and_not1_b64", Format::sop2, 0x23, rdna, b64, none, {b64, b64}},
    {"s_or_not1_b32", Format::sop2, 0x24, rdna, b32, none, {b32, b32}},
    {"s_or_not1_b64", Format::sop2, 0x25, rdna, b64, none, {b64, b64}},
    {"s_bfe_u32", Format::sop2, 0x26, rdna, u32, none, {u32, u32}},
    {"s_bfe_i32", Format::sop2, 0x27, rdna, i32, none, {i32, i32}},
    {"s_bfe_u64", Format::sop2, 0x28, rdna, u64, none, {u64, b32}},
    {"s_bfe_i64", Format::sop2, 0x29, rdna, i64, none, {i64, b32}},
    {"s_bfm_b32", Format::sop2, 0x2a, rdna, b32, none, {b32, b32}},
    {"s_bfm_b64", Format::sop2, 0x2b, rdna, b64, none, {b32, b32}},
    {"s_mul_i32", Format::sop2, 0x2c, rdna, i32, none, {i32, i32}},
    {"s_mul_hi_u32", Format::sop2, 0x2d, rdna, u32, none, {u32, u32}},
    {"s_mul_hi_i32", Format::sop2, 0x2e, rdna, i32, none, {i32, i32}},
    {"s_cselect_b32", Format::sop2, 0x30, rdna, b32, none, {b32, b32}},
    {"s_cselect_b64", Format::sop2, 0x31, rdna, b64, none, {b64, b64}},
    {"s_pack_ll_b32_b16", Format::sop2, 0x32, rdna, b32, none, {b32, b32}},
    {"s_pack_lh_b32_b16", Format::sop2, 0x33, rdna, b32, none, {b32, b32}},
    {"s_pack_hh_b32_b16", Format::sop2, 0x34, rdna, b32, none, {b32, b32}},
    {"s_pack_hl_b32_b16", Format::sop2, 0x35, rdna, b32, none, {b32, b32}},
};

}  // namespace

const Table sop2_table = rows;

}  // namespace rapt::sim::rdna_isa
