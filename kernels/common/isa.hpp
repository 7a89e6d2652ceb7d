// The device language of the vendor that is compiled for, and its namespace. All of kernels/common uses it, so that
// masks, options and softmax are written once.
#pragma once

#ifdef __CUDACC__
#define RAPT_VENDOR nvidia
#include "kernels/nvidia/isa/arguments.hpp"
#include "kernels/nvidia/isa/numbers.hpp"
#else
#define RAPT_VENDOR amd
#include "kernels/amd/isa/arguments.hpp"
#include "kernels/amd/isa/numbers.hpp"
#endif
