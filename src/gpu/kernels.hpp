// The kernels of one device: its archive and tuning table, the passes chosen so far, and the code loaded so far.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "gpu/choose.hpp"

namespace rapt::gpu {

class Kernels {
 public:
  explicit Kernels(const Device& device);
  // The kernels of a device that its driver lists. Throws Error if there is no archive for its architecture.
  static Kernels& of(rapt_device device);

  const Archive archive;
  const Tuning tuning;
  const Shelf shelf;

  // What choose() answers. It is remembered, because choosing takes longer than a launch.
  std::shared_ptr<const Choice> choice(const Needs& needs);

  // The code of a kernel, loaded on first use. Throws Error if it must be loaded and `stream` is being captured, which
  // must neither load nor allocate.
  Function function(const Variant& kernel, Stream stream);

 private:
  struct Loaded {
    std::atomic<Function> function{nullptr};
    std::vector<std::byte> code;  // the driver may still read it after loading
  };

  std::shared_mutex choosing_;
  std::unordered_map<Needs, std::shared_ptr<const Choice>, NeedsHash> choices_;
  std::mutex loading_;
  std::vector<Loaded> loaded_;  // in the shelf's order
};

}  // namespace rapt::gpu
