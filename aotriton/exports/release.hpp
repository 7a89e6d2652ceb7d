// Which release of AOTriton this library stands in for.
#pragma once

#include "aotriton/call/call.hpp"

namespace rapt::aot {

// The n of AOTriton 0.n, by the name of the file that was loaded, such as libaotriton_v2.so.0.11.1, which PyTorch asks
// for by this name. 0 if the name has no version: releases before 0.8 had none.
int release();

// Of the v2 functions, and of the v3 ones of 0.10 and 0.11, which nothing but the file's name tells apart.
LseForm lse_form_of(int release);

}  // namespace rapt::aot
