// The families of VALU operations, a file each.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim::valu {

void register_float(HandlerTable& table);            // valu_float.cpp: add, mul, fma, mad, ...
void register_min_max(HandlerTable& table);          // valu_min_max.cpp: min, max, med3 of floats
void register_rounding(HandlerTable& table);         // valu_rounding.cpp: floor, fract, frexp, ldexp, ...
void register_divide(HandlerTable& table);           // valu_divide.cpp: div_scale, div_fmas, div_fixup, trig_preop
void register_transcendental(HandlerTable& table);   // valu_transcendental.cpp: exp, log, rcp, sqrt, sin, ...
void register_convert(HandlerTable& table);          // valu_convert.cpp: between floats and integers
void register_convert_packed(HandlerTable& table);   // valu_convert_packed.cpp: two or more results in a register
void register_cube(HandlerTable& table);             // valu_cube.cpp
void register_integer(HandlerTable& table);          // valu_integer.cpp: 32 bits
void register_integer16(HandlerTable& table);        // valu_integer16.cpp
void register_integer64(HandlerTable& table);        // valu_integer64.cpp
void register_bits(HandlerTable& table);             // valu_bits.cpp: logic, shifts, bit fields and counts
void register_bytes(HandlerTable& table);            // valu_bytes.cpp: sad, lerp, perm, align
void register_carry(HandlerTable& table);            // valu_carry.cpp: with carry or condition in and out
void register_compare_float(HandlerTable& table);    // valu_compare_float.cpp
void register_compare_integer(HandlerTable& table);  // valu_compare_integer.cpp
void register_class(HandlerTable& table);            // valu_class.cpp
void register_move(HandlerTable& table);             // valu_move.cpp: mov, swap, cndmask, relative moves, AGPRs, nop
void register_lanes(HandlerTable& table);            // valu_lanes.cpp: read and write lane, permlane, mbcnt
void register_dual(HandlerTable& table);             // valu_dual.cpp: VOPD
void register_scalar_result(HandlerTable& table);    // valu_scalar_result.cpp: gfx12's v_s_*

}  // namespace rapt::sim::valu
