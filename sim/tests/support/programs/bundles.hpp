// Offload bundles, written from the format's description and by Clang.
#pragma once

#include "sim/tests/support/programs/assemble.hpp"

#include <cstddef>

namespace rapt::sim::test {

struct BundleEntry {
  std::string id;
  std::vector<std::byte> bytes;
};

std::vector<std::byte> write_bundle(const std::vector<BundleEntry>& entries);
// "CCOB" in version 1, 2 or 3.
std::vector<std::byte> compress_bundle(const std::vector<std::byte>& bundle, int version, bool zstd);

// HIP source (after hip_prelude) by clang-22: for one target, which may be generic, and for several in a bundle.
std::vector<std::byte> compile_for(const std::string& target, const std::string& source, const std::string& flags);
std::vector<std::byte> compile_bundle(const std::vector<std::string>& targets, const std::string& source,
                                      const std::string& flags);

// A command prefix that lets the shell find clang-offload-bundler, which clang starts by name.
std::string with_bundler();
std::vector<std::byte> read_file(const std::string& path);

}  // namespace rapt::sim::test
