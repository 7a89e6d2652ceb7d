// Reads <arch>.rapt, the kernels compiled for one GPU architecture; docs/design/archive.md has the format. Nothing in a
// file is trusted: any damage is an Error that names the file and what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operations.hpp"
#include "problem/problem.hpp"

namespace rapt::gpu {

// The facts that only a kernel compiled by Triton has; all 0 for other kernels.
struct TritonKernel {
  int32_t given_shared_memory = 0;  // bytes that a launch gives a workgroup
  int32_t alignment = 0;            // bytes, of tensors and their rows
  int64_t row_stride_below = 0;     // elements
};

// One compiled kernel: what it computes, how it is launched, what resources it uses, and where its code is.
struct Variant {
  std::string name;                  // "forward.d128.bf16.plain.k64w8"
  std::string operation;             // "forward", "forward_wide"
  const Operation* known = nullptr;  // the operation's row in kernels/operations.hpp; null: it is of another version
  std::string symbol;                // the kernel's name in its code object
  std::string features;              // "plain", "scores" or "general"
  std::string p;                     // how P is rounded: "nearest", "truncated", "exact"
  DType dtype = DType::fp16;
  int32_t head_dim = 0;                  // the tile: the largest head_dim and head_dim_v
  int32_t block_q = 0, block_k = 0;      // queries per workgroup, keys per step
  int32_t waves = 0, threads = 0;        // per workgroup
  int32_t registers = 0;                 // per thread
  int32_t shared_memory = 0;             // bytes per workgroup
  int32_t spills = 0;                    // spilled registers; the packer refuses kernels with any
  int32_t argument_size = 0;             // bytes
  bool waits = false;                    // itself for the stream's last kernel: a launch may start before that ends
  TritonKernel triton = {};              // if Triton made it
  rapt_amd_kernel amd = {};              // if the archive's vendor is "amd"
  rapt_nvidia_kernel nvidia = {};        // if it is "nvidia"
  uint64_t offset = 0, stored_size = 0;  // of the zstd frame that has the code object, in the file
  uint64_t frame_size = 0;               // bytes that the frame holds
  uint64_t start = 0, size = 0;          // the code object's place in them
  uint32_t crc32 = 0;                    // of the code object

  bool by_triton() const { return triton.alignment > 0; }
  Family family() const { return by_triton() && known->family != Family::any ? Family::triton : known->family; }
  bool computes(Stage stage) const { return known != nullptr && known->stage == stage; }
};

// Copies share the mapped file. All functions may be called from many threads at once.
class Archive {
 public:
  // gpu: the name of a sibling of the archive's architecture, whose occupancies the kernels then have.
  static Archive open(const std::string& path, const std::string& gpu = "");
  // Bytes that outlive the archive, with the name that errors use.
  static Archive view(const std::string& name, std::span<const std::byte> bytes);

  const std::string& path() const;
  const std::string& vendor() const;    // "amd", "nvidia"
  const std::string& arch() const;      // "gfx942"
  const std::string& compiler() const;  // the compiler's own version text
  const std::string& tuning() const;    // the text of tuning/<arch>; "" if there is none
  std::span<const Variant> variants() const;

  // The code object of one of variants(), decompressed and checked.
  std::vector<std::byte> code(const Variant& variant) const;

 private:
  struct Content;
  explicit Archive(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
};

// The archive of a GPU's architecture, in `place`: a file, or a folder that has <arch>.rapt. Siblings share one
// (kernels/siblings.hpp). If `place` is "", the first one
// in RAPT_KERNEL_PATH (folders or files, separated by ':'), or else next to the library. Throws Error with where it
// looked, and which architectures' archives are there.
std::string find_archive(const std::string& gpu, const std::string& place = "");

// Every <arch>.rapt in RAPT_KERNEL_PATH and next to the library; only the first of each architecture.
std::vector<std::string> find_archives();

}  // namespace rapt::gpu
