// Every kernel of every archive, by name, on the simulator with its sanitizer on, through the call that a user makes:
// each result is held against the math backend in float64 by the rule of docs/architecture.md. A kernel of an archive
// that no test has run is a failure. RAPT_TEST_LONG=1 takes the longer list, RAPT_TEST_REPORT names a file for the list
// of what was run.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "device_run.hpp"
#include "rapt/rapt.hpp"
#include "support/allowance.hpp"
#include "variant_cases.hpp"

namespace test {

namespace {

struct Variant {
  std::string arch, name, dtype;
  int64_t tile = 0;
  bool general = false, is_forward = false;
};
std::ostream& operator<<(std::ostream& out, const Variant& v) { return out << v.arch << ' ' << v.name; }

std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const std::string& path : rapt::Archive::find()) {
    const rapt::Archive archive(path);
    for (size_t i = 0; i < archive.size(); ++i) {
      const rapt_kernel k = archive.kernel(i);
      const char* dtype = k.dtype.bits == 32 ? "fp32" : k.dtype.code == RAPT_BFLOAT ? "bf16" : "fp16";
      all.push_back({archive.arch(), k.name, dtype, k.head_dim, k.features == std::string("general"),
                     std::string(k.operation).starts_with("forward")});
    }
  }
  return all;
}

// Where HIP has a GPU of each architecture.
const std::map<std::string, rapt_device>& devices() {
  static const std::map<std::string, rapt_device> all = [] {
    std::map<std::string, rapt_device> found;
    for (int32_t i = 0; i < rapt::device_count(RAPT_ROCM); ++i)
      found.insert({rapt::describe({RAPT_ROCM, i}).arch, {RAPT_ROCM, i}});
    return found;
  }();
  return all;
}

// A problem's numbers and what the result must be: made once, for all kernels and architectures.
struct Yardstick {
  Inputs inputs;
  Oracle oracle;

  static Inputs without_gradient(Inputs inputs) {
    inputs.dout = {};
    return inputs;
  }
  explicit Yardstick(const Case& c)
      : inputs(without_gradient(make_inputs(Problem(c.problem), c.kind, c.layout))), oracle(inputs) {}

  static const Yardstick& of(const Case& c) {
    static std::map<std::string, std::unique_ptr<Yardstick>> all;
    std::unique_ptr<Yardstick>& one = all[name_of(c)];
    if (!one) one = std::make_unique<Yardstick>(c);
    return *one;
  }
};

// What was run, for the end.
class Record : public testing::Environment {
 public:
  void add(const Variant& v, size_t problems, double seconds, bool ok) {
    ran_.insert({v.arch, v.name});
    archs_.insert(v.arch);
    problems_ += problems;
    failed_ += !ok;
    lines_ << std::left << std::setw(8) << v.arch << std::setw(44) << v.name << std::right << std::setw(4) << problems
           << " problems " << std::fixed << std::setprecision(2) << std::setw(7) << seconds << " s  "
           << (ok ? "ok" : "FAILED") << '\n';
  }
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) == "*") {
      for (const Variant& v : all_variants()) EXPECT_TRUE(ran_.contains({v.arch, v.name})) << v << " was not run";
    }
    lines_ << ran_.size() << " kernels of " << archs_.size() << " architectures, " << problems_ << " forward calls, "
           << failed_ << " kernels failed\n";
    std::cout << lines_.str();
    if (const char* path = std::getenv("RAPT_TEST_REPORT")) std::ofstream(path) << lines_.str();
  }

 private:
  std::set<std::pair<std::string, std::string>> ran_;
  std::set<std::string> archs_;
  size_t problems_ = 0, failed_ = 0;
  std::ostringstream lines_;
};
Record* const record = static_cast<Record*>(testing::AddGlobalTestEnvironment(new Record));

class EveryVariant : public testing::TestWithParam<Variant> {};

void check(const Variant& v, const Case& c) {
  const Yardstick& yardstick = Yardstick::of(c);
  const std::string where = v.arch + " " + v.name + ", " + name_of(c) + ", ";
  try {
    const Results results = run_on(devices().at(v.arch), yardstick.inputs, "hip." + v.name, c.layout);
    for (const Measure& m : yardstick.oracle.measure(results)) EXPECT_TRUE(m.ok()) << where << m.text();
  } catch (const rapt::Error& e) {
    ADD_FAILURE() << where << e.what();
  }
}

TEST_P(EveryVariant, MeetsTheRule) {
  const Variant& v = GetParam();
  ASSERT_TRUE(v.is_forward) << v << " computes what this test has no problems for";
  ASSERT_TRUE(devices().contains(v.arch)) << "no device of this architecture; RAPT_SIM_ARCH lists them";
  const bool longer = std::getenv("RAPT_TEST_LONG") != nullptr;
  const std::vector<Case> cases = (longer ? long_variant_cases : variant_cases)(v.dtype, v.tile, v.general);
  const auto start = std::chrono::steady_clock::now();
  for (const Case& c : cases) check(v, c);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  record->add(v, cases.size(), seconds.count(), !HasFailure());
}

std::string variant_name(const testing::TestParamInfo<Variant>& info) {
  std::string name = info.param.arch + "_" + info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Simulated, EveryVariant, testing::ValuesIn(all_variants()), variant_name);

TEST(Archives, EveryDeviceHasOne) {
  ASSERT_FALSE(devices().empty());
  for (const auto& [arch, device] : devices()) {
    EXPECT_GT(rapt::Archive("", arch).size(), 0u) << arch;
    EXPECT_EQ(rapt::describe(device).simulator, 1) << "this is no simulator: nothing was checked by its sanitizer";
  }
}

}  // namespace

}  // namespace test
