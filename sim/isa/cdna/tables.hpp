// The instruction tables of gfx906, gfx908, gfx90a, gfx942 and gfx950: one file per group of formats, rows in the order
// of their codes. Names and codes follow LLVM 22; a test compares them with its disassembler.
#pragma once

#include "sim/isa/family.hpp"

namespace rapt::sim::gfx9 {

extern const Table sop1_table, sop2_table, sopc_table, sopk_table, sopp_table, smem_table;
extern const Table vop1_table, vop2_table, vopc_table, vop3_table, vop3p_table, matrix_table;
extern const Table ds_table, flat_table, global_table, scratch_table, mubuf_table, mtbuf_table, unsupported_table;

// Matrix operations after gfx950's scale prefix have separate rows.
constexpr std::uint16_t scaled_code(unsigned code) { return static_cast<std::uint16_t>(code | 0x80); }

// Rows of Format::unsupported cover several encodings: the code says which.
constexpr std::uint16_t refused_ds(unsigned code) { return static_cast<std::uint16_t>(code); }
constexpr std::uint16_t refused_exp(unsigned code) { return static_cast<std::uint16_t>(0x100 | code); }
constexpr std::uint16_t refused_vintrp(unsigned code) { return static_cast<std::uint16_t>(0x200 | code); }
constexpr std::uint16_t refused_mimg(unsigned code) { return static_cast<std::uint16_t>(0x300 | code); }
constexpr std::uint16_t refused_vop3(unsigned code) { return static_cast<std::uint16_t>(0x400 | code); }

// Short names for writing the rows.
namespace row {
using enum Format;
using enum Type;
using namespace trait;
inline constexpr ArchSet only_908 = only(Arch::gfx908), only_90a = only(Arch::gfx90a), only_942 = only(Arch::gfx942),
                         only_950 = only(Arch::gfx950);
inline constexpr ArchSet to_908 = before_gfx90a, to_90a = to_908 | only_90a;
inline constexpr ArchSet from_942 = only_942 | only_950, from_90a = only_90a | from_942, from_908 = only_908 | from_90a;
inline constexpr ArchSet from_908_to_90a = only_908 | only_90a;
}  // namespace row

}  // namespace rapt::sim::gfx9
