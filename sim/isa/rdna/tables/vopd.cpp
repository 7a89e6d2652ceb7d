// VOPD: two operations in one instruction; those with codes from 16 on only as the Y half.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode vopd_rows[] = {
    {"v_dual_fmac_f32", Format::vopd, 0x00, rdna, f32, none, {f32, f32, f32}, trait::reads_dst},
    {"v_dual_fmaak_f32", Format::vopd, 0x01, rdna, f32, none, {f32, f32, f32}, trait::literal_src2},
    {"v_dual_fmamk_f32", Format::vopd, 0x02, rdna, f32, none, {f32, f32, f32}, trait::literal_src1},
    {"v_dual_mul_f32", Format::vopd, 0x03, rdna, f32, none, {f32, f32}},
    {"v_dual_add_f32", Format::vopd, 0x04, rdna, f32, none, {f32, f32}},
    {"v_dual_sub_f32", Format::vopd, 0x05, rdna, f32, none, {f32, f32}},
    {"v_dual_subrev_f32", Format::vopd, 0x06, rdna, f32, none, {f32, f32}},
    {"v_dual_mul_dx9_zero_f32", Format::vopd, 0x07, rdna, f32, none, {f32, f32}},
    {"v_dual_mov_b32", Format::vopd, 0x08, rdna, b32, none, {b32}},
    {"v_dual_cndmask_b32", Format::vopd, 0x09, rdna, b32, none, {b32, b32, mask}},
    {"v_dual_max_f32", Format::vopd, 0x0a, gfx11, f32, none, {f32, f32}},
    {"v_dual_max_num_f32", Format::vopd, 0x0a, gfx12, f32, none, {f32, f32}},
    {"v_dual_min_f32", Format::vopd, 0x0b, gfx11, f32, none, {f32, f32}},
    {"v_dual_min_num_f32", Format::vopd, 0x0b, gfx12, f32, none, {f32, f32}},
    {"v_dual_dot2acc_f32_f16", Format::vopd, 0x0c, rdna, f32, none, {pk_f16, pk_f16, f32}, trait::reads_dst},
    {"v_dual_dot2acc_f32_bf16", Format::vopd, 0x0d, rdna, f32, none, {pk_bf16, pk_bf16, f32}, trait::reads_dst},
    {"v_dual_add_nc_u32", Format::vopd, 0x10, rdna, u32, none, {u32, u32}},
    {"v_dual_lshlrev_b32", Format::vopd, 0x11, rdna, b32, none, {b32, b32}},
    {"v_dual_and_b32", Format::vopd, 0x12, rdna, b32, none, {b32, b32}},
};

}  // namespace

const Table vopd_table = vopd_rows;

}  // namespace rapt::sim::rdna_isa
