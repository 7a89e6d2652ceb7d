// SMEM: src0 the base, src1 the offset register. gfx12 has other codes.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode smem_rows[] = {
    {"s_load_b32", Format::smem, 0x00, rdna, b32, none, {b64, b32}},
    {"s_load_b64", Format::smem, 0x01, rdna, b64, none, {b64, b32}},
    {"s_load_b128", Format::smem, 0x02, rdna, b128, none, {b64, b32}},
    {"s_load_b256", Format::smem, 0x03, rdna, b256, none, {b64, b32}},
    {"s_load_b512", Format::smem, 0x04, rdna, b512, none, {b64, b32}},
    {"s_load_b96", Format::smem, 0x05, gfx12, b96, none, {b64, b32}},
    {"s_buffer_load_b32", Format::smem, 0x08, gfx11, b32, none, {b128, b32}},
    {"s_load_i8", Format::smem, 0x08, gfx12, b32, none, {b64, b32}},
    {"s_buffer_load_b64", Format::smem, 0x09, gfx11, b64, none, {b128, b32}},
    {"s_load_u8", Format::smem, 0x09, gfx12, b32, none, {b64, b32}},
    {"s_buffer_load_b128", Format::smem, 0x0a, gfx11, b128, none, {b128, b32}},
    {"s_load_i16", Format::smem, 0x0a, gfx12, b32, none, {b64, b32}},
    {"s_buffer_load_b256", Format::smem, 0x0b, gfx11, b256, none, {b128, b32}},
    {"s_load_u16", Format::smem, 0x0b, gfx12, b32, none, {b64, b32}},
    {"s_buffer_load_b512", Format::smem, 0x0c, gfx11, b512, none, {b128, b32}},
    {"s_buffer_load_b32", Format::smem, 0x10, gfx12, b32, none, {b128, b32}},
    {"s_buffer_load_b64", Format::smem, 0x11, gfx12, b64, none, {b128, b32}},
    {"s_buffer_load_b128", Format::smem, 0x12, gfx12, b128, none, {b128, b32}},
    {"s_buffer_load_b256", Format::smem, 0x13, gfx12, b256, none, {b128, b32}},
    {"s_buffer_load_b512", Format::smem, 0x14, gfx12, b512, none, {b128, b32}},
    {"s_buffer_load_b96", Format::smem, 0x15, gfx12, b96, none, {b128, b32}},
    {"s_buffer_load_i8", Format::smem, 0x18, gfx12, b32, none, {b128, b32}},
    {"s_buffer_load_u8", Format::smem, 0x19, gfx12, b32, none, {b128, b32}},
    {"s_buffer_load_i16", Format::smem, 0x1a, gfx12, b32, none, {b128, b32}},
    {"s_buffer_load_u16", Format::smem, 0x1b, gfx12, b32, none, {b128, b32}},
    {"s_gl1_inv", Format::smem, 0x20, gfx11},
    {"s_dcache_inv", Format::smem, 0x21, rdna},
    {"s_atc_probe", Format::smem, 0x22, rdna, none, none, {b64, b32}},
    {"s_atc_probe_buffer", Format::smem, 0x23, rdna, none, none, {b128, b32}},
    {"s_prefetch_inst", Format::smem, 0x24, gfx12, none, none, {b64, b32}},
    {"s_prefetch_inst_pc_rel", Format::smem, 0x25, gfx12, none, none, {none, b32}},
    {"s_prefetch_data", Format::smem, 0x26, gfx12, none, none, {b64, b32}},
    {"s_buffer_prefetch_data", Format::smem, 0x27, gfx12, none, none, {b128, b32}},
    {"s_prefetch_data_pc_rel", Format::smem, 0x28, gfx12, none, none, {none, b32}},
};

}  // namespace

const Table smem_table = smem_rows;

}  // namespace rapt::sim::rdna_isa
