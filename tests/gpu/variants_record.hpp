// What variants_test.cpp has run.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "variant.hpp"
#include "variant_cases.hpp"

namespace test {

// The list of kernels that ran and the options of their problems, checked at the end.
class Record : public testing::Environment {
 public:
  void add(const Variant& v, const Case& c) { options_[{v.arch, v.name}].merge(options_of(Problem(c.problem))); }
  void add(const Variant& v, size_t problems, double seconds, bool ok) {
    std::ostringstream line;
    line << std::left << std::setw(8) << v.arch << std::setw(44) << v.name << std::right << std::setw(4) << problems
         << " problems " << std::fixed << std::setprecision(2) << std::setw(7) << seconds << " s  "
         << (ok ? "ok" : "FAILED") << '\n';
    ran_[{v.arch, v.name}] = line.str();
    problems_ += problems;
    failed_ += !ok;
  }
  void TearDown() override {
    for (const Variant& v : all_variants()) {
      const std::pair kernel(v.arch, v.name);
      if (!ran_.contains(kernel)) {
        EXPECT_NE(GTEST_FLAG_GET(filter), "*") << v << " was not run";
        continue;
      }
      for (const std::string& option : options_taken(v))
        EXPECT_TRUE(options_[kernel].contains(option)) << v << " was not run with " << option;
    }
    std::ostringstream text;
    std::set<std::string> archs;
    for (const auto& [name, line] : ran_) {
      archs.insert(name.first);
      text << line;
    }
    text << ran_.size() << " kernels of " << archs.size() << " architectures, " << problems_ << " calls, " << failed_
         << " kernels failed\n";
    std::cout << text.str();
    if (const char* path = std::getenv("RAPT_TEST_REPORT")) std::ofstream(path) << text.str();
  }

 private:
  std::map<std::pair<std::string, std::string>, std::string> ran_;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> options_;
  size_t problems_ = 0, failed_ = 0;
};

}  // namespace test
