// Code objects and archives made up without a compiler.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "packer/manifest.hpp"

namespace rapt::archive {

// The metadata of a kernel that passes the gate for `row` on gfx942, to be spoiled.
nlohmann::json good_metadata(const Row& row);

// An ELF file that has the metadata, and `size` more bytes that do not compress.
std::vector<std::byte> code_object(const nlohmann::json& metadata, size_t size = 1000);

std::vector<Row> good_rows();  // two rows of gfx942

std::string good_archive();                              // of these rows
std::string good_archive(const std::vector<Row>& rows);  // of other rows of gfx942 that pass the gate

// A cubin's facts about its kernel. With these values it passes the gate for good_nvidia_rows()[0] on sm_90.
struct Cubin {
  std::string kernel = "forward_d64_bf16_plain_k64w4q2";
  int processor = 90, registers = 120, stack = 0, static_shared = 0, argument_size, threads = 128;
  std::vector<std::array<uint64_t, 2>> code;  // its instructions, before the bytes that do not compress

  Cubin();
};

// An ELF file as nvcc writes it, and `size` more bytes that do not compress.
std::vector<std::byte> code_object(const Cubin& cubin, size_t size = 1000);

std::vector<Row> good_nvidia_rows();  // of sm_90

std::string good_nvidia_archive();  // of these rows

// A made-up kernel of kernels/hopper with these instructions, and what the compiler said of it.
// By default forward_hopper.d128.bf16.plain.k128w12.
inline constexpr const char* kHopperTile = "head_dim=128 block_k=128 waves=12 waves_per_eu=3";
std::vector<Row> hopper_rows(const std::string& features = "plain", const std::string& tile = kHopperTile);
std::string hopper_archive(const std::vector<std::array<uint64_t, 2>>& code, const std::string& said = "",
                           const std::string& features = "plain", const std::string& tile = kHopperTile);

std::string hopper_split_archive();     // split.d64.bf16.plain.k16w4 and split_combine
std::string hopper_backward_archive();  // the three kernels of a pass, of head_dim 128 and bf16

// Instructions as `cuobjdump -sass` prints them.
namespace instruction {
inline constexpr std::array<uint64_t, 2> product = {0x01e00000045879f0, 0x000fe2000c7018ff},
                                         exponential = {0x0000009800987308, 0x000e220000000800},
                                         to_uniform = {0x000000000b0772ca, 0x000fe400000e0000},
                                         reciprocal = {0x0000000000007308, 0x000e220000001000},
                                         wait_for_one = {0x00008000000079c5, 0x000fc40000010100},
                                         wait_for_all = {0x00008000000079c5, 0x000fe40000010000};
}  // namespace instruction

}  // namespace rapt::archive
