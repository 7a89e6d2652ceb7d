// Any text: the parser refuses it with a message, or printing what it understood gives the same text back.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "rapt/rapt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') != std::string::npos) return 0;  // the C string would end there
  const auto pairs = static_cast<size_t>(std::count(text.begin(), text.end(), ':'));
  std::vector<int64_t> varlen(2 * pairs);
  rapt_problem problem = RAPT_INIT(rapt_problem);
  if (rapt_problem_parse(text.c_str(), &problem, varlen.data(), pairs) != RAPT_OK) {
    if (*rapt_last_error() == '\0') std::abort();
    return 0;
  }
  size_t length = 0;
  if (rapt_problem_print(&problem, nullptr, 0, &length) != RAPT_OK || length != size) std::abort();
  std::string printed(length + 1, '\0');
  if (rapt_problem_print(&problem, printed.data(), printed.size(), &length) != RAPT_OK) std::abort();
  printed.resize(length);
  if (printed != text) std::abort();
  return 0;
}
