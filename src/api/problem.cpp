// Problems as text, and what would run for one, over the C boundary.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "api/execution.hpp"
#include "api/guard.hpp"
#include "api/op.hpp"
#include "base/text.hpp"
#include "base/versioned.hpp"
#include "engine/engine.hpp"
#include "problem/c_problem.hpp"
#include "problem/options.hpp"

namespace rapt {

rapt_explanation* new_explanation(Explanation&& value);

rapt_op checked_op(rapt_op op) {
  if (pass_name(op).empty())
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("op is ", static_cast<int32_t>(op), ", must be 0 (forward) or 1 (backward)"));
  return op;
}

namespace {

// Rapt 0.1 ended rapt_problem here, and did not read struct_size in rapt_problem_parse.
constexpr size_t kProblem01 = offsetof(rapt_problem, total_q);

// The fields that 0.1 had. Throws Error if they cannot express an option of the problem.
rapt_problem as_of_01(rapt_problem c, const Problem& p, size_t callers_size) {
  std::memset(reinterpret_cast<char*>(&c) + kProblem01, 0, sizeof c - kProblem01);
  c.struct_size = kProblem01;
  if (!(from_c(c) == p))
    throw Error(RAPT_UNSUPPORTED,
                cat("problem.struct_size is ", uint64_t{callers_size}, ", must be ", uint64_t{sizeof c}, " for ",
                    p.text(), ": any other size means Rapt 0.1, whose rapt_problem lacks some of its options"));
  return c;
}

}  // namespace

}  // namespace rapt

using namespace rapt;

extern "C" {

size_t rapt_option_count(void) { return options().size(); }

rapt_status rapt_option_at(size_t index, rapt_option* option) {
  return guarded([&] {
    require(option, "option");
    if (index >= options().size())
      throw Error(RAPT_INVALID_ARGUMENT, cat("index is ", static_cast<uint64_t>(index), ", must be less than ",
                                             static_cast<uint64_t>(options().size())));
    const Option& o = options()[index];
    write_versioned("option", option,
                    {sizeof(rapt_option), o.name.data(), o.form.data(), o.help.data(), o.from_call != nullptr,
                     o.default_value.data()});
  });
}

rapt_status rapt_problem_parse(const char* text, rapt_problem* problem, int64_t* varlen, size_t varlen_capacity) {
  return guarded([&] {
    require(text, "text");
    require(problem, "problem");
    const Problem p = Problem::parse(text);
    if (p.varlen.size() > varlen_capacity || (!p.varlen.empty() && varlen == nullptr))
      throw Error(RAPT_INVALID_ARGUMENT, cat("varlen_capacity is ", static_cast<uint64_t>(varlen_capacity),
                                             ", the text has ", static_cast<uint64_t>(p.varlen.size()), " sequences"));
    std::vector<int64_t> pairs;
    for (const auto& [seqlen_q, seqlen_k] : p.varlen) pairs.insert(pairs.end(), {seqlen_q, seqlen_k});
    rapt_problem c = to_c(p);
    c.varlen_count = static_cast<int64_t>(p.varlen.size());
    c.varlen = pairs.empty() ? nullptr : pairs.data();
    if (problem->struct_size != sizeof c) c = as_of_01(c, p, problem->struct_size);
    c.varlen = pairs.empty() ? nullptr : varlen;
    std::memcpy(problem, &c, c.struct_size);
    std::copy(pairs.begin(), pairs.end(), varlen);
  });
}

rapt_status rapt_problem_print(const rapt_problem* problem, char* text, size_t capacity, size_t* length) {
  return guarded([&] {
    require(problem, "problem");
    const std::string out = from_c(*problem).text();
    if (length) *length = out.size();
    if (capacity == 0) return;
    require(text, "text");
    if (capacity <= out.size())
      throw Error(RAPT_INVALID_ARGUMENT, cat("capacity is ", static_cast<uint64_t>(capacity), ", the text needs ",
                                             static_cast<uint64_t>(out.size() + 1)));
    std::memcpy(text, out.c_str(), out.size() + 1);
  });
}

rapt_status rapt_problem_flops(const rapt_problem* problem, rapt_op op, double* count) {
  return guarded([&] {
    require(problem, "problem");
    require(count, "flops");
    *count = flops(from_c(*problem), checked_op(op));
  });
}

rapt_status rapt_explain_problem(const rapt_problem* problem, rapt_op op, rapt_device device,
                                 const rapt_execution* execution, rapt_explanation** explanation) {
  return guarded([&] {
    require(problem, "problem");
    require(explanation, "explanation");
    checked_op(op);
    if (device_type_name(device.type).empty())
      throw Error(RAPT_INVALID_ARGUMENT, cat("device is ", device_text(device), ", must be cpu, hip or cuda"));
    rapt_executor executor;
    const Execution how = execution_of(execution, executor);
    const Problem p = from_c(*problem);
    if (op == RAPT_BACKWARD && p.has_cache)
      throw Error(RAPT_UNSUPPORTED, cat(p.text(), " has a KV cache, the backward pass takes no cache"));
    *explanation = new_explanation(explain({p, op, device, how}));
  });
}
}
