// The parts of validation that validate.cpp puts together.
#pragma once

#include "problem/validator.hpp"

namespace rapt {

struct CallTensors {
  const Tensor *q = nullptr, *k = nullptr, *v = nullptr;
  bool packed_q = false, packed_k = false;
};

// Lengths: validate_lengths.cpp. Each fills its part of `call`, batch and seqlen_q/k included.
void check_varlen(Validator& v, const rapt_varlen& varlen, const CallTensors& t, Call& call);
void check_cache(Validator& v, const rapt_kv_cache& cache, const CallTensors& t, Call& call);

// What is added to the logits or excludes them: validate_scores.cpp.
void check_scores(Validator& v, const char* name, const rapt_tensor* given, const Call& call, ScoreView& view);
void check_alibi(Validator& v, const rapt_tensor* given, Call& call);
void check_sink(Validator& v, const char* name, const rapt_tensor* given, const Call& call, HeadVector& view);

inline constexpr rapt_dtype kInt32 = {RAPT_INT, 32, 1};

}  // namespace rapt
