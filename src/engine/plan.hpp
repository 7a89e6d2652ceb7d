// Selection: which backend and which kernel variant run a call, and why not the others. On the CPU this is a few
// comparisons, so a plan is made anew for each call; the hip backend remembers its own.
#pragma once

#include <string>
#include <vector>

#include "cpu/cpu.hpp"
#include "gpu/gpu.hpp"
#include "problem/call.hpp"

namespace rapt {

// The caller's wish, from rapt_execution.
struct Wish {
  std::string_view backend = "auto";
  bool allow_math = false;
};

struct Plan {
  enum class Backend { math, cpu, hip };
  Backend backend = Backend::math;
  const cpu::Kernels* kernels = nullptr;  // of the cpu backend
  gpu::Plan hip = {};                     // of the hip backend
};

struct Candidate {
  std::string backend, kernel, reason;
  bool chosen = false;
};

struct Explanation {
  std::string problem;
  std::vector<Candidate> candidates;
};

// Throws Error (RAPT_UNSUPPORTED, or RAPT_INVALID_ARGUMENT for an unknown backend name) where nothing may run the call.
Plan plan(const ForwardCall& call, const Wish& wish);
Plan plan(const BackwardCall& call, const Wish& wish);

Explanation explain(const ForwardCall& call, const Wish& wish);
Explanation explain(const BackwardCall& call, const Wish& wish);

// Floating-point operations of the call: 4 * batch * heads * attended pairs * head_dim and its generalisations.
double operations(const Call& call, rapt_op op);

}  // namespace rapt
