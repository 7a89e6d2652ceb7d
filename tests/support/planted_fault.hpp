// Wrong results that the correctness rule must fail.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "support/allowance.hpp"

namespace test {

struct Fault {
  const char* name;
  const char* tensor;
  std::function<void(const Inputs&, const Oracle&, Results&)> plant;
};
inline void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

// The plain formula's result must pass, and fail with the fault.
inline void expect_failed(const Inputs& inputs, const Oracle& oracle, const Fault& fault) {
  for (const Measure& m : oracle.measure(oracle.plain()))
    EXPECT_TRUE(m.ok() || m.tensor != fault.tensor) << inputs.problem.text << ", plain " << m.text();
  Results wrong = oracle.plain();
  fault.plant(inputs, oracle, wrong);
  for (const Measure& m : oracle.measure(wrong))
    EXPECT_FALSE(m.ok() && m.tensor == fault.tensor) << inputs.problem.text << ", " << m.text();
}

inline void expect_failed(const Inputs& inputs, const Fault& fault) { expect_failed(inputs, Oracle(inputs), fault); }

}  // namespace test
