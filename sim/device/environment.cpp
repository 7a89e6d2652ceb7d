#include "sim/device/environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace rapt::sim {
namespace {

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 0);
  return *end == 0 ? value : otherwise;
}

TimeMode time_mode() {
  const char* text = std::getenv("RAPT_SIM_TIME");
  const std::string_view mode = text ? text : "";
  if (mode.empty() || mode == "0") return TimeMode::off;
  if (mode == "1") return TimeMode::whole;
  return mode == "sample" ? TimeMode::sample : mode == "all" ? TimeMode::all : TimeMode::unknown;
}

}  // namespace

const Environment& environment() {
  static const Environment read = {
      static_cast<unsigned>(std::clamp<std::uint64_t>(
          number("RAPT_SIM_THREADS", std::max(1U, std::thread::hardware_concurrency())), 1, 1024)),
      number("RAPT_SIM_SEED", 0),
      std::max<std::uint64_t>(1, number("RAPT_SIM_LIMIT", 10'000'000'000)),
      time_mode(),
  };
  return read;
}

}  // namespace rapt::sim
