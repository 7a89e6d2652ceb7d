// The families of VOP3P's operations (except for matrices) and of the conversions of small floats.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim::packed {

void register_f16(HandlerTable& table);          // f16.cpp
void register_integer(HandlerTable& table);      // integer.cpp
void register_f32(HandlerTable& table);          // f32.cpp: v_pk_*_f32, v_pk_mov_b32
void register_mix(HandlerTable& table);          // mix.cpp: v_fma_mix*
void register_dot(HandlerTable& table);          // dot.cpp
void register_small_float(HandlerTable& table);  // convert/small_float_convert.cpp: fp8 and bf8, stochastic rounding
void register_scaled(HandlerTable& table);       // convert/small_float_scaled.cpp: gfx950's v_cvt_scalef32_*

}  // namespace rapt::sim::packed
