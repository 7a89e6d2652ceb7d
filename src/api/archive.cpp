// Kernel archives over the C boundary.
#include <cstring>

#include "api/guard.hpp"
#include "base/text.hpp"
#include "gpu/archive.hpp"
#include "kernels/siblings.hpp"
#include "problem/validator.hpp"

struct rapt_archive {
  rapt::gpu::Archive value;
};

namespace rapt {

namespace {

const gpu::Variant& variant_of(const rapt_archive* archive, size_t index) {
  require(archive, "archive");
  const auto variants = archive->value.variants();
  if (index >= variants.size())
    throw Error(RAPT_INVALID_ARGUMENT, cat("index is ", uint64_t{index}, ", ", archive->value.path(), " has ",
                                           uint64_t{variants.size()}, " kernels"));
  return variants[index];
}

// Rapt 0.2 changed rapt_kernel's fields. Programs built before that pass a struct_size of at most this.
constexpr size_t kKernelBefore02 = 120;
static_assert(sizeof(rapt_kernel) > kKernelBefore02);

void check_is_new(const rapt_kernel& kernel) {
  if (kernel.struct_size > sizeof(size_t) && kernel.struct_size <= kKernelBefore02)
    throw Error(RAPT_UNSUPPORTED,
                cat("kernel.struct_size is ", uint64_t{kernel.struct_size},
                    ", the rapt_kernel of Rapt before 0.2, which had other fields: rebuild the program with the "
                    "rapt.h of this Rapt, ",
                    rapt_version_string()));
}

rapt_kernel to_public(const gpu::Archive& archive, const gpu::Variant& v) {
  rapt_kernel k = {};
  k.name = v.name.c_str();
  k.operation = v.operation.c_str();
  k.stage = v.known ? stage_name(v.known->stage).data() : "";
  k.symbol = v.symbol.c_str();
  k.features = v.features.c_str();
  k.p = v.p.c_str();
  k.dtype = dtype_code(v.dtype);
  k.head_dim = v.head_dim;
  k.block_q = v.block_q;
  k.block_k = v.block_k;
  k.waves = v.waves;
  k.threads = v.threads;
  k.registers = v.registers;
  k.shared_memory = v.shared_memory;
  k.spills = v.spills;
  k.argument_size = v.argument_size;
  k.crc32 = v.crc32;
  k.size = v.size;
  k.stored_size = v.stored_size * v.size / v.frame_size;
  k.vendor = archive.vendor().c_str();
  if (archive.vendor() == "amd") k.amd = &v.amd;
  else k.nvidia = &v.nvidia;
  return k;
}

rapt_archive* open_archive(const char* place, const char* arch) {
  if (place == nullptr && arch == nullptr) throw Error(RAPT_INVALID_ARGUMENT, "place and arch are both null");
  const std::string path = arch || !place ? gpu::find_archive(arch, place ? place : "") : place;
  gpu::Archive archive = gpu::Archive::open(path, arch ? arch : "");
  if (arch && archive.arch() != code_of(arch))
    throw Error(RAPT_UNSUPPORTED, cat(path, ": has the kernels of ", archive.arch(), ", not of ", arch));
  return new rapt_archive{std::move(archive)};
}

}  // namespace

}  // namespace rapt

using namespace rapt;

extern "C" {

const char* rapt_archive_found(size_t index) {
  thread_local std::string path;
  const char* result = nullptr;
  guarded([&] {
    const std::vector<std::string> found = gpu::find_archives();
    if (index >= found.size()) return;
    path = found[index];
    result = path.c_str();
  });
  return result;
}

rapt_status rapt_archive_open(const char* place, const char* arch, rapt_archive** archive) {
  return guarded([&] {
    require(archive, "archive");
    *archive = open_archive(place, arch);
  });
}

void rapt_archive_close(rapt_archive* archive) { delete archive; }

const char* rapt_archive_path(const rapt_archive* archive) { return archive ? archive->value.path().c_str() : ""; }
const char* rapt_archive_arch(const rapt_archive* archive) { return archive ? archive->value.arch().c_str() : ""; }
const char* rapt_archive_compiler(const rapt_archive* archive) {
  return archive ? archive->value.compiler().c_str() : "";
}
size_t rapt_archive_count(const rapt_archive* archive) { return archive ? archive->value.variants().size() : 0; }

rapt_status rapt_archive_kernel(const rapt_archive* archive, size_t index, rapt_kernel* kernel) {
  return guarded([&] {
    require(kernel, "kernel");
    check_is_new(*kernel);
    const gpu::Variant& variant = variant_of(archive, index);
    write_versioned("kernel", kernel, to_public(archive->value, variant));
  });
}

rapt_status rapt_archive_code(const rapt_archive* archive, size_t index, void* code, size_t capacity) {
  return guarded([&] {
    const gpu::Variant& variant = variant_of(archive, index);
    if (capacity != 0 && capacity < variant.size)
      throw Error(RAPT_INVALID_ARGUMENT,
                  cat("capacity is ", uint64_t{capacity}, ", kernel ", variant.name, " has ", variant.size, " bytes"));
    if (capacity != 0) require(static_cast<const char*>(code), "code");
    const std::vector<std::byte> bytes = archive->value.code(variant);
    if (capacity != 0) std::memcpy(code, bytes.data(), bytes.size());
  });
}
}
