#include "gpu/archive.hpp"

#include <bit>
#include <cstring>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "base/mapped_file.hpp"
#include "base/text.hpp"
#include "gpu/archive_index.hpp"
#include "gpu/zstd.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

static_assert(std::endian::native == std::endian::little, "an archive's numbers are little endian");

struct Archive::Content {
  std::string path;
  std::optional<MappedFile> file;
  std::span<const std::byte> bytes;
  Index index;

  void read(const std::string& gpu);
};

void Archive::Content::read(const std::string& gpu) {
  const auto fail = [&](const std::string& what, rapt_status status = RAPT_INVALID_ARGUMENT) {
    throw Error(status, cat(path, ": ", what));
  };
  const uint64_t size = bytes.size();
  archive::Header header{};
  if (size < sizeof header) fail(cat("has ", size, " bytes, too few for the header of a kernel archive"));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, archive::kMagic, sizeof header.magic) != 0) fail("not a kernel archive");
  if (header.version < archive::kOldestVersion || header.version > archive::kVersion)
    fail(cat("is a kernel archive of version ", uint64_t{header.version}, ", this Rapt reads versions ",
             uint64_t{archive::kOldestVersion}, " to ", uint64_t{archive::kVersion},
             header.version < archive::kVersion ? ": rebuild it from its sources" : ""),
         RAPT_UNSUPPORTED);
  if (header.index_size > archive::kMaxIndex)
    fail(cat("the header says that the index has ", header.index_size, " bytes, at most ", archive::kMaxIndex,
             " are allowed"));
  if (header.index_offset < sizeof header || header.index_offset > size ||
      header.index_size != size - header.index_offset)
    fail(cat("the header says that the file ends with an index of ", header.index_size, " bytes at ",
             header.index_offset, ", but the file has ", size, " bytes: it is truncated, or something was appended"));
  const std::byte* index_bytes = bytes.data() + header.index_offset;
  if (archive::crc32(index_bytes, header.index_size) != header.index_crc32) fail("the index's CRC32 is wrong");
  const std::string_view text(reinterpret_cast<const char*>(index_bytes), header.index_size);
  index = read_index(path, text, header.version, sizeof header, header.index_offset, gpu);
}

Archive Archive::open(const std::string& path, const std::string& gpu) {
  const auto content = std::make_shared<Content>();
  content->path = path;
  content->file.emplace(path);
  content->bytes = content->file->bytes();
  content->read(gpu);
  return Archive(content);
}

Archive Archive::view(const std::string& name, std::span<const std::byte> bytes) {
  const auto content = std::make_shared<Content>();
  content->path = name;
  content->bytes = bytes;
  content->read("");
  return Archive(content);
}

const std::string& Archive::path() const { return content_->path; }
const std::string& Archive::vendor() const { return content_->index.vendor; }
const std::string& Archive::arch() const { return content_->index.arch; }
const std::string& Archive::compiler() const { return content_->index.compiler; }
const std::string& Archive::tuning() const { return content_->index.tuning; }
std::span<const Variant> Archive::variants() const { return content_->index.variants; }

std::vector<std::byte> Archive::code(const Variant& variant) const {
  const std::span<const Variant> own = variants();
  const Variant* end = own.data() + own.size();
  if (std::less<>()(&variant, own.data()) ||
      !std::less<>()(&variant, end))  // the offset of a copied Variant was never checked
    throw Error(RAPT_INTERNAL_ERROR, cat(path(), ": kernel ", variant.name, " is not this archive's own"));
  const std::string where = cat(path(), ": kernel ", variant.name);
  const auto stored = content_->bytes.subspan(variant.offset, variant.stored_size);
  std::vector<std::byte> code = decompress(where.c_str(), stored, variant.frame_size);
  code.resize(variant.start + variant.size);
  code.erase(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(variant.start));
  if (archive::crc32(code.data(), code.size()) != variant.crc32)
    throw Error(RAPT_INVALID_ARGUMENT, cat(where, ": the code object's CRC32 is wrong"));
  return code;
}

}  // namespace rapt::gpu
