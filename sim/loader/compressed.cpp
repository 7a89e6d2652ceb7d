// Compressed offload bundles, versions 1 to 3: "CCOB", version, method (0 zlib, 1 zstd), sizes, and a hash, which is
// not checked.
#include "sim/loader/bundle.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <functional>

namespace rapt::sim {

namespace {

constexpr std::uint64_t largest = std::uint64_t{1} << 32;

struct Header {
  unsigned method;
  std::uint64_t size;  // of header and data; 0 if the version does not have it
  std::uint64_t plain_size;
  std::size_t header_size;
};

// The fields of the version; `bytes` must hold the longest header, or the whole file.
Header read_header(const Bytes& bytes) {
  const auto version = bytes.at<std::uint16_t>(4), method = bytes.at<std::uint16_t>(6);
  Header header{method, 0, 0, 0};
  switch (version) {
    case 1: header = {method, 0, bytes.at<std::uint32_t>(8), 20}; break;
    case 2: header = {method, bytes.at<std::uint32_t>(8), bytes.at<std::uint32_t>(12), 24}; break;
    case 3: header = {method, bytes.at<std::uint64_t>(8), bytes.at<std::uint64_t>(16), 32}; break;
    default: broken("compressed bundle of unknown version " + std::to_string(version));
  }
  if (method > 1) broken("compressed bundle with unknown method " + std::to_string(method));
  if (version != 1 && header.size < header.header_size) broken("compressed bundle smaller than its header");
  if (header.plain_size > largest) broken("compressed bundle of " + hex(header.plain_size) + " bytes");
  return header;
}

// Input comes in pieces from `next`, which gets the number of bytes used of the last one; output is what fits in a
// buffer.
using Piece = std::function<std::span<const std::byte>()>;

std::uint64_t inflate_all(const Piece& next, std::uint64_t limit, std::vector<std::byte>* out) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  std::vector<std::byte> buffer(1U << 16);
  std::uint64_t used = 0, produced = 0;
  int status = Z_OK;
  while (status == Z_OK && produced <= limit) {
    if (stream.avail_in == 0) {
      const auto piece = next();
      if (piece.empty()) break;
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(piece.data()));
      stream.avail_in = static_cast<uInt>(piece.size());
    }
    const auto before = stream.avail_in;
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    used += before - stream.avail_in;
    const std::size_t got = buffer.size() - stream.avail_out;
    produced += got;
    if (out != nullptr) out->insert(out->end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) broken("compressed bundle: the zlib data are damaged or cut off");
  return used;
}

std::uint64_t unzstd_all(const Piece& next, std::uint64_t limit, std::vector<std::byte>* out) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (!stream) throw std::bad_alloc();
  std::vector<std::byte> buffer(ZSTD_DStreamOutSize());
  std::uint64_t used = 0, produced = 0;
  std::size_t status = 1;
  ZSTD_inBuffer in{nullptr, 0, 0};
  while (status != 0 && produced <= limit) {
    if (in.pos == in.size) {
      const auto piece = next();
      if (piece.empty()) break;
      in = {piece.data(), piece.size(), 0};
    }
    const auto before = in.pos;
    ZSTD_outBuffer target{buffer.data(), buffer.size(), 0};
    status = ZSTD_decompressStream(stream.get(), &target, &in);
    if (ZSTD_isError(status) != 0) break;
    used += in.pos - before;
    produced += target.pos;
    if (out != nullptr)
      out->insert(out->end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(target.pos));
  }
  if (status != 0) broken("compressed bundle: the zstd data are damaged or cut off");
  return used;
}

std::uint64_t decompress(const Header& header, const Piece& next, std::vector<std::byte>* out) {
  return header.method == 0 ? inflate_all(next, header.plain_size, out) : unzstd_all(next, header.plain_size, out);
}

}  // namespace

bool is_compressed(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "CCOB", 4) == 0;
}

std::vector<std::byte> decompress_bundle(std::span<const std::byte> all) {
  const Bytes bytes(all, "compressed bundle");
  const Header header = read_header(bytes);
  const std::uint64_t end = header.size == 0 ? all.size() : header.size;
  auto rest = bytes.part(header.header_size, end - header.header_size);
  const auto next = [&] {
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), 1U << 20));
    rest = rest.subspan(piece.size());
    return piece;
  };
  std::vector<std::byte> plain;
  decompress(header, next, &plain);
  if (plain.size() != header.plain_size)
    broken("compressed bundle: " + std::to_string(plain.size()) + " bytes instead of " +
           std::to_string(header.plain_size));
  return plain;
}

std::size_t compressed_size(const std::byte* image) {
  const Header header = read_header(Bytes({image, 32}, "compressed bundle"));
  if (header.size != 0) return header.size;
  // Wherever the end is, the bytes up to the start of the next page are readable.
  const std::byte* at = image + header.header_size;
  const auto next = [&]() -> std::span<const std::byte> {
    const std::size_t size = 4096 - reinterpret_cast<std::uintptr_t>(at) % 4096;
    at += size;
    return {at - size, size};
  };
  return header.header_size + decompress(header, next, nullptr);
}

}  // namespace rapt::sim
