// The instruction tables of gfx908, gfx90a, gfx942 and gfx950: one file a format, rows in the order of their codes.
#pragma once

#include "sim/isa/family.hpp"

namespace rapt::sim::gfx9 {

extern const Table sop1_table, sop2_table, sopk_table, sopc_table, sopp_table, smem_table;
extern const Table vop1_table, vop2_table, vopc_table, vop3_table, vop3p_table, mfma_table;
extern const Table ds_table, flat_table, global_table, scratch_table, mubuf_table, mtbuf_table, unsupported_table;

}  // namespace rapt::sim::gfx9
