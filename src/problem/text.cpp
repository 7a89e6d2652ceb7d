#include "problem/text.hpp"

#include <charconv>

namespace rapt {

std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

}  // namespace rapt
