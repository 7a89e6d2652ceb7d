#include "gpu/archive_index.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

namespace {

using nlohmann::json;

constexpr int64_t kInt32Max = 2147483647;

bool is_name(std::string_view text) {  // for files, symbols and messages: no characters special to terminals or shells
  return !text.empty() && text.size() <= 256 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

bool is_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; });
}

// Reads the members of one JSON object; `where` begins every error.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail("is not an object");
  }
  [[noreturn]] void fail(const std::string& what) const { throw Error(RAPT_INVALID_ARGUMENT, cat(where_, " ", what)); }
  const json& member(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) fail(cat("has no \"", key, "\""));
    return *found;
  }
  const std::string& text(const char* key) const {
    const json& value = member(key);
    if (!value.is_string()) fail(cat("has a \"", key, "\" that is not a string"));
    const std::string& text = value.get_ref<const std::string&>();
    if (!is_text(text)) fail(cat("has a \"", key, "\" that is not printable text"));
    return text;
  }
  const std::string& name(const char* key) const {
    const std::string& value = text(key);
    if (!is_name(value)) fail(cat("has a \"", key, "\" that is not a name of letters, digits, '.', '_' and '-'"));
    return value;
  }
  uint64_t whole(const char* key, uint64_t least, uint64_t most) const {
    const json& value = member(key);
    if (!value.is_number_unsigned()) fail(cat("has a \"", key, "\" that is not a whole number"));
    const auto number = value.get<uint64_t>();
    if (number < least || number > most) fail(cat("has \"", key, "\" ", number, ", must be ", least, " to ", most));
    return number;
  }
  int32_t number(const char* key, int32_t least, int64_t most = kInt32Max) const {
    return static_cast<int32_t>(whole(key, static_cast<uint64_t>(least), static_cast<uint64_t>(most)));
  }
  const std::string& where() const { return where_; }
  bool has(const char* key) const { return object_.contains(key); }
  std::optional<DType> dtype(const char* key) const {
    for (const DType type : {DType::fp16, DType::bf16, DType::fp32})
      if (text(key) == dtype_name(type)) return type;
    return std::nullopt;
  }

 private:
  const json& object_;
  std::string where_;
};

Variant read_variant(const Reader& r, uint32_t version, uint64_t code_begin, uint64_t code_end) {
  Variant v;
  v.name = r.name("name");
  v.operation = r.name("operation");
  v.known = find_operation(v.operation);
  v.symbol = r.name("symbol");
  v.features = r.name("features");
  v.p = r.name("p");
  const auto dtype = r.dtype("dtype");
  if (!dtype) r.fail(cat("has \"dtype\" \"", r.text("dtype"), "\", must be fp16, bf16 or fp32"));
  v.dtype = *dtype;
  v.head_dim = r.number("head_dim", 1, kMaxHeadDim);
  v.block_q = r.number("block_q", 1, 65536);
  v.block_k = r.number("block_k", 1, 65536);
  v.waves = r.number("waves", 1, 32);
  v.threads = r.number("threads", 1, 1024);
  if (v.threads != v.waves * 32 && v.threads != v.waves * 64)
    r.fail(cat("has ", v.threads, " threads in ", v.waves, " waves, must be 32 or 64 per wave"));
  v.registers = r.number("registers", 0, 1024);
  v.shared_memory = r.number("shared_memory", 0, 1 << 20);
  v.spills = r.number("spills", 0, 65536);
  v.argument_size = r.number("argument_size", 0, 65536);
  v.waits = r.has("waits");
  if (v.waits && r.member("waits") != true) r.fail("has \"waits\" that is not true");
  v.size = r.whole("size", 1, archive::kMaxFrameSize);
  v.frame_size = version < 3 ? v.size : r.whole("frame_size", v.size, archive::kMaxFrameSize);
  v.start = version < 3 ? 0 : r.whole("start", 0, v.frame_size - v.size);
  v.crc32 = static_cast<uint32_t>(r.whole("crc32", 0, 0xFFFFFFFF));
  v.offset = r.whole("offset", code_begin, code_end);
  if (v.offset % archive::kAlignment != 0)
    r.fail(cat("has \"offset\" ", v.offset, ", must be a multiple of ", archive::kAlignment));
  v.stored_size = r.whole("stored_size", 1, code_end - v.offset);
  return v;
}

