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

std::string good_archive();  // of these rows

}  // namespace rapt::archive
