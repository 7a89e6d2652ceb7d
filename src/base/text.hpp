// Sentences for errors and explanations, built without a formatting library (Rapt links only the C++ run-time).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rapt/rapt.h"

namespace rapt {

std::string number_text(double value);  // shortest text that reads back to the same value

inline void append(std::string& out, std::string_view piece) { out += piece; }
inline void append(std::string& out, const char* piece) { out += piece; }
inline void append(std::string& out, double value) { out += number_text(value); }
inline void append(std::string& out, int32_t value) { out += std::to_string(value); }
inline void append(std::string& out, int64_t value) { out += std::to_string(value); }
inline void append(std::string& out, uint64_t value) { out += std::to_string(value); }

template <class... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string out;
  (append(out, pieces), ...);
  return out;
}

std::string_view device_type_name(int32_t type);  // "cpu", "cuda" or "hip"; "" for others
std::string device_text(rapt_device device);      // "cpu", "hip:0"

}  // namespace rapt
