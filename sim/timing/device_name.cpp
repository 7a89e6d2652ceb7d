#include "sim/timing/device_name.hpp"

namespace rapt::sim::timing {

std::optional<DeviceName> parse_device_name(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto arch = parse_arch(text.substr(0, colon));
  if (!arch) return std::nullopt;
  if (colon == text.npos) return DeviceName{*arch, find_chip(*arch)};
  const Chip* const chip = colon + 1 < text.size() ? find_chip(*arch, text.substr(colon + 1)) : nullptr;
  return chip ? std::optional(DeviceName{*arch, chip}) : std::nullopt;
}

std::string device_names() {
  std::string names;
  for (int i = 0; i < device_arch_count; ++i) names += (i == 0 ? "" : ", ") + std::string(name(static_cast<Arch>(i)));
  for (const Chip& chip : chips()) names += ", " + std::string(name(chip.arch)) + ":" + std::string(chip.name);
  return names;
}

}  // namespace rapt::sim::timing
