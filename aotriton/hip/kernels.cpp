#include "aotriton/hip/kernels.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "aotriton/base/failure.hpp"
#include "kernels/rename_code.hpp"

namespace rapt::aot {

namespace {

struct Image {
  const char* arch;
  std::span<const char> code;
};

// The code objects, one for each architecture of the build.
#define RAPT_AOT_IMAGE(arch, file)                                                                                     \
  asm(".pushsection .rodata\n.balign 4096\nrapt_aot_image_" #arch ":\n.incbin \"" file "\"\nrapt_aot_image_end_" #arch \
      ":\n.popsection");                                                                                               \
  extern "C" const char rapt_aot_image_##arch[] __attribute__((visibility("hidden"))),                                 \
      rapt_aot_image_end_##arch[] __attribute__((visibility("hidden")));
#include "images.inc"
#undef RAPT_AOT_IMAGE

const Image kImages[] = {
#define RAPT_AOT_IMAGE(arch, file) {#arch, {rapt_aot_image_##arch, rapt_aot_image_end_##arch}},
#include "images.inc"
#undef RAPT_AOT_IMAGE
};

struct Kernels {
  void *convert_lse = nullptr, *copy_rows = nullptr, *sum_lengths = nullptr, *write_numbers = nullptr,
       *encode_dropout = nullptr;
  std::vector<char> renamed;  // a sibling's code object, kept because HIP may read it after it is loaded
  std::atomic<bool> loaded = false;
  std::mutex loading;
};

Kernels& kernels_of(const Device& device) {
  static std::array<Kernels, 64> all;
  return all[static_cast<size_t>(device.id)];
}

aotriton::Error load(const Device& device, Kernels& to) {
  for (const Image& image : kImages) {
    if (code_of(device.arch) != image.arch) continue;
    const char* code = image.code.data();
    if (const Sibling* const sibling = find_sibling(device.arch)) {
      to.renamed.assign(image.code.begin(), image.code.end());
      if (!rename_code(std::as_writable_bytes(std::span(to.renamed)), *sibling)) break;
      code = to.renamed.data();
    }
    const CurrentDevice current(device);
    void* module = nullptr;
    const Hip& h = *hip();
    HipResult result = h.hipModuleLoadData(&module, code);
    for (const auto& [function, name] : {std::pair{&to.convert_lse, "convert_lse"},
                                         {&to.copy_rows, "copy_rows"},
                                         {&to.sum_lengths, "sum_lengths"},
                                         {&to.write_numbers, "write_numbers"},
                                         {&to.encode_dropout, "encode_dropout"}})
      if (result == 0) result = h.hipModuleGetFunction(function, module, name);
    if (const auto e = h.check(result, "loading the kernels of libaotriton_v2")) return e;
    to.loaded.store(true, std::memory_order_release);
    return aotriton::kSuccess;
  }
  return fail(aotriton::kNoBinaryForGpu, "libaotriton_v2 was built without kernels for %s", device.arch);
}

template <class Arguments>
aotriton::Error launch_one(const Device& device, HipStream stream, Grid grid, void* function,
                           const Arguments& arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return aotriton::kSuccess;
  if (function == nullptr)
    return fail(aotriton::kNotSupported,
                "the stream is captured, and no earlier call loaded the kernels: make one call before the capture");
  void* parameters[] = {const_cast<Arguments*>(&arguments)};
  const CurrentDevice current(device);
  const HipResult result =
      hip()->hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, 256, 1, 1, 0, stream, parameters, nullptr);
  return hip()->check(result, "launching a kernel of libaotriton_v2");
}

}  // namespace

aotriton::Error load_kernels(const Device& device, HipStream stream) {
  Kernels& k = kernels_of(device);
  if (k.loaded.load(std::memory_order_acquire) || hip()->capturing(stream)) return aotriton::kSuccess;
  const std::lock_guard lock(k.loading);
  return k.loaded.load(std::memory_order_relaxed) ? aotriton::kSuccess : load(device, k);
}

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_convert_lse& arguments) {
  return launch_one(device, stream, grid, kernels_of(device).convert_lse, arguments);
}

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_copy_rows& arguments) {
  return launch_one(device, stream, grid, kernels_of(device).copy_rows, arguments);
}

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_sum_lengths& arguments) {
  return launch_one(device, stream, grid, kernels_of(device).sum_lengths, arguments);
}

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_write_numbers& arguments) {
  return launch_one(device, stream, grid, kernels_of(device).write_numbers, arguments);
}

aotriton::Error launch(const Device& device, HipStream stream, Grid grid, const rapt_aot_encode_dropout& arguments) {
  return launch_one(device, stream, grid, kernels_of(device).encode_dropout, arguments);
}

}  // namespace rapt::aot
