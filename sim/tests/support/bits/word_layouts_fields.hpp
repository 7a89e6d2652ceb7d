// Fields that the encodings of gfx9, gfx11 and gfx12 have in the same places.
#pragma once

#include "sim/tests/support/bits/word_layouts.hpp"

namespace rapt::sim::test::fields {

using enum Fill;
using Fields = std::vector<BitField>;

inline const Fields sop1 = {{"ssrc0", 0, 8, scalar_source}, {"sdst", 16, 7, sgpr}};
inline const Fields sop2 = {{"ssrc0", 0, 8, scalar_source}, {"ssrc1", 8, 8, scalar_source}, {"sdst", 16, 7, sgpr}};
inline const Fields sopc = {{"ssrc0", 0, 8, scalar_source}, {"ssrc1", 8, 8, scalar_source}};
inline const Fields sopk = {{"simm16", 0, 16, immediate}, {"sdst", 16, 7, sgpr}};

inline const Fields vop1 = {{"src0", 0, 9, source}, {"vdst", 17, 8, vgpr}};
inline const Fields vop2 = {{"src0", 0, 9, source}, {"vsrc1", 9, 8, vgpr}, {"vdst", 17, 8, vgpr}};
inline const Fields vopc = {{"src0", 0, 9, source}, {"vsrc1", 9, 8, vgpr}};
inline const Fields vop3 = {{"vdst", 0, 8, vgpr},       {"abs", 8, 3, modifier},   {"op_sel", 11, 4, modifier},
                            {"clamp", 15, 1, modifier}, {"src0", 32, 9, source},   {"src1", 41, 9, source},
                            {"src2", 50, 9, source},    {"omod", 59, 2, modifier}, {"neg", 61, 3, modifier}};
inline const Fields vop3p = {{"vdst", 0, 8, vgpr},           {"neg_hi", 8, 3, modifier},
                             {"op_sel", 11, 3, modifier},    {"op_sel_hi2", 14, 1, modifier},
                             {"clamp", 15, 1, modifier},     {"src0", 32, 9, source},
                             {"src1", 41, 9, source},        {"src2", 50, 9, source},
                             {"op_sel_hi", 59, 2, modifier}, {"neg", 61, 3, modifier}};

}  // namespace rapt::sim::test::fields
