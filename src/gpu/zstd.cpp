#include "gpu/zstd.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

#if RAPT_ZSTD
#include <zstd.h>
#endif

namespace rapt::gpu {

#if RAPT_ZSTD

std::vector<std::byte> decompress(const char* where, std::span<const std::byte> stored, uint64_t size) {
  const auto fail = [&](const std::string& what) { throw Error(RAPT_INVALID_ARGUMENT, cat(where, ": ", what)); };
  const unsigned long long content = ZSTD_getFrameContentSize(stored.data(), stored.size());
  uint32_t magic = 0;  // compared here, because libzstd also takes formats from before the first stable one
  std::memcpy(&magic, stored.data(), std::min(stored.size(), sizeof magic));
  if (magic != ZSTD_MAGICNUMBER || content == ZSTD_CONTENTSIZE_ERROR) fail("not a zstd frame");
  if (content == ZSTD_CONTENTSIZE_UNKNOWN) fail("the zstd frame does not say its size");
  if (content != size) fail(cat("the zstd frame holds ", uint64_t{content}, " bytes, the index says ", size));
  const size_t length = ZSTD_findFrameCompressedSize(stored.data(), stored.size());
  if (ZSTD_isError(length)) fail(cat("the zstd frame is damaged: ", ZSTD_getErrorName(length)));
  if (length != stored.size())
    fail(cat("the zstd frame ends after ", uint64_t{length}, " of ", uint64_t{stored.size()}, " bytes"));
  constexpr auto kChecksumFlag = std::byte{4};  // in the frame header's descriptor, which follows 4 bytes of magic
  if ((stored[4] & kChecksumFlag) == std::byte{0}) fail("the zstd frame has no content checksum");
  std::vector<std::byte> out(size);
  const size_t written = ZSTD_decompress(out.data(), out.size(), stored.data(), stored.size());
  if (ZSTD_isError(written)) fail(cat("the zstd frame is damaged: ", ZSTD_getErrorName(written)));
  if (written != size) fail(cat("the zstd frame gave ", uint64_t{written}, " bytes, not ", size));
  return out;
}

#else

std::vector<std::byte> decompress(const char* where, std::span<const std::byte>, uint64_t) {
  throw Error(RAPT_UNSUPPORTED,
              cat(where, ": this build of Rapt has no zstd (RAPT_ZSTD=OFF) and cannot unpack kernels"));
}

#endif

}  // namespace rapt::gpu
