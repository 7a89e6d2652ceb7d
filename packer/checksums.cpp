#include "packer/checksums.hpp"

#include <cstdio>
#include <cstdlib>
#include <regex>
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
  static const std::regex kernel("(?:use|against)=([^: ]+):([0-9a-f]{8})");
  std::vector<std::string> found;
  std::istringstream lines{std::string(table)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    for (std::sregex_iterator match(line.begin(), line.end(), kernel), end; match != end; ++match) {
      const auto known = checksums.find((*match)[1]);
      const auto said = static_cast<uint32_t>(std::stoul((*match)[2], nullptr, 16));
      if (known != checksums.end() && known->second != said)
        found.push_back("line " + std::to_string(number) + ": " + known->first + " has the checksum " +
                        hex(known->second) + ", the table's row is about " + hex(said));
    }
  }
  return found;
}

bool checksums_are_by(std::string_view table, std::string_view compiler) {
  return !compiler.empty() && table.find("# checksums by: " + std::string(compiler) + "\n") != std::string_view::npos;
}

}  // namespace rapt::archive
