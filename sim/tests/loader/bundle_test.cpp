// Bundles of code objects: written here from the format's description, clang's, compressed and damaged ones.
#include "sim/tests/support/programs/bundles.hpp"
#include "sim/tests/support/instructions/damage.hpp"
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rapt::sim::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* source = R"(
  extern "C" __global__ void first(int* p) { p[TID] = 1; }
  extern "C" __global__ void second(int* p) { p[BID * __builtin_amdgcn_workgroup_size_x() + TID] = 1; })";

std::vector<BundleEntry> entries_for(const std::vector<std::pair<std::string, Bytes>>& objects) {
  std::vector<BundleEntry> entries{{"host-x86_64-unknown-linux-gnu-", {}}};
  for (const auto& [target, bytes] : objects) entries.push_back({"hipv4-amdgcn-amd-amdhsa--" + target, bytes});
  return entries;
}

Bytes marked(const char* text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text);
  return {begin, begin + std::strlen(text)};
}

std::string selected(const Bytes& bundle, Arch arch) {
  Bytes storage;
  const auto part = select_code_object(bundle, arch, storage);
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

TEST(Bundle, GivesTheEntryThatFitsBest) {
  const Bytes bundle = write_bundle(entries_for({{"gfx9-4-generic", marked("generic")},
                                                 {"gfx90a", marked("any")},
                                                 {"gfx90a:xnack+", marked("xnack")},
                                                 {"gfx90a:sramecc+:xnack-", marked("exact")},
                                                 {"gfx942", marked("942")},
                                                 {"gfx1100", marked("1100")}}));
  EXPECT_EQ(selected(bundle, Arch::gfx90a), "exact");
  EXPECT_EQ(selected(bundle, Arch::gfx942), "942");
  EXPECT_EQ(selected(bundle, Arch::gfx950), "generic");
  EXPECT_EQ(selected(bundle, Arch::gfx1100), "1100");
  try {
    selected(bundle, Arch::gfx1201);
    FAIL();
  } catch (const LoadError& error) {
    EXPECT_EQ(error.kind, LoadError::Kind::wrong_arch);
    EXPECT_NE(std::string(error.what()).find("gfx90a:xnack+"), std::string::npos) << error.what();
  }
  EXPECT_EQ(selected(write_bundle({{"hip-amdgcn-amd-amdhsa-gfx908", marked("old name")}}), Arch::gfx908), "old name");
}

TEST(Bundle, CompressedInEveryVersionAndMethod) {
  const Bytes bundle = write_bundle(
      entries_for({{"gfx942", compile(Arch::gfx942, source, "-O3", "clang-22")}, {"gfx1100", marked("1100")}}));
  for (const int version : {1, 2, 3})
    for (const bool zstd : {false, true}) {
      const Bytes compressed = compress_bundle(bundle, version, zstd);
      EXPECT_EQ(selected(compressed, Arch::gfx1100), "1100") << version << zstd;
      Bytes storage;
      const auto part = select_code_object(compressed, Arch::gfx942, storage);
      EXPECT_EQ(CodeObject::load(part, Arch::gfx942, 0)->kernels().size(), 2U);
      Bytes longer = compressed;
      longer.resize(longer.size() + 8192, std::byte{0x5a});
      EXPECT_EQ(image_size(longer.data()), compressed.size()) << version << zstd;
    }
}

TEST(Bundle, SizesAreFoundInMemory) {
  const Bytes object = compile(Arch::gfx942, source, "-O3", "clang-22");
  const Bytes bundle = write_bundle(entries_for({{"gfx942", object}}));
  for (const Bytes& image : {object, bundle}) {
    Bytes longer = image;
    longer.resize(longer.size() + 4096, std::byte{0x5a});
    EXPECT_EQ(image_size(longer.data()), image.size());
  }
  EXPECT_THROW(image_size("nothing that is known"), LoadError);
}

TEST(Bundle, OfClang) {
  for (const char* flags : {"", "--offload-compress"}) {
    const Bytes bundle = compile_bundle({"gfx942", "gfx1100", "gfx90a:xnack+", "gfx90a:xnack-"}, source, flags);
    for (const Arch arch : {Arch::gfx942, Arch::gfx1100, Arch::gfx90a}) {
      Bytes storage;
      const auto part = select_code_object(bundle, arch, storage);
      EXPECT_EQ(CodeObject::load(part, arch, 0)->kernels().size(), 2U) << flags;
    }
    EXPECT_THROW(selected(bundle, Arch::gfx908), LoadError);
  }
}

TEST(Damage, Bundles) {
  const Bytes bundle = write_bundle(entries_for({{"gfx942", compile(Arch::gfx942, source, "-O3", "clang-22")}}));
  for (const Bytes& bytes : {bundle, compress_bundle(bundle, 2, true), compress_bundle(bundle, 1, false)}) {
    for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 16)
      load_or_refuse(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), Arch::gfx942);
    load_or_refuse_changed(bytes, 400, Arch::gfx942);
  }
}

}  // namespace
}  // namespace rapt::sim::test
