#include "sim/device/launch_setup.hpp"

#include "sim/machine/scalar/operands.hpp"
#include "sim/memory/memory.hpp"

#include <algorithm>
#include <new>

namespace rapt::sim {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 bits(u32 word, unsigned first, unsigned count) { return word >> first & ((1U << count) - 1); }

// COMPUTE_PGM_RSRC1 counts registers in granules, which depend on the architecture.
u32 vector_registers(const Kernel& kernel, Arch arch) {
  const u32 granules = bits(kernel.descriptor.compute_pgm_rsrc1, 0, 6) + 1;
  const bool small = contains(before_gfx90a, arch) || (is_rdna(arch) && kernel.lanes == 64);
  return granules * (small ? 4 : 8);
}

// gfx90a and later split one file at ACCUM_OFFSET; gfx908 has two files of the same size; gfx906 and RDNA have no
// AGPRs.
u32 accumulation_start(const Kernel& kernel) { return (bits(kernel.descriptor.compute_pgm_rsrc3, 0, 6) + 1) * 4; }

u32 arch_vgprs(const Kernel& kernel, Arch arch) {
  const u32 all = vector_registers(kernel, arch);
  if (!is_cdna(arch) || contains(before_gfx90a, arch)) return std::min(all, 256U);
  return std::min(all, accumulation_start(kernel));
}

u32 accumulation_vgprs(const Kernel& kernel, Arch arch) {
  const u32 all = vector_registers(kernel, arch);
  if (!is_cdna(arch) || arch == Arch::gfx906) return 0;
  if (arch == Arch::gfx908) return std::min(all, 256U);
  const u32 start = accumulation_start(kernel);
  return all > start ? std::min(all - start, 256U) : 0;
}

// The dynamic part of a stack whose size the compiler does not know; ROCm's default is 1 KiB per lane.
constexpr u32 dynamic_stack = 16384;

template <typename T>
void put(unsigned char* to, std::size_t offset, T value) {
  std::memcpy(to + offset, &value, sizeof value);
}

bool architected_scratch(Arch arch) { return !contains(before_gfx90a, arch) && arch != Arch::gfx90a; }
bool packed_work_items(Arch arch) { return !contains(before_gfx90a, arch); }

}  // namespace

LaunchMemory::LaunchMemory(std::size_t bytes, int device)
    : data_(static_cast<unsigned char*>(
          Memory::process().allocate(std::max<std::size_t>(bytes, 64), 256, MemoryKind::device, device))) {
  if (!data_) throw std::bad_alloc();
}
LaunchMemory::~LaunchMemory() { Memory::process().release(data_); }

LaunchSetup::LaunchSetup(const Launch& launch, int device)
    : launch_(launch),
      arch_(launch.object->arch()),
      group_threads_(launch.group_size[0] * launch.group_size[1] * launch.group_size[2]),
      waves_per_group_((group_threads_ + launch.kernel->lanes - 1) / launch.kernel->lanes),
      lds_bytes_(launch.kernel->descriptor.group_segment_fixed_size + launch.dynamic_lds),
      scratch_per_lane_((launch.kernel->descriptor.private_segment_fixed_size +
                         (launch.kernel->uses_dynamic_stack ? dynamic_stack : 0) + 15) /
                        16 * 16),
      vgprs_(arch_vgprs(*launch.kernel, arch_)),
      agprs_(accumulation_vgprs(*launch.kernel, arch_)),
      // Scalar loads read whole 64-byte lines, so the segment ends with one.
      arguments_((launch.kernel->descriptor.kernarg_size + 63 + 256) / 64 * 64, device),
      packet_(64, device),
      queue_(256, device) {
  fill_arguments();
  fill_packet();
}

