#include "packer/pack.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "kernels/archive_format.hpp"
#include "kernels/operations.hpp"
#include "packer/gate.hpp"

namespace rapt::archive {

namespace {

using nlohmann::ordered_json;

constexpr int kLevel = 19;  // a few milliseconds per kernel

std::string compress(const std::string& name, std::span<const std::byte> code) {
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
    if (row.name() == name && row.is_for(arch)) return row;
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
  if (row.by_triton())
    json["triton"] = {{"given_shared_memory", r.shared_memory},
                      {"exact_head_dim", true},
                      {"alignment", kTritonAlignment},
                      {"row_stride_below", kTritonRowStride}};
  return json;
}

}  // namespace

std::string pack(const std::string& manifest, const std::vector<Row>& rows, Contents contents) {
  const Architecture* arch = find_architecture(contents.arch);
  if (arch == nullptr) throw Error("the architecture \"" + contents.arch + "\" is unknown");
  std::ranges::sort(contents.objects, {}, &Object::name);

  std::string file(sizeof(Header), '\0'), errors;
  bool by_triton = false;
  ordered_json kernels = ordered_json::array();
  for (const Object& object : contents.objects) {
    const Row& row = row_of(manifest, rows, object.name, contents.arch);
    const std::string where = manifest + ":" + std::to_string(row.line) + ": " + object.name + " on " + contents.arch;
    const std::unique_ptr<Compiled> kernel = read_compiled(where, *arch, row, object);
    for (const std::string& violation : violations(row, *arch, *kernel))
      errors.append(errors.empty() ? "" : "\n").append(where).append(": ").append(violation);
    if (!errors.empty()) continue;

    by_triton |= row.by_triton();
    file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
    const std::string frame = compress(where, object.code);
    ordered_json json = entry(row, *arch, *kernel);
    json["offset"] = file.size();
    json["stored_size"] = frame.size();
    json["size"] = object.code.size();
    json["crc32"] = crc32(object.code.data(), object.code.size());
    kernels.push_back(std::move(json));
    file += frame;
  }
  if (!errors.empty()) throw Error(errors);

  const ordered_json json = {{"vendor", arch->vendor},
                             {"arch", contents.arch},
                             {"compiler", contents.compiler},
                             {"tuning", contents.tuning},
                             {"kernels", std::move(kernels)}};
  const std::string index = json.dump() + "\n";
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  header.version = by_triton ? kVersion : kVersionWithoutTriton;
  header.index_crc32 = crc32(index.data(), index.size());
  header.index_offset = file.size();
  header.index_size = index.size();
  std::memcpy(file.data(), &header, sizeof header);
  return file + index;
}

}  // namespace rapt::archive
