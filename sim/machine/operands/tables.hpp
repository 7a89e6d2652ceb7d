// The families of VALU operations, one file per family.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim::valu {

void register_float(HandlerTable& table);            // vector/float.cpp: add, mul, fma, mad, ...
void register_min_max(HandlerTable& table);          // vector/min_max.cpp: min, max, med3 of floats
void register_rounding(HandlerTable& table);         // convert/rounding.cpp: floor, fract, frexp, ldexp, ...
void register_divide(HandlerTable& table);           // vector/divide.cpp: div_scale, div_fmas, div_fixup, trig_preop
void register_transcendental(HandlerTable& table);   // vector/transcendental.cpp: exp, log, rcp, sqrt, sin, ...
void register_convert(HandlerTable& table);          // convert/convert.cpp: between floats and integers
void register_convert_packed(HandlerTable& table);   // convert/packed.cpp: two or more results in a register
void register_cube(HandlerTable& table);             // vector/cube.cpp
void register_integer(HandlerTable& table);          // vector/integer.cpp: 32 bits
void register_integer16(HandlerTable& table);        // vector/integer16.cpp
void register_integer64(HandlerTable& table);        // vector/integer64.cpp
void register_bits(HandlerTable& table);             // vector/bits.cpp: logic, shifts, bit fields and counts
void register_bytes(HandlerTable& table);            // vector/bytes.cpp: sad, lerp, perm, align
void register_carry(HandlerTable& table);            // vector/carry.cpp: with carry or condition in and out
void register_compare_float(HandlerTable& table);    // vector/compare_float.cpp
void register_compare_integer(HandlerTable& table);  // vector/compare_integer.cpp
void register_class(HandlerTable& table);            // vector/class.cpp
void register_move(HandlerTable& table);             // vector/move.cpp: mov, swap, cndmask, relative moves, AGPRs, nop
void register_lanes(HandlerTable& table);            // vector/lanes.cpp: read and write lane, permlane, mbcnt
void register_dual(HandlerTable& table);             // vector/dual.cpp: VOPD
void register_scalar_result(HandlerTable& table);    // operands/scalar_result.cpp: gfx12's v_s_*

}  // namespace rapt::sim::valu
