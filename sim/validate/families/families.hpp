// The families, each defined in the file of its name.
#pragma once

#include "sim/validate/family.hpp"

namespace rapt::sim::validate {

std::unique_ptr<Family> bf16_gemm();
std::unique_ptr<Family> fp8_gemm();
std::unique_ptr<Family> int8_gemm();
std::unique_ptr<Family> fp4_gemm();
std::unique_ptr<Family> moe_stage1();
std::unique_ptr<Family> moe_fp8();
std::unique_ptr<Family> moe_fp4();
std::unique_ptr<Family> fmha_forward();
std::unique_ptr<Family> fmha_backward();

}  // namespace rapt::sim::validate
