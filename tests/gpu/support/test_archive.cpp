// Writes <arch>.rapt for the tests of everything around kernels: rows.hip in a few shapes. Usage: test_archive
// SOURCE_DIR OUT_DIR ARCH...
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive/format.hpp"
#include "kernels/abi.h"

namespace {

using nlohmann::ordered_json;
using Bytes = std::vector<char>;

struct Shape {
  const char *dtype, *type, *features;
  int head_dim, block_k;
};
// The block sizes are names alone: rows.hip has none. Two shapes of one tile leave the tuning table a choice.
const Shape kShapes[] = {
    {"fp16", "half", "plain", 64, 32},   {"fp16", "half", "general", 64, 32},    {"bf16", "bf16", "plain", 64, 32},
    {"bf16", "bf16", "plain", 128, 32},  {"bf16", "bf16", "plain", 128, 64},     {"bf16", "bf16", "general", 128, 32},
    {"fp32", "single", "plain", 64, 32}, {"fp32", "single", "general", 256, 32},
};

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Bytes compile(const std::filesystem::path& source, const std::string& arch, const Shape& shape,
              const std::filesystem::path& folder) {
  const auto object = folder / (arch + ".co");
  const std::string command =
      "clang-22 -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++20 -O1 "
      "-fuse-cuid=none --offload-arch=" +
      arch + " -I" + source.string() + " -DNAME=rows -DT=" + shape.type + " -DTILE=" + std::to_string(shape.head_dim) +
      " " + (source / "tests/gpu/support/rows.hip").string() + " -o " + object.string();
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  Bytes code = read(object);
  std::filesystem::remove(object);
  return code;
}

Bytes compress(const Bytes& code) {
  Bytes frame(ZSTD_compressBound(code.size()));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context, frame.data(), frame.size(), code.data(), code.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

void write_archive(const std::filesystem::path& source, const std::filesystem::path& folder, const std::string& arch) {
  Bytes file(sizeof(rapt::archive::Header));
  ordered_json kernels = ordered_json::array();
  const int lanes = arch.starts_with("gfx9") ? 64 : 32;
  for (const Shape& s : kShapes) {
    const Bytes code = compile(source, arch, s, folder), frame = compress(code);
    file.resize((file.size() + rapt::archive::kAlignment - 1) / rapt::archive::kAlignment * rapt::archive::kAlignment);
    const std::string name = std::string("forward.d") + std::to_string(s.head_dim) + "." + s.dtype + "." + s.features +
                             ".k" + std::to_string(s.block_k) + "w" + std::to_string(64 / lanes);
    kernels.push_back({{"name", name},
                       {"operation", "forward"},
                       {"symbol", "rows"},
                       {"dtype", s.dtype},
                       {"head_dim", s.head_dim},
                       {"features", s.features},
                       {"block_q", 64},
                       {"block_k", s.block_k},
                       {"waves", 64 / lanes},
                       {"threads", 64},
                       {"lds", 0},
                       {"vgprs", 64},
                       {"agprs", 0},
                       {"sgprs", 100},
                       {"occupancy", 8},
                       {"p", "exact"},
                       {"kernarg_size", sizeof(rapt_forward_args)},
                       {"offset", file.size()},
                       {"stored_size", frame.size()},
                       {"size", code.size()},
                       {"crc32", rapt::archive::crc32(code.data(), code.size())}});
    file.insert(file.end(), frame.begin(), frame.end());
  }
  const std::string tuning =
      "# For tests: the smaller step of keys where the device is not filled.\n"
      "forward dtype=bf16 head_dim=65..128 groups>=1 use=k64w" +
      std::to_string(64 / lanes) + " by=test\nforward use=smallest by=test\n";
  const std::string index =
      ordered_json{{"arch", arch}, {"compiler", "clang-22"}, {"tuning", tuning}, {"kernels", kernels}}.dump();
  rapt::archive::Header header = {};
  std::copy(std::begin(rapt::archive::kMagic), std::end(rapt::archive::kMagic), header.magic);
  header.version = rapt::archive::kVersion;
  header.index_offset = file.size();
  header.index_size = index.size();
  header.index_crc32 = rapt::archive::crc32(index.data(), index.size());
  std::copy_n(reinterpret_cast<const char*>(&header), sizeof header, file.begin());
  file.insert(file.end(), index.begin(), index.end());
  std::ofstream out(folder / (arch + ".rapt"), std::ios::binary);
  out.write(file.data(), static_cast<std::streamsize>(file.size()));
  if (!out.flush()) throw std::runtime_error("cannot write the archive of " + arch);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4) throw std::runtime_error("usage: test_archive SOURCE_DIR OUT_DIR ARCH...");
    std::filesystem::create_directories(argv[2]);
    for (int i = 3; i < argc; ++i) write_archive(argv[1], argv[2], argv[i]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "test_archive: %s\n", e.what());
    return 1;
  }
}
