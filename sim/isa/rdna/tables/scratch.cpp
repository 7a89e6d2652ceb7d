// SCRATCH (gfx12: VSCRATCH): src0 and src2 the vector and scalar parts of the address, src1 the data.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode scratch_rows[] = {
    {"scratch_load_u8", Format::scratch, 0x10, rdna, b32, none, {b32, none, b32}},
    {"scratch_load_i8", Format::scratch, 0x11, rdna, b32, none, {b32, none, b32}},
    {"scratch_load_u16", Format::scratch, 0x12, rdna, b32, none, {b32, none, b32}},
    {"scratch_load_i16", Format::scratch, 0x13, rdna, b32, none, {b32, none, b32}},
    {"scratch_load_b32", Format::scratch, 0x14, rdna, b32, none, {b32, none, b32}},
    {"scratch_load_b64", Format::scratch, 0x15, rdna, b64, none, {b32, none, b32}},
    {"scratch_load_b96", Format::scratch, 0x16, rdna, b96, none, {b32, none, b32}},
    {"scratch_load_b128", Format::scratch, 0x17, rdna, b128, none, {b32, none, b32}},
    {"scratch_store_b8", Format::scratch, 0x18, rdna, none, none, {b32, b8, b32}},
    {"scratch_store_b16", Format::scratch, 0x19, rdna, none, none, {b32, b16, b32}},
    {"scratch_store_b32", Format::scratch, 0x1a, rdna, none, none, {b32, b32, b32}},
    {"scratch_store_b64", Format::scratch, 0x1b, rdna, none, none, {b32, b64, b32}},
    {"scratch_store_b96", Format::scratch, 0x1c, rdna, none, none, {b32, b96, b32}},
    {"scratch_store_b128", Format::scratch, 0x1d, rdna, none, none, {b32, b128, b32}},
    {"scratch_load_d16_u8", Format::scratch, 0x1e, rdna, b16, none, {b32, none, b32}},
    {"scratch_load_d16_i8", Format::scratch, 0x1f, rdna, b16, none, {b32, none, b32}},
    {"scratch_load_d16_b16", Format::scratch, 0x20, rdna, b16, none, {b32, none, b32}},
    {"scratch_load_d16_hi_u8", Format::scratch, 0x21, rdna, b16, none, {b32, none, b32}},
    {"scratch_load_d16_hi_i8", Format::scratch, 0x22, rdna, b16, none, {b32, none, b32}},
    {"scratch_load_d16_hi_b16", Format::scratch, 0x23, rdna, b16, none, {b32, none, b32}},
    {"scratch_store_d16_hi_b8", Format::scratch, 0x24, rdna, none, none, {b32, b8, b32}},
    {"scratch_store_d16_hi_b16", Format::scratch, 0x25, rdna, none, none, {b32, b16, b32}},
    {"scratch_load_block", Format::scratch, 0x53, gfx12, b1024, none, {b32, none, b32}},
    {"scratch_store_block", Format::scratch, 0x54, gfx12, none, none, {b32, b1024, b32}},
};

}  // namespace

const Table scratch_table = scratch_rows;

}  // namespace rapt::sim::rdna_isa
