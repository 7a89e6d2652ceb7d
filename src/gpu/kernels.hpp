// The kernels of one device: its archive and tuning table, the passes chosen so far, and the code loaded so far.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "gpu/choose.hpp"

namespace rapt::gpu {

// Loads an archive's kernels, each on first use.
class Loader {
 public:
  Loader(const Device& device, const Archive& archive);

  // Throws Error if the kernel is not loaded and `stream` is being captured, which must neither load nor allocate.
  Function function(size_t index, Stream stream);

 private:
  struct Loaded {
    std::atomic<Function> function{nullptr};
    std::vector<std::byte> code;  // the driver may still read it after loading
  };
  Function load(size_t index, Stream stream);

  const Device& device_;
  const Archive& archive_;
  std::unique_ptr<Loaded[]> loaded_;  // by index
  std::mutex loading_;
};

// The passes that the tuning table chose, by what their problems need.
class ChosenPasses {
 public:
  std::shared_ptr<const Pass> find(const Needs& needs) const;
  std::shared_ptr<const Pass> keep(const Needs& needs, const Pass& pass);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Needs, std::shared_ptr<const Pass>, NeedsHash> passes_;
};

struct Kernels {
  const Device& device;
  const Archive archive;
  const Tuning tuning;
  ChosenPasses chosen;
  Loader loader;

  explicit Kernels(const Device& of);
  // The kernels of a device that its driver lists. Throws Error if there is no archive for its architecture.
  static Kernels& of(rapt_device device);

  std::span<const Variant> list() const { return archive.variants(); }
  Shelf shelf() const { return {list(), tuning, device, archive.path()}; }
};

}  // namespace rapt::gpu
