// An AMD GPU code object: ELF, relocations, metadata, kernel descriptors (LLVM's AMDGPUUsage, "Code Object").
#pragma once

#include "sim/isa/arch.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace rapt::sim {

// The file cannot be loaded; the message says where and why.
struct LoadError : std::runtime_error {
  enum class Kind : std::uint8_t { invalid, wrong_arch };
  LoadError(Kind kind_, const std::string& what) : std::runtime_error(what), kind(kind_) {}
  Kind kind;
};

enum class ArgumentKind : std::uint8_t {
  by_value,
  global_buffer,
  dynamic_shared_pointer,
  hidden_block_count_x,
  hidden_block_count_y,
  hidden_block_count_z,
  hidden_group_size_x,
  hidden_group_size_y,
  hidden_group_size_z,
  hidden_remainder_x,
  hidden_remainder_y,
  hidden_remainder_z,
  hidden_global_offset_x,
  hidden_global_offset_y,
  hidden_global_offset_z,
  hidden_grid_dims,
  hidden_printf_buffer,
  hidden_hostcall_buffer,
  hidden_multigrid_sync_arg,
  hidden_heap_v1,
  hidden_default_queue,
  hidden_completion_action,
  hidden_private_base,
  hidden_shared_base,
  hidden_queue_ptr,
  hidden_dynamic_lds_size,
  hidden_none,
};

struct Argument {
  ArgumentKind kind;
  std::uint32_t offset, size;
};
inline bool is_explicit(const Argument& argument) { return argument.kind <= ArgumentKind::dynamic_shared_pointer; }

// The 64 bytes of the kernel descriptor (AMDGPUUsage, "Kernel Descriptor").
struct KernelDescriptor {
  std::uint32_t group_segment_fixed_size, private_segment_fixed_size, kernarg_size;
  std::uint8_t reserved0[4];
  std::int64_t kernel_code_entry_byte_offset;
  std::uint8_t reserved1[20];
  std::uint32_t compute_pgm_rsrc3, compute_pgm_rsrc1, compute_pgm_rsrc2;
  std::uint16_t kernel_code_properties, kernarg_preload;
  std::uint8_t reserved3[4];
};
static_assert(sizeof(KernelDescriptor) == 64);

struct Kernel {
  std::string name;
  KernelDescriptor descriptor;
  std::uint64_t entry = 0;  // address of the first instruction
  unsigned lanes = 64;
  std::uint32_t vgpr_count = 0, agpr_count = 0, sgpr_count = 0;  // as metadata says
  std::uint32_t max_flat_workgroup_size = 1024;
  std::uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
  std::uint32_t required_workgroup_size[3] = {0, 0, 0};  // 0: any
  bool uses_dynamic_stack = false;
  bool uniform_workgroups = false;  // compiled for grids of whole workgroups
  std::vector<Argument> arguments;
};

struct Symbol {
  std::string name;
  std::uint64_t address, size;
};

class Image;  // loader/image.hpp

// A code object in memory: its segments are loaded and relocated, and Kernel::entry points to its code.
class CodeObject {
 public:
  // bytes: one ELF for `arch` (LoadError if it is for another, or broken). Copied; external symbols are not
  // resolved.
  static std::unique_ptr<CodeObject> load(std::span<const std::byte> bytes, Arch arch, int device);
  ~CodeObject();

  Arch arch() const { return arch_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::vector<Symbol>& variables() const { return variables_; }  // __device__ and __constant__ globals
  std::span<const std::byte> text() const { return text_; }            // executable segment, as loaded
  std::span<const std::byte> file() const { return file_; }            // the ELF itself, for debug information

  // The decoded text for waves of 32 and of 64 lanes; the machine keeps it here while the code is loaded.
  mutable std::array<std::shared_ptr<const void>, 2> decoded;
  mutable std::mutex decoding;

 private:
  CodeObject();
  Arch arch_{};
  std::vector<Kernel> kernels_;
  std::vector<Symbol> variables_;
  std::span<const std::byte> text_;
  std::vector<std::byte> file_;
  std::unique_ptr<Image> image_;
};

// The ELF for `arch` inside `bytes`, which is an ELF, an offload bundle, or a compressed bundle. Decompressed bytes are
// put into `storage`. LoadError lists what is there if none fits.
std::span<const std::byte> select_code_object(std::span<const std::byte> bytes, Arch arch,
                                              std::vector<std::byte>& storage);
// The size of the bundle or ELF that begins at `image`, for hipModuleLoadData, which gets no length.
std::size_t image_size(const void* image);

}  // namespace rapt::sim
