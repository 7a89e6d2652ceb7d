// Code objects and archives made up without a compiler.
#pragma once

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

  Cubin();
};

// An ELF file as nvcc writes it, and `size` more bytes that do not compress.
std::vector<std::byte> code_object(const Cubin& cubin, size_t size = 1000);

std::vector<Row> good_nvidia_rows();  // of sm_90

std::string good_nvidia_archive();  // of these rows

}  // namespace rapt::archive
