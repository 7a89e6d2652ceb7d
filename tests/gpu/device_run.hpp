// Runs calls on a GPU from the inputs of a test, which are on the host.
#pragma once

#include <algorithm>
#include <deque>
#include <string_view>

#include "rapt/rapt.hpp"
#include "support/run.hpp"

namespace test {

// gfx906's dot products take smaller fp16 elements for zero (docs/amd.md), so its kernels get none.
constexpr double kLeastFp16 = 0x1p-14;
inline bool flushes(std::string_view arch, std::string_view dtype) { return arch == "gfx906" && dtype == "fp16"; }

std::vector<rapt_device> gpus();  // the GPUs of HIP and CUDA

// The device's copies of tensors, and the call's tensors made to point at them.
class Copies {
 public:
  explicit Copies(rapt_device device) : device_(device) {}

  void place(const rapt_tensor* held, const Tensor& from) {
    if (held == nullptr) return;
    const size_t bytes = from.memory().size();
    const rapt::DeviceMemory& memory = memory_.emplace_back(device_, std::max<size_t>(bytes, 1));
    if (bytes > 0) rapt::check(rapt_device_copy(device_, memory.data(), rapt::kHost, from.memory().data(), bytes));
    auto& tensor = const_cast<rapt_tensor&>(*held);
    tensor.data = memory.data();
    tensor.device = device_;
  }

  void place_output(const rapt_tensor* held, Tensor& to) {
    place(held, to);
    outputs_.emplace_back(memory_.back().data(), &to);
  }

  void fetch() const {
    for (const auto& [data, to] : outputs_)
      if (const size_t bytes = to->memory().size())
        rapt::check(rapt_device_copy(rapt::kHost, to->c().data, device_, data, bytes));
  }

 private:
  rapt_device device_;
  std::deque<rapt::DeviceMemory> memory_;
  std::vector<std::pair<const void*, Tensor*>> outputs_;
};

// Every tensor has its own device memory, including gaps and exact to the byte, so that the simulator sees an access
// past the end. Lengths of packed sequences are on the device too. Throws rapt::Error.
Results run_on(rapt_device device, const Inputs& inputs, const std::string& backend, Layout layout);

// The backward pass of a forward pass whose out and lse are `given`, and are among the results. A bias has a gradient,
// if `bias_gradient`.
Results run_backward_on(rapt_device device, const Inputs& inputs, const Results& given, const std::string& backend,
                        Layout layout, bool bias_gradient = true);

}  // namespace test
