// Random problems with random values, Inf, NaN, denormal, huge and tiny numbers among them. Forward and backward passes
// are compared with float64 by the rule of docs/architecture.md.
//
// Usage: attack DEVICE SECONDS FIRST [COUNT]. DEVICE is cpu (this computer's tiers but AMX), cpu.avx2, cuda:0, ...
// Case n depends on n alone; on the CPU it is followed by one of extreme values. It prints every failure and the number
// of calls, and exits with 1 if a call failed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "attack/attack_case.hpp"
#include "attack/extreme_values.hpp"
#include "gpu/device_run.hpp"
#include "rapt/rapt.hpp"
#include "support/allowance.hpp"

namespace test {

namespace {

// The first element that is Inf or NaN in one of them alone, or an Inf of the other sign.
std::string first_misplaced(const Tensor& x, const Tensor& exact) {
  for (int64_t i = 0; i < exact.count(); ++i) {
    const double a = x.at(i), b = exact.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b)) || (std::isfinite(a) && std::isfinite(b))) continue;
    std::ostringstream text;
    text << ", element " << i << " is " << a << ", in float64 " << b;
    return text.str();
  }
  return "";
}

const Tensor& named(const Results& results, const std::string& name) {
  for (const auto& [own, tensor] : results.named())
    if (own == name) return *tensor;
  throw std::runtime_error(name);
}

bool all_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i)
    if (!std::isfinite(t.at(i))) return false;
  return true;
}

// Whether a result over its allowance is as right as float32 can be.
class Excuse {
 public:
  Excuse(const AttackCase& c, const Oracle& oracle)
      : oracle_(oracle), values_finite_(all_finite(c.inputs.v) && all_finite(c.inputs.dout)) {}

  bool holds(const Measure& m) const { return m.gaps_untouched && (m.misplaced > 0 ? misplaced(m) : beyond_range(m)); }

 private:
  // Where the plain formula overflows in the tensors' type the rule has no measure, and a result must be as exact as
  // its operands.
  bool beyond_range(const Measure& m) const {
    const Tensor &exact = named(oracle_.exact(), m.tensor), &plain = named(oracle_.plain(), m.tensor);
    double largest = 0;
    bool overflows = false;
    for (int64_t i = 0; i < exact.count(); ++i) {
      if (!std::isfinite(exact.at(i))) continue;
      largest = std::max(largest, std::fabs(exact.at(i)));
      overflows |= !std::isfinite(plain.at(i));
    }
    return overflows && m.error <= 0x1p-9 * largest;
  }

  // The plain formula misplaces an Inf or NaN too. Or float32 takes a weight for 0 that is not, or the other way round,
  // and the weight's value is not finite.
  bool misplaced(const Measure& m) const {
    const auto large = [](double lse_error) { return lse_error > 50 * 0x1p-22; };
    if (!values_finite_ && std::ranges::any_of(oracle_.bounds().at("lse"), large)) return true;
    for (const Measure& of_plain : oracle_.measure(oracle_.plain()))
      if (of_plain.tensor == m.tensor) return of_plain.misplaced > 0;
    return false;
  }

  const Oracle& oracle_;
  const bool values_finite_;
};

struct Target {
  bool host;
  rapt_device device;
  std::string backend;
  int64_t calls = 0, failed = 0, refused = 0, excused = 0;

  void attack(const AttackCase& c) {
    const Oracle oracle(c.inputs);
    for (const std::string& name : backend == "cpu" ? tiers(c.inputs.problem) : std::vector{backend}) {
      check(c, oracle, name, false, [&] { return forward_of(c.inputs, name); });
      check(c, oracle, name, true, [&] { return backward_of(c.inputs, oracle.given(), name); });
    }
  }

 private:
  static std::vector<std::string> tiers(const Problem& problem) {
    std::vector<std::string> all = backends(problem);
    // AMX gives keys that are equal and have logits beyond 1e6 unequal weights
    // (docs/log/2026-11-29-cpu-random-attack.md).
    std::erase_if(all,
                  [](const std::string& name) { return name == "math" || name == "cpu" || name == "cpu.amx_bf16"; });
    return all;
  }

  Results forward_of(const Inputs& in, const std::string& name) const {
    if (!host) return run_on(device, in, name, Layout::compact);
    return run(in, {.backend = name, .backward = false});
  }
  Results backward_of(const Inputs& in, const Results& given, const std::string& name) const {
    if (!host) return run_backward_on(device, in, given, name, Layout::compact);
    Results results = make_results(in, Layout::compact, true);
    if (backward(in, results, {.backend = name, .given = &given}) != RAPT_OK)
      throw std::runtime_error(rapt_last_error());
    results.out = given.out, results.lse = given.lse;
    return results;
  }

  // A backward pass was given the plain formula's out, and lse.
  template <class Call>
  void check(const AttackCase& c, const Oracle& oracle, const std::string& name, bool backward, const Call& call) {
    const auto print = [&](const std::string& what) {
      std::cout << c.number << " | " << name << " | " << c.problem << " | " << c.values << " | " << what << std::endl;
    };
    try {
      const Results results = call();
      ++calls;
      bool ok = true;
      for (const Measure& m : oracle.measure(results)) {
        const bool given = backward && (m.tensor == "out" || m.tensor == "lse");
        if (given || m.ok()) continue;
        if (Excuse(c, oracle).holds(m)) {
          ++excused;
          continue;
        }
        ok = false;
        print(m.text() +
              (m.misplaced > 0 ? first_misplaced(named(results, m.tensor), named(oracle.exact(), m.tensor)) : ""));
      }
      failed += !ok;
    } catch (const std::runtime_error& e) {
      const std::string text = e.what();
      const bool refuses = text.find("no backend") != text.npos || text.find("none of") != text.npos;
      ++(refuses ? refused : failed);
      if (!refuses) print(text.substr(0, 300));
    }
  }
};

Target target_of(const std::string& name) {
  if (name.starts_with("cpu")) return {true, {RAPT_CPU, 0}, name};
  const size_t colon = name.find(':');
  const std::string vendor = name.substr(0, colon);
  const int32_t index = colon == name.npos ? 0 : std::stoi(name.substr(colon + 1));
  return {false, {vendor == "hip" ? RAPT_ROCM : RAPT_CUDA, index}, vendor};
}

int attack(int count, char** words) {
  if (count < 4) throw std::runtime_error("attack DEVICE SECONDS FIRST [COUNT]");
  using Clock = std::chrono::steady_clock;
  Target target = target_of(words[1]);
  const auto end = Clock::now() + std::chrono::duration<double>(std::stod(words[2]));
  const uint64_t first = std::stoull(words[3]), most = count > 4 ? std::stoull(words[4]) : UINT64_MAX / 2;
  uint64_t cases = 0, problems = 0;
  for (; cases < most && Clock::now() < end; ++cases) {
    target.attack(make_case(first + cases)), ++problems;
    if (!target.host) continue;
    const AttackCase extreme = make_extreme_case(first + cases);
    if (!exceeds_float32(extreme.inputs)) target.attack(extreme), ++problems;
  }
  std::cout << "cases " << cases << " problems " << problems << " calls " << target.calls << " failed " << target.failed
            << " refused " << target.refused << " results beyond float32 " << target.excused << '\n';
  return target.failed == 0 ? 0 : 1;
}

}  // namespace

}  // namespace test

int main(int count, char** words) {
  try {
    return test::attack(count, words);
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 2;
  }
}
