// The release of AOTriton that this library replaces.
#pragma once

#include "aotriton/call/call.hpp"

namespace rapt::aot {

// The n of AOTriton 0.n, from the name under which PyTorch loaded the library, such as libaotriton_v2.so.0.11.1. 0 if
// the name has no version, as before 0.8.
int release();

// For the v2 functions, and for the v3 functions of 0.10 and 0.11, which only the file's name tells apart.
LseForm lse_form_of(int release);

}  // namespace rapt::aot
