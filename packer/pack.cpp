#include "packer/pack.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "kernels/archive_format.hpp"
#include "kernels/operations.hpp"
#include "packer/checksums.hpp"
#include "packer/gate.hpp"

namespace rapt::archive {

namespace {

using nlohmann::ordered_json;

constexpr int kLevel = 19;  // 1.5 s for an architecture

std::string compress(const std::string& name, std::string_view code) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(code.size()), '\0');
  const size_t size = ZSTD_compress2(context, frame.data(), frame.size(), code.data(), code.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size)) throw Error(name + ": cannot compress: " + ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

const Row& row_of(const std::string& manifest, const std::vector<Row>& rows, const std::string& name,
                  const std::string& arch) {
  for (const Row& row : rows)
    if (row.name() == name && row.arch == arch) return row;
  throw Error(manifest + ": no row for " + name + " on " + arch);
}

std::unique_ptr<Compiled> read_compiled(const std::string& name, const Architecture& arch, const Row& row,
                                        const Object& object) {
  const int given = row.by_triton() ? object.given : row.shared_memory;
  if (arch.vendor == "amd") return read_amd(name, object.code, given);
  if (arch.vendor == "nvidia") return read_nvidia(name, object.code, given);
  throw Error(name + ": the packer cannot read the metadata of " + std::string(arch.vendor) + "'s kernels");
}

int block_q(const Row& row, const Architecture& arch) {
  const Operation* const operation = find_operation(row.operation);
  return operation && operation->block_q > 0 ? operation->block_q : row.queries_per_group(arch);
}

ordered_json entry(const Row& row, const Architecture& arch, const Compiled& kernel) {
  const Resources& r = kernel.resources;
  ordered_json json = {
      {"name", row.name()},
      {"operation", row.operation},
      {"symbol", row.symbol()},
      {"dtype", row.dtype},
      {"head_dim", row.head_dim},
      {"features", row.features},
      {"block_q", block_q(row, arch)},
      {"block_k", row.block_k},
      {"waves", row.waves},
      {"threads", row.waves * static_cast<int>(arch.lanes)},
      {"registers", r.registers},
      {"shared_memory", r.shared_memory},
      {"spills", r.spills},
      {"p", row.p},
      {"argument_size", r.argument_size},
      {arch.vendor, kernel.block(row, arch)},
  };
  const Operation* const operation = find_operation(row.operation);
  if (operation && operation->waits && arch.name == "sm_90") json["waits"] = true;
  if (row.by_triton())
    json["triton"] = {{"given_shared_memory", r.shared_memory},
                      {"exact_head_dim", true},
                      {"alignment", kTritonAlignment},
                      {"row_stride_below", kTritonRowStride}};
  return json;
}

// Adds the code objects of one operation as one zstd frame, because they resemble each other.
void add_frame(std::string& file, std::span<const Object> objects, std::span<ordered_json> entries) {
  std::string content;
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::vector<std::byte>& code = objects[i].code;
    entries[i]["start"] = content.size();
    entries[i]["size"] = code.size();
    entries[i]["crc32"] = crc32(code.data(), code.size());
    content.append(reinterpret_cast<const char*>(code.data()), code.size());
  }
  const std::string frame = compress(entries[0]["operation"], content);
  file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  for (ordered_json& entry : entries) {
    entry["offset"] = file.size();
    entry["stored_size"] = frame.size();
    entry["frame_size"] = content.size();
  }
  file += frame;
}

}  // namespace

Packed pack(const std::string& manifest, const std::vector<Row>& rows, Contents contents) {
  const Architecture* arch = find_architecture(contents.arch);
  if (arch == nullptr) throw Error("the architecture \"" + contents.arch + "\" is unknown");
  std::ranges::sort(contents.objects, {}, &Object::name);

  std::vector<ordered_json> kernels;
  std::string errors;
  for (const Object& object : contents.objects) {
    const Row& row = row_of(manifest, rows, object.name, contents.arch);
    const std::string where = manifest + ":" + std::to_string(row.line) + ": " + object.name + " on " + contents.arch;
    const std::unique_ptr<Compiled> kernel = read_compiled(where, *arch, row, object);
    for (const std::string& violation : violations(row, *arch, *kernel, object.said))
      errors.append(errors.empty() ? "" : "\n").append(where).append(": ").append(violation);
    kernels.push_back(entry(row, *arch, *kernel));
  }
  if (!errors.empty()) throw Error(errors);

  std::string file(sizeof(Header), '\0');
  for (size_t begin = 0, end = 0; begin < kernels.size(); begin = end) {
    while (end < kernels.size() && kernels[end]["operation"] == kernels[begin]["operation"]) ++end;
    add_frame(file, std::span(contents.objects).subspan(begin, end - begin),
              std::span(kernels).subspan(begin, end - begin));
  }
  std::map<std::string, uint32_t> checksums;
  for (const ordered_json& kernel : kernels) checksums[kernel["name"]] = kernel["crc32"];
  Packed packed{"", stale_rows(contents.tuning, checksums)};
  if (!packed.stale.empty() && checksums_are_by(contents.tuning, contents.compiler)) {
    std::string text = "the tuning table of " + contents.arch +
                       " has rows about other kernels: tune again, or carry their"
                       " checksums (tools/compare-archives --carry)";
    for (const std::string& row : packed.stale) text += "\n" + row;
    throw Error(text);
  }
  const ordered_json json = {{"vendor", arch->vendor},
                             {"arch", contents.arch},
                             {"compiler", contents.compiler},
                             {"tuning", contents.tuning},
                             {"kernels", std::move(kernels)}};
  const std::string index = json.dump() + "\n";
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.version = kVersion;
  header.index_crc32 = crc32(index.data(), index.size());
  header.index_offset = file.size();
  header.index_size = index.size();
  std::memcpy(file.data(), &header, sizeof header);
  packed.file = file + index;
  return packed;
}

}  // namespace rapt::archive