void LaunchSetup::fill_arguments() {
  const std::size_t bytes = launch_.kernel->descriptor.kernarg_size;
  const std::size_t given = std::min(bytes, launch_.arguments.size());
  std::memset(arguments_.data(), 0, bytes);
  if (given != 0) std::memcpy(arguments_.data(), launch_.arguments.data(), given);
  for (const Argument& argument : launch_.kernel->arguments) {
    const auto hidden = [&](auto value) {
      if (argument.offset + sizeof value <= bytes) put(arguments_.data(), argument.offset, value);
    };
    const auto axis = [&](ArgumentKind first) {
      return static_cast<unsigned>(argument.kind) - static_cast<unsigned>(first);
    };
    switch (argument.kind) {
      case ArgumentKind::hidden_block_count_x:
      case ArgumentKind::hidden_block_count_y:
      case ArgumentKind::hidden_block_count_z: {
        const unsigned d = axis(ArgumentKind::hidden_block_count_x);
        hidden(launch_.groups[d] - (launch_.last_group_size[d] ? 1U : 0U));  // whole groups only
        break;
      }
      case ArgumentKind::hidden_group_size_x:
      case ArgumentKind::hidden_group_size_y:
      case ArgumentKind::hidden_group_size_z:
        hidden(static_cast<u16>(launch_.group_size[axis(ArgumentKind::hidden_group_size_x)]));
        break;
      case ArgumentKind::hidden_remainder_x:
      case ArgumentKind::hidden_remainder_y:
      case ArgumentKind::hidden_remainder_z:
        hidden(static_cast<u16>(launch_.last_group_size[axis(ArgumentKind::hidden_remainder_x)]));
        break;
      case ArgumentKind::hidden_grid_dims:
        hidden(static_cast<u16>(launch_.groups[2] * launch_.group_size[2] > 1   ? 3
                                : launch_.groups[1] * launch_.group_size[1] > 1 ? 2
                                                                                : 1));
        break;
      case ArgumentKind::hidden_private_base: hidden(static_cast<u32>(private_aperture >> 32)); break;
      case ArgumentKind::hidden_shared_base: hidden(static_cast<u32>(shared_aperture >> 32)); break;
      case ArgumentKind::hidden_queue_ptr: hidden(queue_.address()); break;
      case ArgumentKind::hidden_dynamic_lds_size: hidden(launch_.dynamic_lds); break;
      default: break;  // offsets of 0, and services that the simulator does not offer
    }
  }
  Memory::process().mark_written(arguments_.address(), (bytes + 63) / 64 * 64);
  // Bytes that the launch did not pass read as zero and count as never written. Without metadata, all are arguments.
  if (launch_.kernel->arguments.empty() && given < bytes)
    Memory::process().mark_unwritten(arguments_.address() + given, bytes - given);
  for (const Argument& argument : launch_.kernel->arguments) {
    const std::size_t end = std::size_t{argument.offset} + argument.size;
    if (!is_explicit(argument) || end <= given || end > bytes) continue;
    const std::size_t missing = std::max<std::size_t>(given, argument.offset);
    Memory::process().mark_unwritten(arguments_.address() + missing, end - missing);
  }
}

// hsa_kernel_dispatch_packet_t (HSA specification), and the apertures in amd_queue_t, which older code reads.
void LaunchSetup::fill_packet() {
  unsigned char* p = packet_.data();
  std::memset(p, 0, 64);
  put<u16>(p, 0, 2);  // a kernel dispatch
  put<u16>(p, 2, 3);  // dimensions
  for (unsigned d = 0; d < 3; ++d) {
    put(p, 4 + 2 * d, static_cast<u16>(launch_.group_size[d]));
    const u32 last = launch_.last_group_size[d] ? launch_.last_group_size[d] : launch_.group_size[d];
    put(p, 12 + 4 * d, (launch_.groups[d] - 1) * launch_.group_size[d] + last);
  }
  put(p, 24, scratch_per_lane_);
  put(p, 28, lds_bytes_);
  put(p, 40, arguments_.address());
  std::memset(queue_.data(), 0, 256);
  put(queue_.data(), 0x40, static_cast<u32>(shared_aperture >> 32));
  put(queue_.data(), 0x44, static_cast<u32>(private_aperture >> 32));
  Memory::process().mark_written(packet_.address(), 64);
  Memory::process().mark_written(queue_.address(), 256);
}

void LaunchSetup::start_scalars(Wave& wave, const Workgroup& group, u64 scratch_base, u64 scratch_offset) const {
  const KernelDescriptor& d = launch_.kernel->descriptor;
  unsigned next = 0;
  const auto add64 = [&](unsigned property, u64 value) {
    if (!bits(d.kernel_code_properties, property, 1)) return;
    wave.set_pair(next, value);
    next += 2;
  };
  if (bits(d.kernel_code_properties, 0, 1)) {  // private segment buffer: swizzled by lane, elements of 4 bytes
    wave.set_pair(0, scratch_base | u64{1} << 63);
    wave.sgpr[2] = 0xffffffff;
    wave.sgpr[3] =
        1U << 23 | 3U << 21 | 1U << 19 | 0x27000;  // add lane id, index stride 64, element size 4, 32-bit data
    next = 4;
  }
  add64(1, packet_.address());
  add64(2, queue_.address());
  add64(3, arguments_.address());
  add64(4, 0);
  add64(5, scratch_base);
  if (bits(d.kernel_code_properties, 6, 1)) wave.sgpr[next++] = scratch_per_lane_;
  const unsigned preload = d.kernarg_preload & 0x7f, preload_from = d.kernarg_preload >> 7;
  for (unsigned n = 0; n < preload; ++n) {
    const std::size_t at = std::size_t{4} * (preload_from + n);
    u32 undefined = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
      if (!Memory::process().is_written(arguments_.address() + at + byte, 1)) undefined |= 0xffU << 8 * byte;
    if (undefined != 0) wave.undefined_sgprs.push_back({next, undefined});
    std::memcpy(&wave.sgpr[next++], arguments_.data() + at, 4);
  }

  const u32 rsrc2 = d.compute_pgm_rsrc2;
  next = std::max(next, bits(rsrc2, 1, 5));
  if (contains(gfx12, arch_)) {
    wave.sgpr[sreg::ttmp0 + 9] = group.id[0];
    wave.sgpr[sreg::ttmp0 + 7] = (group.id[1] & 0xffff) | group.id[2] << 16;
    wave.sgpr[sreg::ttmp0 + 8] = wave.index << 25;
  } else {
    for (unsigned axis = 0; axis < 3; ++axis)
      if (bits(rsrc2, 7 + axis, 1)) wave.sgpr[next++] = group.id[axis];
    if (bits(rsrc2, 10, 1)) wave.sgpr[next++] = waves_per_group_;  // work-group information
    if (bits(rsrc2, 0, 1) && !architected_scratch(arch_)) wave.sgpr[next++] = static_cast<u32>(scratch_offset);
  }
  wave.initial_sgprs = static_cast<u16>(next);
  wave.initial_flat_scratch = architected_scratch(arch_);
  if (wave.initial_flat_scratch) wave.set_pair(sreg::flat_scratch, wave.scratch_base);
}

