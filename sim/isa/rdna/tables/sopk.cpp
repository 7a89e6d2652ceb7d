// SOPK: a register and a 16-bit immediate.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode sopk_rows[] = {
    {"s_movk_i32", Format::sopk, 0x00, rdna, i32},
    {"s_version", Format::sopk, 0x01, rdna},
    {"s_cmovk_i32", Format::sopk, 0x02, rdna, i32, none, {i32}, trait::reads_dst},
    {"s_cmpk_eq_i32", Format::sopk, 0x03, gfx11, none, none, {i32}},
    {"s_cmpk_lg_i32", Format::sopk, 0x04, gfx11, none, none, {i32}},
    {"s_cmpk_gt_i32", Format::sopk, 0x05, gfx11, none, none, {i32}},
    {"s_cmpk_ge_i32", Format::sopk, 0x06, gfx11, none, none, {i32}},
    {"s_cmpk_lt_i32", Format::sopk, 0x07, gfx11, none, none, {i32}},
    {"s_cmpk_le_i32", Format::sopk, 0x08, gfx11, none, none, {i32}},
    {"s_cmpk_eq_u32", Format::sopk, 0x09, gfx11, none, none, {u32}},
    {"s_cmpk_lg_u32", Format::sopk, 0x0a, gfx11, none, none, {u32}},
    {"s_cmpk_gt_u32", Format::sopk, 0x0b, gfx11, none, none, {u32}},
    {"s_cmpk_ge_u32", Format::sopk, 0x0c, gfx11, none, none, {u32}},
    {"s_cmpk_lt_u32", Format::sopk, 0x0d, gfx11, none, none, {u32}},
    {"s_cmpk_le_u32", Format::sopk, 0x0e, gfx11, none, none, {u32}},
    {"s_addk_co_i32", Format::sopk, 0x0f, gfx12, i32, none, {i32}, trait::reads_dst},
    {"s_addk_i32", Format::sopk, 0x0f, gfx11, i32, none, {i32}, trait::reads_dst},
    {"s_mulk_i32", Format::sopk, 0x10, rdna, i32, none, {i32}, trait::reads_dst},
    {"s_getreg_b32", Format::sopk, 0x11, rdna, b32},
    {"s_setreg_b32", Format::sopk, 0x12, rdna, none, none, {b32}},
    {"s_setreg_imm32_b32", Format::sopk, 0x13, rdna, none, none, {b32}, trait::literal_src0},
    {"s_call_b64", Format::sopk, 0x14, rdna, b64},
    {"s_subvector_loop_begin", Format::sopk, 0x16, gfx11, b32, none, {b32}, trait::reads_dst},
    {"s_subvector_loop_end", Format::sopk, 0x17, gfx11, b32, none, {b32}, trait::reads_dst},
    {"s_waitcnt_vscnt", Format::sopk, 0x18, gfx11, none, none, {b32}},
    {"s_waitcnt_vmcnt", Format::sopk, 0x19, gfx11, none, none, {b32}},
    {"s_waitcnt_expcnt", Format::sopk, 0x1a, gfx11, none, none, {b32}},
    {"s_waitcnt_lgkmcnt", Format::sopk, 0x1b, gfx11, none, none, {b32}},
};

}  // namespace

const Table sopk_table = sopk_rows;

}  // namespace rapt::sim::rdna_isa
