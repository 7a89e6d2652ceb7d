#include "base/text.hpp"

#include <charconv>

namespace rapt {

std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string_view device_type_name(int32_t type) {
  return type == RAPT_CPU ? "cpu" : type == RAPT_CUDA ? "cuda" : type == RAPT_ROCM ? "hip" : "";
}

std::string device_text(rapt_device device) {
  const std::string_view type = device_type_name(device.type);
  if (type.empty()) return cat("device type ", device.type);
  return device.type == RAPT_CPU ? std::string(type) : cat(type, ":", device.id);
}

}  // namespace rapt
