// Runs the math backend in float64 over the table of options and writes inputs and results for oracle.py. For each case
// a line "case TEXT", then for each tensor a line "tensor NAME SIZE..." and its values, then "end".
#include <cmath>
#include <cstdio>
#include <exception>

#include "support/cases.hpp"
#include "support/run.hpp"

namespace {

void write(std::FILE* file, const char* name, const test::Tensor& tensor) {
  if (!tensor) return;
  std::fprintf(file, "tensor %s", name);
  for (int64_t size : tensor.shape()) std::fprintf(file, " %lld", static_cast<long long>(size));
  std::fputc('\n', file);
  const std::vector<double> values = tensor.values();
  if (!values.empty()) std::fwrite(values.data(), sizeof(double), values.size(), file);
}

void write_case(std::FILE* file, const test::Inputs& in, test::Layout layout) {
  std::fprintf(file, "case %s\n", in.problem.text.c_str());
  for (const auto& [name, tensor] : {std::pair{"q", &in.q},
                                     {"k", &in.k},
                                     {"v", &in.v},
                                     {"dout", &in.dout},
                                     {"bias", &in.bias},
                                     {"mask", &in.mask},
                                     {"alibi", &in.alibi_slopes},
                                     {"sink", &in.sink},
                                     {"block_table", &in.block_table}})
    write(file, name, *tensor);
  const test::Results results = test::run(in, {.backend = "math", .layout = layout});
  for (const auto& [name, tensor] : results.named()) write(file, ("result." + name).c_str(), *tensor);
  std::fputs("end\n", file);
}

// Some rows have no keys. A NaN of one head reaches what it shares with others: dk and dv.
test::Inputs with_extreme_sinks() {
  test::Inputs in = test::make_inputs(test::Problem("b2 hq8 hk4 sq17 sk9 d8 fp64 causal sink"));
  const double sinks[] = {INFINITY, 1, -INFINITY, INFINITY, NAN, 2, 3, 4};
  in.sink.fill([&](int64_t head) { return sinks[head]; });
  return in;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* file = argc == 2 ? std::fopen(argv[1], "wb") : nullptr;
  if (file == nullptr) {
    std::fprintf(stderr, "usage: oracle_cases FILE\n");
    return 2;
  }
  try {
    for (const test::Case& c : test::option_cases("fp64"))
      write_case(file, test::make_inputs(test::Problem(c.problem), c.kind, c.layout), c.layout);
    write_case(file, with_extreme_sinks(), test::Layout::compact);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "oracle_cases: %s\n", e.what());
    return 1;
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
