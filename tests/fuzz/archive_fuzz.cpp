// Any bytes: the reader throws an Error that names the file, or each kernel is decompressed or refused by such an
// Error.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/archive_format.hpp"
#include "gpu/archive.hpp"
#include "base/error.hpp"

namespace {

void read(const std::string& bytes) {
  using rapt::gpu::Archive;
  const auto checked = [](const auto& body) {
    try {
      body();
    } catch (const rapt::Error& e) {
      if (!std::string(e.what()).starts_with("fuzz.rapt: ")) std::abort();
    }
  };
  checked([&] {
    const Archive archive = Archive::view("fuzz.rapt", std::as_bytes(std::span(bytes)));
    for (const auto& variant : archive.variants()) {
      const auto first = std::ranges::find(archive.variants(), variant.name, &rapt::gpu::Variant::name);
      if (&*first != &variant) std::abort();
      checked([&] {
        if (archive.code(variant).size() != variant.size) std::abort();
      });
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  // Once more with a header that fits the bytes, so that the index is read.
  rapt::archive::Header header;
  if (size < sizeof header) return 0;
  std::memcpy(&header, data, sizeof header);
  std::memcpy(header.magic, rapt::archive::kMagic, sizeof header.magic);
  header.version = rapt::archive::kVersion;
  header.index_offset = sizeof header + header.index_offset % (size - sizeof header + 1);
  header.index_size = size - header.index_offset;
  header.index_crc32 = rapt::archive::crc32(data + header.index_offset, header.index_size);
  std::memcpy(bytes.data(), &header, sizeof header);
  read(bytes);
  return 0;
}
