// MTBUF (gfx12: VBUFFER from code 0x80 on): like MUBUF, with a format in the instruction.
#include "sim/isa/rdna/tables.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

using enum Type;

constexpr Opcode mtbuf_rows[] = {
    {"tbuffer_load_format_x", Format::mtbuf, 0x00, gfx11, b32, none, {b64, none, b128, b32}},
    {"tbuffer_load_format_xy", Format::mtbuf, 0x01, gfx11, b64, none, {b64, none, b128, b32}},
    {"tbuffer_load_format_xyz", Format::mtbuf, 0x02, gfx11, b96, none, {b64, none, b128, b32}},
    {"tbuffer_load_format_xyzw", Format::mtbuf, 0x03, gfx11, b128, none, {b64, none, b128, b32}},
    {"tbuffer_store_format_x", Format::mtbuf, 0x04, gfx11, none, none, {b64, b32, b128, b32}},
    {"tbuffer_store_format_xy", Format::mtbuf, 0x05, gfx11, none, none, {b64, b64, b128, b32}},
    {"tbuffer_store_format_xyz", Format::mtbuf, 0x06, gfx11, none, none, {b64, b96, b128, b32}},
    {"tbuffer_store_format_xyzw", Format::mtbuf, 0x07, gfx11, none, none, {b64, b128, b128, b32}},
    {"tbuffer_load_d16_format_x", Format::mtbuf, 0x08, gfx11, b16, none, {b64, none, b128, b32}},
    {"tbuffer_load_d16_format_xy", Format::mtbuf, 0x09, gfx11, b16, none, {b64, none, b128, b32}},
    {"tbuffer_load_d16_format_xyz", Format::mtbuf, 0x0a, gfx11, b64, none, {b64, none, b128, b32}},
    {"tbuffer_load_d16_format_xyzw", Format::mtbuf, 0x0b, gfx11, b64, none, {b64, none, b128, b32}},
    {"tbuffer_store_d16_format_x", Format::mtbuf, 0x0c, gfx11, none, none, {b64, b16, b128, b32}},
    {"tbuffer_store_d16_format_xy", Format::mtbuf, 0x0d, gfx11, none, none, {b64, b16, b128, b32}},
    {"tbuffer_store_d16_format_xyz", Format::mtbuf, 0x0e, gfx11, none, none, {b64, b64, b128, b32}},
    {"tbuffer_store_d16_format_xyzw", Format::mtbuf, 0x0f, gfx11, none, none, {b64, b64, b128, b32}},
    {"tbuffer_load_format_x", Format::mtbuf, 0x80, gfx12, b32, none, {b64, none, b128, b32}},
    {"tbuffer_load_format_xy", Format::mtbuf, 0x81, gfx12, b64, none, {b64, none, b128, b32}},
    {"tbuffer_load_format_xyz", Format::mtbuf, 0x82, gfx12, b96, none, {b64, none, b128, b32}},
    {"tbuffer_load_format_xyzw", Format::mtbuf, 0x83, gfx12, b128, none, {b64, none, b128, b32}},
    {"tbuffer_store_format_x", Format::mtbuf, 0x84, gfx12, none, none, {b64, b32, b128, b32}},
    {"tbuffer_store_format_xy", Format::mtbuf, 0x85, gfx12, none, none, {b64, b64, b128, b32}},
    {"tbuffer_store_format_xyz", Format::mtbuf, 0x86, gfx12, none, none, {b64, b96, b128, b32}},
    {"tbuffer_store_format_xyzw", Format::mtbuf, 0x87, gfx12, none, none, {b64, b128, b128, b32}},
    {"tbuffer_load_d16_format_x", Format::mtbuf, 0x88, gfx12, b16, none, {b64, none, b128, b32}},
    {"tbuffer_load_d16_format_xy", Format::mtbuf, 0x89, gfx12, b16, none, {b64, none, b128, b32}},
    {"tbuffer_load_d16_format_xyz", Format::mtbuf, 0x8a, gfx12, b64, none, {b64, none, b128, b32}},
    {"tbuffer_load_d16_format_xyzw", Format::mtbuf, 0x8b, gfx12, b64, none, {b64, none, b128, b32}},
    {"tbuffer_store_d16_format_x", Format::mtbuf, 0x8c, gfx12, none, none, {b64, b16, b128, b32}},
    {"tbuffer_store_d16_format_xy", Format::mtbuf, 0x8d, gfx12, none, none, {b64, b16, b128, b32}},
    {"tbuffer_store_d16_format_xyz", Format::mtbuf, 0x8e, gfx12, none, none, {b64, b64, b128, b32}},
    {"tbuffer_store_d16_format_xyzw", Format::mtbuf, 0x8f, gfx12, none, none, {b64, b64, b128, b32}},
};

}  // namespace

const Table mtbuf_table = mtbuf_rows;

}  // namespace rapt::sim::rdna_isa
