#include "sim/check/options.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace rapt::sim {
namespace {

constexpr std::pair<std::string_view, bool CheckOptions::*> names[] = {
    {"values", &CheckOptions::values},       {"races", &CheckOptions::races},     {"barriers", &CheckOptions::barriers},
    {"waits", &CheckOptions::waits},         {"hazards", &CheckOptions::hazards}, {"operands", &CheckOptions::operands},
    {"alignment", &CheckOptions::alignment},
};

CheckOptions every_check() {
  CheckOptions all;
  for (const auto& [name, member] : names) all.*member = true;
  return all;
}

}  // namespace

CheckOptions parse_checks(std::string_view text) {
  CheckOptions options;
  if (text.empty() || text == "0") return options;
  if (text == "all" || text == "1") return every_check();
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(one.size() == text.size() ? one.size() : one.size() + 1);
    bool known = false;
    for (const auto& [name, member] : names)
      if (name == one) options.*member = known = true;
    if (known) continue;
    std::string message = "RAPT_SIM_CHECK: unknown check '" + std::string(one) + "'; known are all";
    for (const auto& [name, member] : names) message += ", " + std::string(name);
    throw std::invalid_argument(message);
  }
  return options;
}

const CheckOptions& check_options() {
  static const CheckOptions read = [] {
    const char* text = std::getenv("RAPT_SIM_CHECK");
    try {
      return parse_checks(text ? text : "");
    } catch (const std::invalid_argument& error) {
      std::fprintf(stderr, "%s; all run\n", error.what());
      return every_check();
    }
  }();
  return read;
}

}  // namespace rapt::sim
