// The kernels of one device: its archive, tuning and cached plans, and the code objects loaded so far.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "gpu/device.hpp"
#include "gpu/select.hpp"

namespace rapt::gpu {

class Modules {
 public:
  // For a device that its driver lists. Throws Error if there is no archive for its architecture.
  static Modules& of(rapt_device device);

  Driver& driver() const { return *device_.driver; }
  const Device& device() const { return device_; }
  std::span<const Variant> variants() const { return archive_.variants(); }
  const std::string& archive_path() const { return archive_.path(); }

  // The tuning table's choice, cached by requirements, because matching rows takes longer than a launch.
  std::optional<size_t> select(const KernelRequirements& needed);
  // The stages of a pass. `named` is the variant that was asked for, or "".
  Stages stages(const Problem& problem, rapt_op op, std::string_view named);
  // "tuning/gfx942 line 12 fired: ...", for requirements for which select() finds a variant.
  std::string row_that_fired(const KernelRequirements& needed) const;

  // Loads the variant on first use, unless `stream` is being captured, which must neither load nor allocate.
  Function function(size_t variant, Stream stream);

 private:
  struct Loaded {
    std::atomic<Function> function{nullptr};
    std::vector<std::byte> code;  // the driver may read it later than when it is loaded
  };

  explicit Modules(const Device& device);
  std::optional<Selected> select_anew(const KernelRequirements& needed) const;
  ForwardKernels forward_kernels(const Problem& problem, std::string_view named);
  BackwardKernels backward_kernels(const Problem& problem, std::string_view named);
  bool is_of(std::string_view named, Stage stage) const;
  Function load(size_t variant, Stream stream);

  const Device& device_;
  const Archive archive_;
  Tuning tuning_;
  std::unique_ptr<Loaded[]> loaded_;  // by variant
  std::mutex loading_;
  std::shared_mutex plans_mutex_;
  std::unordered_map<KernelRequirements, std::optional<size_t>, KernelRequirementsHash> plans_;
};

}  // namespace rapt::gpu
