#include "cli/core/dtype.hpp"

#include <fmt/format.h>

#include <cfloat>

namespace rapt::cli {

std::string dtype_name(rapt_dtype dtype) {
  if (same(dtype, kBool)) return "bool";
  switch (dtype.code) {
    case RAPT_FLOAT: return fmt::format("fp{}", dtype.bits);
    case RAPT_BFLOAT: return fmt::format("bf{}", dtype.bits);
    case RAPT_INT: return fmt::format("int{}", dtype.bits);
    case RAPT_UINT: return fmt::format("uint{}", dtype.bits);
    default: return fmt::format("type {}/{}", dtype.code, dtype.bits);
  }
}

double largest_finite(rapt_dtype dtype) {
  if (same(dtype, kFp16)) return 65504;
  if (same(dtype, kBf16)) return 0x1.fep127;
  return same(dtype, kFp32) ? FLT_MAX : DBL_MAX;
}

}  // namespace rapt::cli
