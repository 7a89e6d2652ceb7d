// A kernel in words.
#pragma once

#include <string>

#include "gpu/archive.hpp"

namespace rapt::gpu {

// "tile 128 queries x 64 keys, 4 waves of 64 lanes, 128 VGPRs, ..., P rounded to nearest".
std::string text_of(const Variant& v);

}  // namespace rapt::gpu
