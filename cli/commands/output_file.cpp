#include "cli/commands/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

namespace rapt::cli {

namespace {

// "" or why results cannot be written there
std::string why_not(const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code error;  // what cannot be asked is found to be absent
  if (text.empty()) return "the name is empty, must be a file";
  if (fs::is_directory(text, error)) return fmt::format("{} is a folder, must be a file", text);
  if (fs::exists(text, error) && !fs::is_regular_file(text, error)) return "";  // a pipe or device
  const fs::path parent = fs::path(text).parent_path();
  const fs::path folder = parent.empty() ? "." : parent;
  if (!fs::is_directory(folder, error)) return fmt::format("{}: there is no folder {}", text, folder.string());
  if (access(folder.c_str(), W_OK) != 0) return fmt::format("{}: nothing can be written to {}", text, folder.string());
  return "";
}

}  // namespace

void add_output_file(CLI::App& command, const std::string& name, std::string& file, const std::string& help) {
  command.add_option(name, file, help)->check(CLI::Validator(why_not, "FILE"));
}

}  // namespace rapt::cli