rapt_amd_kernel read_amd(const Reader& r, const std::string& gpu) {
  rapt_amd_kernel amd = {};
  amd.struct_size = sizeof amd;
  amd.agprs = r.number("agprs", 0, 1024);
  amd.sgprs = r.number("sgprs", 0, 1024);
  amd.occupancy = r.number("occupancy", 0, 64);
  if (!r.has("siblings")) return amd;
  const Reader siblings(r.member("siblings"), cat(r.where(), ": \"siblings\""));
  if (siblings.has(gpu.c_str())) amd.occupancy = siblings.number(gpu.c_str(), 0, 64);
  return amd;
}

TritonKernel read_triton(const Reader& r) {
  if (!r.member("exact_head_dim").is_boolean() || !r.member("exact_head_dim").get<bool>())
    r.fail("has an \"exact_head_dim\" that is not true");
  TritonKernel triton;
  triton.given_shared_memory = r.number("given_shared_memory", 0, 1 << 20);
  triton.alignment = r.number("alignment", 1, 16);
  triton.row_stride_below = r.number("row_stride_below", archive::kTritonRowStride);
  return triton;
}

// `a` comes before `b` in the file.
bool overlap(const Variant& a, const Variant& b) {
  if (a.offset != b.offset) return a.offset + a.stored_size > b.offset;
  return a.stored_size != b.stored_size || a.frame_size != b.frame_size || a.start + a.size > b.start;
}

void check_apart(const std::string& path, const std::vector<Variant>& variants) {
  std::vector<const Variant*> sorted;
  sorted.reserve(variants.size());
  for (const Variant& v : variants) sorted.push_back(&v);
  const auto neighbours = [&](auto key, auto wrong, const char* what) {
    std::ranges::sort(sorted, {}, key);
    const auto bad = std::ranges::adjacent_find(sorted, wrong);
    if (bad == sorted.end()) return;
    throw Error(RAPT_INVALID_ARGUMENT, cat(path, ": kernels ", (*bad)->name, " and ", (*(bad + 1))->name, what));
  };
  neighbours([](const Variant* v) { return std::pair(v->offset, v->start); },
             [](const Variant* a, const Variant* b) { return overlap(*a, *b); }, " overlap in the file");
  neighbours([](const Variant* v) { return std::string_view(v->name); },
             [](const Variant* a, const Variant* b) { return a->name == b->name; }, " have the same name");
}

}  // namespace

Index read_index(const std::string& path, std::string_view text, uint32_t version, uint64_t code_begin,
                 uint64_t code_end, const std::string& gpu) {
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::exception& e) {
    throw Error(RAPT_INVALID_ARGUMENT, cat(path, ": the index is not JSON: ", e.what()));
  }
  const Reader top(parsed, cat(path, ": the index"));
  Index index;
  index.vendor = top.name("vendor");
  if (index.vendor != "amd" && index.vendor != "nvidia")
    throw Error(RAPT_UNSUPPORTED, cat(path, ": has kernels for GPUs of the vendor ", index.vendor,
                                      ", this Rapt knows those of amd and nvidia"));
  index.arch = top.name("arch");
  index.compiler = top.text("compiler");
  index.tuning = top.text("tuning");
  const json& kernels = top.member("kernels");
  if (!kernels.is_array()) top.fail("has \"kernels\" that are not an array");
  for (const json& kernel : kernels) {
    const std::string where = cat(path, ": kernel ", uint64_t{index.variants.size()}, " of the index");
    const Reader reader(kernel, where);
    Variant& v = index.variants.emplace_back(read_variant(reader, version, code_begin, code_end));
    const Reader own(reader.member(index.vendor.c_str()), cat(where, ": \"", index.vendor, "\""));
    if (index.vendor == "amd") v.amd = read_amd(own, gpu);
    else v.nvidia = {sizeof v.nvidia, own.number("occupancy", 0, 64)};
    if (reader.has("triton")) v.triton = read_triton(Reader(reader.member("triton"), cat(where, ": \"triton\"")));
    const int32_t passed = v.argument_size - (v.by_triton() ? archive::kTritonArguments : 0);
    if (v.known && v.known->argument_size != static_cast<size_t>(passed)) v.known = nullptr;
  }
  check_apart(path, index.variants);
  return index;
}

}  // namespace rapt::gpu
