#include "sim/tests/support/programs/bundles.hpp"

#include "sim/tests/support/programs/kernels.hpp"

#include <zlib.h>
#include <zstd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>

namespace rapt::sim::test {

namespace {

void append_bytes(std::vector<std::byte>& bytes, const void* from, std::size_t size) {
  bytes.resize(bytes.size() + size);
  if (size != 0) std::memcpy(bytes.data() + bytes.size() - size, from, size);
}

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  append_bytes(bytes, &value, sizeof(value));
}

void append_text(std::vector<std::byte>& bytes, const std::string& text) {
  append_bytes(bytes, text.data(), text.size());
}

std::string new_stem() {
  static std::atomic<unsigned> count{0};
  return temporary_folder() + "/b" + std::to_string(count++);
}

}  // namespace

std::vector<std::byte> write_bundle(const std::vector<BundleEntry>& entries) {
  constexpr std::size_t alignment = 4096;
  std::size_t header = 32;
  for (const auto& entry : entries) header += 24 + entry.id.size();
  std::vector<std::byte> bytes, content;
  append_text(bytes, "__CLANG_OFFLOAD_BUNDLE__");
  append(bytes, std::uint64_t{entries.size()});
  const std::size_t begin = (header + alignment - 1) / alignment * alignment;
  for (const auto& entry : entries) {
    content.resize((content.size() + alignment - 1) / alignment * alignment);
    append(bytes, std::uint64_t{begin + content.size()});
    append(bytes, std::uint64_t{entry.bytes.size()});
    append(bytes, std::uint64_t{entry.id.size()});
    append_text(bytes, entry.id);
    append_bytes(content, entry.bytes.data(), entry.bytes.size());
  }
  bytes.resize(begin);
  append_bytes(bytes, content.data(), content.size());
  return bytes;
}

std::vector<std::byte> compress_bundle(const std::vector<std::byte>& bundle, int version, bool zstd) {
  std::vector<std::byte> data;
  if (zstd) {
    data.resize(ZSTD_compressBound(bundle.size()));
    data.resize(ZSTD_compress(data.data(), data.size(), bundle.data(), bundle.size(), 3));
  } else {
    uLongf size = compressBound(bundle.size());
    data.resize(size);
    ::compress(reinterpret_cast<Bytef*>(data.data()), &size, reinterpret_cast<const Bytef*>(bundle.data()),
               bundle.size());
    data.resize(size);
  }
  std::vector<std::byte> bytes;
  append_text(bytes, "CCOB");
  append(bytes, static_cast<std::uint16_t>(version));
  append(bytes, static_cast<std::uint16_t>(zstd ? 1 : 0));
  if (version == 2) append(bytes, static_cast<std::uint32_t>(24 + data.size()));
  if (version == 3) append(bytes, std::uint64_t{32 + data.size()});
  if (version == 3) append(bytes, std::uint64_t{bundle.size()});
  else append(bytes, static_cast<std::uint32_t>(bundle.size()));
  append(bytes, std::uint64_t{0x0123456789abcdef});  // the hash
  append_bytes(bytes, data.data(), data.size());
  return bytes;
}

std::string with_bundler() { return "PATH=$PATH:/usr/lib/llvm-22/bin:/usr/lib/llvm-19/bin "; }

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

std::vector<std::byte> compile_for(const std::string& target, const std::string& source, const std::string& flags) {
  const std::string stem = new_stem();
  std::ofstream(stem + ".hip") << hip_prelude << source << '\n';
  shell("clang-22 -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++20 --offload-arch=" +
        target + " " + flags + " -c " + stem + ".hip -o " + stem + ".co");
  return read_file(stem + ".co");
}

std::vector<std::byte> compile_bundle(const std::vector<std::string>& targets, const std::string& source,
                                      const std::string& flags) {
  const std::string stem = new_stem();
  std::ofstream(stem + ".hip") << hip_prelude << source << '\n';
  std::string archs;
  for (const auto& target : targets) archs += " --offload-arch=" + target;
  shell(with_bundler() +
        "clang-22 -x hip --offload-device-only --gpu-bundle-output -nogpulib -nogpuinc -std=c++20 -O1" + archs + " " +
        flags + " -c " + stem + ".hip -o " + stem + ".hipfb");
  return read_file(stem + ".hipfb");
}

}  // namespace rapt::sim::test
