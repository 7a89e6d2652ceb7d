// The families of VOP3P's operations (matrices apart) and of the conversions of small floats.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim::packed {

void register_f16(HandlerTable& table);          // packed_f16.cpp
void register_integer(HandlerTable& table);      // packed_integer.cpp
void register_f32(HandlerTable& table);          // packed_f32.cpp: v_pk_*_f32, v_pk_mov_b32
void register_mix(HandlerTable& table);          // packed_mix.cpp: v_fma_mix*
void register_dot(HandlerTable& table);          // packed_dot.cpp
void register_small_float(HandlerTable& table);  // small_float_convert.cpp: fp8 and bf8, stochastic rounding
void register_scaled(HandlerTable& table);       // small_float_scaled.cpp: gfx950's v_cvt_scalef32_*

}  // namespace rapt::sim::packed
