// Where a command's tensors are: on the host as they are made, or copied to a GPU.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "cli/inputs/array.hpp"

namespace rapt::cli {

rapt_device parse_device(const std::string& name);  // "cpu", "hip:0", "cuda:0"; throws InputError
std::string device_name(rapt_device device);        // the same text
std::string gpu_backend(rapt_device device);        // a GPU's: "hip", "cuda"
inline bool on_gpu(rapt_device device) { return device.type != RAPT_CPU; }

// "hip:0: AMD Instinct MI300X (gfx942, 304 compute units), ROCm, HIP 7.1.25424"; says so if it is the simulator.
std::string device_text(rapt_device device);

// The GPUs that HIP and CUDA list. A library that cannot be opened lists none.
std::vector<rapt_device> gpus();

// The device's copies of arrays, which must outlive it.
class Placement {
 public:
  explicit Placement(rapt_device device) : device_(device) {}
  rapt_device device() const { return device_; }

  Tensor in(const Array& array);
  std::optional<Tensor> in_if_present(const Array& array);
  Tensor out(Array& array);        // on a GPU all bits are set first, to show what is not written
  Tensor unwritten(Array& array);  // on a GPU, memory as it comes, for results that nobody fetches
  void fetch();                    // waits for the device and copies its results back

 private:
  Tensor place(const Array& array, const void* from);

  rapt_device device_;
  std::deque<DeviceMemory> memory_;
  std::vector<std::pair<Array*, const DeviceMemory*>> outputs_;
};

}  // namespace rapt::cli
