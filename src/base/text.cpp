#include "base/text.hpp"

#include <charconv>

namespace rapt {

std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string device_text(rapt_device device) {
  const char* type = device.type == RAPT_CPU    ? "cpu"
                     : device.type == RAPT_CUDA ? "cuda"
                     : device.type == RAPT_ROCM ? "hip"
                                                : nullptr;
  if (type == nullptr) return cat("device type ", device.type);
  return device.type == RAPT_CPU ? type : cat(type, ":", device.id);
}

}  // namespace rapt
