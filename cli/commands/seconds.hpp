// The check of options that are a time.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace rapt::cli {

// CLI11's own Range takes NaN.
inline CLI::Validator seconds_from(double least) {
  return CLI::Validator(
      [least](const std::string& text) -> std::string {
        double seconds = 0;
        if (CLI::detail::lexical_cast(text, seconds) && seconds >= least && seconds <= 1e9) return "";
        return fmt::format("is '{}', must be {} to 1e9 seconds", text, least);
      },
      fmt::format("{} to 1e9", least));
}

}  // namespace rapt::cli
