// The instruction tables of gfx1100, gfx1151 and gfx1201: one file per format, rows in the order of their codes.
#pragma once

#include "sim/isa/family.hpp"

namespace rapt::sim::rdna_isa {

// Where a row is valid, in addition to rdna, gfx11 and gfx12.
inline constexpr ArchSet gfx1100 = only(Arch::gfx1100);
inline constexpr ArchSet gfx1151 = only(Arch::gfx1151);
inline constexpr ArchSet from_gfx1151 = gfx1151 | gfx12;

extern const Table sop1_table, sop2_table, sopk_table, sopc_table, sopp_table, smem_table;
extern const Table vop1_table, vop2_table, vopc_table, vop3_table, vop3p_table, vopd_table;
extern const Table ds_table, flat_table, global_table, scratch_table, mubuf_table, mtbuf_table, unsupported_table;

}  // namespace rapt::sim::rdna_isa