void LaunchSetup::start_work_items(Wave& wave, const Workgroup& group) const {
  const unsigned ids = bits(launch_.kernel->descriptor.compute_pgm_rsrc2, 11, 2);
  std::array<u32, 3> size = launch_.group_size;
  for (unsigned d = 0; d < 3; ++d)
    if (launch_.last_group_size[d] && group.id[d] + 1 == launch_.groups[d]) size[d] = launch_.last_group_size[d];
  const u32 threads = size[0] * size[1] * size[2];
  wave.initial_vgprs = static_cast<u16>(packed_work_items(arch_) ? 1 : std::min(ids, 2U) + 1);
  u64 exec = 0;
  for (unsigned lane = 0; lane < wave.lanes; ++lane) {
    const u32 flat = wave.index * wave.lanes + lane;
    if (flat >= threads) break;
    exec |= u64{1} << lane;
    const std::array<u32, 3> id = {flat % size[0], flat / size[0] % size[1], flat / size[0] / size[1]};
    if (packed_work_items(arch_)) {
      wave.row(0)[lane] = id[0] | id[1] << 10 | id[2] << 20;
    } else {
      for (unsigned d = 0; d <= std::min(ids, 2U); ++d) wave.row(d)[lane] = id[d];
    }
  }
  wave.set_pair(sreg::exec, exec);
}

void LaunchSetup::start(Workgroup& group, u32* registers, u64 scratch_base, u64 first_scratch_offset) const {
  constexpr u32 poison = 0xfff5fff5;  // a NaN in f32, f16 and bf16: unwritten memory must not look like a 0
  const KernelDescriptor& d = launch_.kernel->descriptor;
  group.waves.assign(waves_per_group_, Wave{});
  group.live_waves = waves_per_group_;
  group.barrier = {waves_per_group_, 0, 0};
  group.lds_bytes = lds_bytes_;
  group.kernel = launch_.kernel;
  std::fill_n(registers, registers_per_group(), poison);
  for (std::size_t at = 0; at + 4 <= group.lds.size(); at += 4) std::memcpy(group.lds.data() + at, &poison, 4);

  for (unsigned index = 0; index < waves_per_group_; ++index) {
    Wave& wave = group.waves[index];
    wave.lanes = launch_.kernel->lanes;
    wave.arch = arch_;
    wave.group = &group;
    wave.index = index;
    wave.vgpr = registers + std::size_t{vgpr_rows()} * wave.lanes * index;
    wave.first_agpr = first_agpr();
    wave.vgpr_count = one_file() ? vgprs_ + agprs_ : vgprs_;
    wave.agpr_count = agprs_;
    // Code that preloads arguments begins with 256 bytes for firmware that cannot (AMDGPUUsage, "Preloaded Kernel
    // Arguments").
    wave.pc = launch_.kernel->entry + ((d.kernarg_preload & 0x7f) ? 256 : 0);
    wave.mode = bits(d.compute_pgm_rsrc1, 12, 8);
    if (contains(gfx12, arch_)) {
      wave.mode |= mode::dx10_clamp;
    } else {
      if (bits(d.compute_pgm_rsrc1, 21, 1)) wave.mode |= mode::dx10_clamp;
      if (bits(d.compute_pgm_rsrc1, 23, 1)) wave.mode |= mode::ieee;
    }
    if (bits(d.compute_pgm_rsrc1, 26, 1)) wave.mode |= mode::fp16_ovfl;
    const u64 offset = first_scratch_offset + index * scratch_bytes_per_wave();
    wave.scratch_base = scratch_base + offset;
    wave.scratch_bytes_per_lane = scratch_per_lane_;
    std::fill_n(wave.sgpr, sreg::count, poison);
    wave.sgpr[sreg::null] = 0;
    start_scalars(wave, group, scratch_base, offset);
    start_work_items(wave, group);
  }
}

}  // namespace rapt::sim
