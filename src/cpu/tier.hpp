// Turns the kernels, as compiled for RAPT_TIER, into a Tier. Each tiers/*.cpp includes this once.
#pragma once

#include "cpu/backward.hpp"
#include "cpu/cpu.hpp"
#include "cpu/forward.hpp"

#define RAPT_DEFINE_TIER(variable, name, needs, runs_here)            \
  namespace rapt::cpu {                                               \
  extern const Tier variable;                                         \
  const Tier variable = {name,                                        \
                         needs,                                       \
                         [] { return static_cast<bool>(runs_here); }, \
                         RAPT_TIER::forward_kernel,                   \
                         RAPT_TIER::backward_kernel,                  \
                         RAPT_TIER::forward_workspace,                \
                         RAPT_TIER::backward_workspace,               \
                         RAPT_TIER::forward,                          \
                         RAPT_TIER::backward};                        \
  }
