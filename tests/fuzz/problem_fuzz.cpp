// Any text: the parser refuses it with a message, or prints its canonical text, which parses and prints as itself.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "rapt/rapt.h"

namespace {

// The canonical text of a problem; "" where the text is refused.
std::string canonical(const std::string& text) {
  const auto pairs = static_cast<size_t>(std::count(text.begin(), text.end(), ':'));
  std::vector<int64_t> varlen(2 * pairs);
  rapt_problem problem = RAPT_INIT(rapt_problem);
  if (rapt_problem_parse(text.c_str(), &problem, varlen.data(), pairs) != RAPT_OK) {
    if (*rapt_last_error() == '\0') std::abort();
    return "";
  }
  size_t length = 0;
  if (rapt_problem_print(&problem, nullptr, 0, &length) != RAPT_OK) std::abort();
  std::string printed(length + 1, '\0');
  if (rapt_problem_print(&problem, printed.data(), printed.size(), &length) != RAPT_OK) std::abort();
  printed.resize(length);
  return printed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') != std::string::npos) return 0;  // the C string would end there
  const std::string printed = canonical(text);
  if (!printed.empty() && canonical(printed) != printed) std::abort();
  return 0;
}
