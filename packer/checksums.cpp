#include "packer/checksums.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace rapt::archive {

namespace {

std::string hex(uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

}  // namespace

std::vector<std::string> stale_rows(std::string_view table, const std::map<std::string, uint32_t>& checksums) {
  std::vector<std::string> found;
  std::istringstream lines{std::string(table)};
  std::string line, word;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    while (words >> word) {
      const size_t begin = word.find('=') + 1, colon = word.find(':');
      if (!(word.starts_with("use=") || word.starts_with("against=")) || colon == std::string::npos) continue;
      const auto known = checksums.find(word.substr(begin, colon - begin));
      const auto said = static_cast<uint32_t>(std::strtoul(word.c_str() + colon + 1, nullptr, 16));
      if (known != checksums.end() && known->second != said)
        found.push_back("line " + std::to_string(number) + ": " + known->first + " has the checksum " +
                        hex(known->second) + ", the table's row is about " + hex(said));
    }
  }
  return found;
}

bool checksums_are_by(std::string_view table, std::string_view compiler) {
  constexpr std::string_view kBegin = "# checksums by: ";
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    line.resize(line.find_last_not_of(" \r") + 1);
    if (line.starts_with(kBegin)) return std::string_view(line).substr(kBegin.size()) == compiler;
  }
  return false;
}

}  // namespace rapt::archive
