#include "cli/core/placement.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/core/machine.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

rapt_device parse_device(const std::string& name) {
  if (name == "cpu") return kHost;
  const char* const end = name.data() + name.size();
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) {
    const std::string prefix = gpu_backend({type, 0}) + ":";
    if (!name.starts_with(prefix)) continue;
    int32_t id = -1;
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, id);
    if (error == std::errc() && stop == end && id >= 0) return {type, id};
  }
  throw InputError(fmt::format("--device is '{}', must be cpu, hip:NUMBER or cuda:NUMBER, e.g. hip:0", name));
}

std::string gpu_backend(rapt_device device) { return device.type == RAPT_ROCM ? "hip" : "cuda"; }

std::string device_name(rapt_device device) {
  return on_gpu(device) ? fmt::format("{}:{}", gpu_backend(device), device.id) : "cpu";
}

std::string device_text(rapt_device device) {
  if (!on_gpu(device)) return fmt::format("cpu: {} ({})", machine().cpu, machine().architecture);
  const rapt_device_info info = describe(device);
  const std::string model = *info.time_model ? fmt::format(", {}", info.time_model) : "";
  return fmt::format("{}: {} ({}, {} compute units), {}{}", device_name(device), info.name, info.arch,
                     info.compute_units, info.runtime, model);
}

std::vector<rapt_device> gpus() {
  std::vector<rapt_device> found;
  for (const rapt_device_type type : {RAPT_ROCM, RAPT_CUDA}) {
    int32_t count = 0;
    if (rapt_device_count(type, &count) != RAPT_OK) continue;
    for (int32_t id = 0; id < count; ++id) found.push_back({type, id});
  }
  return found;
}

Tensor Placement::place(const Array& array, const void* from) {
  DeviceMemory& memory = memory_.emplace_back(device_, static_cast<size_t>(array.bytes()));
  if (array.bytes() > 0 && from != nullptr) memory.copy_from_host(from);
  return array.tensor_in(memory.data(), device_);
}

Tensor Placement::in(const Array& array) { return on_gpu(device_) ? place(array, array.data()) : array.tensor(); }

std::optional<Tensor> Placement::in_if_present(const Array& array) {
  return array ? std::optional(in(array)) : std::nullopt;
}

Tensor Placement::out(Array& array) {
  if (!on_gpu(device_)) return array.tensor();
  const std::vector<unsigned char> nothing(static_cast<size_t>(array.bytes()), 0xff);
  const Tensor tensor = place(array, nothing.data());
  outputs_.emplace_back(&array, &memory_.back());
  return tensor;
}

Tensor Placement::unwritten(Array& array) { return on_gpu(device_) ? place(array, nullptr) : array.tensor(); }

void Placement::fetch() {
  synchronize(device_);
  for (const auto& [array, memory] : outputs_)
    if (array->bytes() > 0) memory->copy_to_host(array->data());
}

}  // namespace rapt::cli
