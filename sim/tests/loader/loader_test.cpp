// Code objects of real compilers, and damaged ones. Bundles of them: bundle_test.cpp.
#include "sim/tests/support/programs/bundles.hpp"
#include "sim/tests/support/instructions/damage.hpp"
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rapt::sim::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr const char* source = R"(
  __device__ int counter = 41;
  __device__ int* where = &counter;
  __constant__ float table[4] = {1, 2, 3, 4};
  struct Big { int a[5]; };
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, 128))) void first(int* p, short s, Big b, double d) {
    __shared__ int lds[300];
    lds[TID] = s;
    SYNC();
    p[TID] = lds[TID ^ 1] + *where + b.a[TID % 5] + (int)(d * table[TID & 3]);
  }
  extern "C" __global__ void second(int* p) {
    p[BID * __builtin_amdgcn_workgroup_size_x() + TID] = 1;
  })";

Bytes object_for(Arch arch, const std::string& flags = "-O3", const std::string& compiler = "clang-22") {
  return compile(arch, source, flags, compiler);
}

const Kernel& kernel_of(const CodeObject& object, std::string_view name) {
  for (const Kernel& kernel : object.kernels())
    if (kernel.name == name) return kernel;
  throw std::runtime_error("no kernel");
}

std::uint64_t word(const Bytes& bytes, std::size_t at, unsigned size = 8) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}
void set(Bytes& bytes, std::size_t at, std::uint64_t value, unsigned size = 8) {
  std::memcpy(bytes.data() + at, &value, size);
}

std::string failure(const Bytes& bytes, Arch arch, LoadError::Kind kind = LoadError::Kind::invalid) {
  try {
    CodeObject::load(bytes, arch, 0);
  } catch (const LoadError& error) {
    EXPECT_EQ(error.kind, kind) << error.what();
    return error.what();
  }
  return "loaded";
}

struct Case {
  Arch arch;
  const char *compiler, *flags;
};

class LoadsObjects : public testing::TestWithParam<Case> {};

TEST_P(LoadsObjects, WithKernelsVariablesAndRelocations) {
  const auto& [arch, compiler, flags] = GetParam();
  const auto object = CodeObject::load(object_for(arch, flags, compiler), arch, 0);
  ASSERT_EQ(object->kernels().size(), 2U);
  const Kernel& first = kernel_of(*object, "first");
  const bool wave32 = is_rdna(arch) && std::string_view(flags).find("wavefrontsize64") == std::string_view::npos;
  EXPECT_EQ(first.lanes, wave32 ? 32U : 64U);
  EXPECT_EQ(first.max_flat_workgroup_size, 128U);
  EXPECT_EQ(first.descriptor.group_segment_fixed_size, 1200U);
  EXPECT_GT(first.vgpr_count, 0U);
  EXPECT_EQ(first.entry % 256, 0U);
  // The layout of the parameters is C's.
  const std::uint32_t offsets[] = {0, 8, 12, 32}, sizes[] = {8, 2, 20, 8};
  ASSERT_GE(first.arguments.size(), 4U);
  for (std::size_t i = 0; i < 4; i++) {
    EXPECT_EQ(first.arguments[i].offset, offsets[i]);
    EXPECT_EQ(first.arguments[i].size, sizes[i]);
    EXPECT_EQ(first.arguments[i].kind, i == 0 ? ArgumentKind::global_buffer : ArgumentKind::by_value);
  }
  EXPECT_GE(first.descriptor.kernarg_size, 40U);
  const auto text = object->text();
  for (const Kernel& kernel : object->kernels()) {
    EXPECT_GE(kernel.entry, reinterpret_cast<std::uint64_t>(text.data()));
    EXPECT_LT(kernel.entry, reinterpret_cast<std::uint64_t>(text.data()) + text.size());
  }

  std::map<std::string, Symbol> variables;
  for (const Symbol& symbol : object->variables()) variables[symbol.name] = symbol;
  ASSERT_TRUE(variables.count("counter") && variables.count("where") && variables.count("table"));
  EXPECT_FALSE(variables.count("first.kd"));
  EXPECT_EQ(variables["table"].size, 16U);
  EXPECT_EQ(*reinterpret_cast<int*>(variables["counter"].address), 41);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(variables["where"].address), variables["counter"].address);
  EXPECT_EQ(reinterpret_cast<float*>(variables["table"].address)[2], 3.0F);
  const Allocation* allocation = Memory::process().find(variables["counter"].address);
  ASSERT_NE(allocation, nullptr);
  EXPECT_EQ(allocation->kind, MemoryKind::code);
}

INSTANTIATE_TEST_SUITE_P(Compilers, LoadsObjects,
                         testing::Values(Case{Arch::gfx908, "clang-19", "-O3"},
                                         Case{Arch::gfx908, "clang-22", "-O3 -mcode-object-version=4"},
                                         Case{Arch::gfx90a, "clang-22", "-O0"},
                                         Case{Arch::gfx90a, "clang-19", "-mcode-object-version=4"},
                                         Case{Arch::gfx942, "clang-22", "-O3 -mcode-object-version=5"},
                                         Case{Arch::gfx942, "clang-22", "-O3 -mcode-object-version=6"},
                                         Case{Arch::gfx942, "clang-19", "-O3 -mcode-object-version=6"},
                                         Case{Arch::gfx950, "clang-22", "-O3"}, Case{Arch::gfx1100, "clang-19", "-O3"},
                                         Case{Arch::gfx1100, "clang-22", "-O3 -mwavefrontsize64"},
                                         Case{Arch::gfx1151, "clang-22", "-O3 -mcode-object-version=4"},
                                         Case{Arch::gfx1201, "clang-22", "-O3"},
                                         Case{Arch::gfx1201, "clang-19", "-O1"}));

TEST(CodeObjectVersion, ThreeIsReadWithItsOwnFlags) {
  Bytes bytes = object_for(Arch::gfx90a, "-O3 -mcode-object-version=4");
  bytes[8] = std::byte{1};
  set(bytes, 48, 0x03f, 4);
  EXPECT_EQ(CodeObject::load(bytes, Arch::gfx90a, 0)->kernels().size(), 2U);
  set(bytes, 48, 0x03f | 0x100, 4);  // xnack on
  EXPECT_NE(failure(bytes, Arch::gfx90a, LoadError::Kind::wrong_arch).find("xnack+"), std::string::npos);
}

TEST(CodeObjectVersion, OthersAreRefused) {
  Bytes bytes = object_for(Arch::gfx90a);
  for (const int version : {0, 5, 255}) {
    bytes[8] = static_cast<std::byte>(version);
    EXPECT_NE(failure(bytes, Arch::gfx90a).find("ABI version"), std::string::npos);
  }
}

TEST(Target, MustBeTheDevices) {
  const Bytes bytes = object_for(Arch::gfx942);
  for (int i = 0; i < arch_count; i++) {
    const auto arch = static_cast<Arch>(i);
    if (arch == Arch::gfx942) continue;
    const std::string message = failure(bytes, arch, LoadError::Kind::wrong_arch);
    EXPECT_NE(message.find("gfx942"), std::string::npos) << message;
    EXPECT_NE(message.find(name(arch)), std::string::npos) << message;
  }
}

// A sibling takes code objects with its own name alone, and generic ones, though it has its relative's instructions.
TEST(Target, SiblingsHaveNamesOfTheirOwn) {
  for (int i = arch_count; i < device_arch_count; i++) {
    const auto sibling = static_cast<Arch>(i);
    const Arch relative = instructions_of(sibling);
    const Bytes own = compile_for(std::string(name(sibling)), source, "-O3");
    EXPECT_EQ(CodeObject::load(own, sibling, 0)->arch(), relative) << name(sibling);
    EXPECT_NE(failure(own, relative, LoadError::Kind::wrong_arch), "loaded") << name(sibling);
    EXPECT_NE(failure(object_for(relative), sibling, LoadError::Kind::wrong_arch), "loaded") << name(sibling);
    const Bytes generic = compile_for(contains(gfx12, relative) ? "gfx12-generic" : "gfx11-generic", source,
                                      "-O3 -mcode-object-version=6");
    EXPECT_EQ(CodeObject::load(generic, sibling, 0)->arch(), relative) << name(sibling);
  }
}

// xnack and sramecc: 0 unsupported, 1 any, 2 off, 3 on. The devices run without xnack and with ECC.
TEST(Target, FeaturesMustBeTheDevices) {
  Bytes bytes = object_for(Arch::gfx90a);
  for (std::uint32_t xnack = 0; xnack < 4; xnack++)
    for (std::uint32_t ecc = 0; ecc < 4; ecc++) {
      set(bytes, 48, 0x03f | xnack << 8 | ecc << 10, 4);
      const bool runs = xnack != 3 && ecc != 2;
      if (runs) EXPECT_NO_THROW(CodeObject::load(bytes, Arch::gfx90a, 0)) << xnack << ' ' << ecc;
      else EXPECT_NE(failure(bytes, Arch::gfx90a, LoadError::Kind::wrong_arch), "loaded") << xnack << ' ' << ecc;
    }
}

TEST(Target, GenericObjectsRunOnTheirMembers) {
  const struct {
    const char* generic;
    ArchSet members;
  } cases[] = {{"gfx9-4-generic", only(Arch::gfx942) | only(Arch::gfx950)},
               {"gfx9-generic", only(Arch::gfx906)},
               {"gfx11-generic", gfx11},
               {"gfx12-generic", gfx12}};
  for (const auto& [generic, members] : cases) {
    const Bytes bytes = compile_for(generic, source, "-O3 -mcode-object-version=6");
    for (int i = 0; i < arch_count; i++) {
      const auto arch = static_cast<Arch>(i);
      if (contains(members, arch))
        EXPECT_EQ(CodeObject::load(bytes, arch, 0)->kernels().size(), 2U) << generic << ' ' << name(arch);
      else EXPECT_NE(failure(bytes, arch, LoadError::Kind::wrong_arch), "loaded") << generic << ' ' << name(arch);
    }
  }
}

// The first dynamic relocation: the offset of its record in the file, and in memory the offset of what it changes.
struct RelocationPlace {
  std::size_t record = 0;
  std::uint64_t target = 0;
};
RelocationPlace relocation_of(const Bytes& bytes) {
  const auto sections = word(bytes, 40);
  for (unsigned i = 0; i < word(bytes, 60, 2); i++) {
    const auto section = sections + i * 64;
    if (word(bytes, section + 4, 4) == 4) return {word(bytes, section + 24), word(bytes, word(bytes, section + 24))};
  }
  throw std::runtime_error("no relocation");
}

std::uint64_t address_of(const CodeObject& object, const std::string& name) {
  for (const Symbol& symbol : object.variables())
    if (symbol.name == name) return symbol.address;
  throw std::runtime_error("no variable");
}

TEST(Relocations, OfEveryKindTheLoaderMayMeet) {
  const Bytes original = object_for(Arch::gfx942);
  const RelocationPlace place = relocation_of(original);
  const struct {
    std::uint32_t type;
    bool relative, high;
    unsigned bytes;
  } cases[] = {{1, false, false, 4}, {2, false, true, 4}, {3, false, false, 8},
               {4, true, false, 4},  {5, true, false, 8}, {6, false, false, 4},
               {10, true, false, 4}, {11, true, true, 4}, {13, false, false, 8}};
  const auto symbols = word(original, place.record + 8) >> 32;
  for (const auto& c : cases) {
    Bytes bytes = original;
    // Without a symbol, all except RELATIVE64 have the addend as their target: the place itself, to be in range.
    set(bytes, place.record + 8, c.type);
    set(bytes, place.record + 16, c.type == 13 ? place.target + 24 : 0x123456789aULL);
    if (c.type == 4) {
      // The target must be within 2 GiB: the symbol of the original record.
      if (symbols == 0) continue;
      set(bytes, place.record + 8, symbols << 32 | c.type);
      set(bytes, place.record + 16, 0);
    }
    const auto object = CodeObject::load(bytes, Arch::gfx942, 0);
    const std::uint64_t at = address_of(*object, "where");
    std::uint64_t target = c.type == 13 ? at + 24 : 0x123456789aULL;
    if (c.type == 4) target = address_of(*object, "counter");
    std::uint64_t expected = c.relative ? target - at : target;
    if (c.high) expected >>= 32;
    std::uint64_t got = 0;
    std::memcpy(&got, reinterpret_cast<const void*>(at), c.bytes);
    EXPECT_EQ(got, c.bytes == 4 ? expected & 0xffffffff : expected) << "type " << c.type;
  }
}

TEST(Relocations, BrokenOnesAreRefused) {
  const Bytes original = object_for(Arch::gfx942);
  const RelocationPlace place = relocation_of(original);
  const auto broken = [&](std::size_t at, std::uint64_t value) {
    Bytes bytes = original;
    set(bytes, place.record + at, value);
    return failure(bytes, Arch::gfx942);
  };
  EXPECT_NE(broken(0, 1ULL << 40).find("outside"), std::string::npos);
  EXPECT_NE(broken(0, ~0ULL - 3).find("outside"), std::string::npos);
  EXPECT_NE(broken(8, 7).find("type 7"), std::string::npos);
  EXPECT_NE(broken(8, 99).find("type 99"), std::string::npos);
  EXPECT_NE(broken(8, 12345ULL << 32 | 3).find("not there"), std::string::npos);
  Bytes far = original;
  set(far, place.record + 8, 4);
  set(far, place.record + 16, 1ULL << 50);
  EXPECT_NE(failure(far, Arch::gfx942).find("does not reach"), std::string::npos);
}

std::vector<std::size_t> load_segments(const Bytes& bytes) {
  std::vector<std::size_t> list;
  for (unsigned i = 0; i < word(bytes, 56, 2); i++)
    if (word(bytes, 64 + i * 56, 4) == 1) list.push_back(64 + i * 56);
  return list;
}

TEST(Segments, BrokenOnesAreRefused) {
  const Bytes original = object_for(Arch::gfx1100);
  const auto segments = load_segments(original);
  ASSERT_GE(segments.size(), 2U);
  const auto broken = [&](std::size_t at, std::uint64_t value) {
    Bytes bytes = original;
    set(bytes, at, value);
    return failure(bytes, Arch::gfx1100);
  };
  const std::size_t second = segments[1];
  EXPECT_NE(broken(second + 16, 16).find("overlaps"), std::string::npos);
  EXPECT_NE(broken(second + 8, ~0ULL).find("past the end"), std::string::npos);
  EXPECT_NE(broken(second + 8, original.size()).find("past the end"), std::string::npos);
  EXPECT_NE(broken(second + 32, ~0ULL).find("more bytes in the file"), std::string::npos);
  EXPECT_NE(broken(second + 40, ~0ULL >> 1).find("out of range"), std::string::npos);
  EXPECT_NE(broken(second + 16, ~0ULL - 100).find("out of range"), std::string::npos);
}

TEST(Descriptors, BrokenOnesAreRefused) {
  const Bytes original = object_for(Arch::gfx942);
  std::uint64_t kd = 0;
  const auto sections = word(original, 40);
  for (unsigned i = 0; i < word(original, 60, 2); i++)  // .rodata: the first PROGBITS
    if (word(original, sections + i * 64 + 4, 4) == 1 && kd == 0) kd = word(original, sections + i * 64 + 24);
  ASSERT_NE(kd, 0U);
  const auto broken = [&](std::size_t at, std::uint64_t value, unsigned size) {
    Bytes bytes = original;
    set(bytes, kd + at, value, size);
    return failure(bytes, Arch::gfx942);
  };
  EXPECT_NE(broken(16, 1ULL << 40, 8).find("outside the executable"), std::string::npos);
  EXPECT_NE(broken(16, ~0ULL, 8).find("outside the executable"), std::string::npos);
  EXPECT_NE(broken(16, word(original, kd + 16) + 4, 8).find("256"), std::string::npos);
  EXPECT_NE(broken(56, word(original, kd + 56, 2) | 1U << 10, 2).find("32 lanes"), std::string::npos);
}

TEST(Damage, TruncatedAnywhere) {
  const Bytes bytes = object_for(Arch::gfx942);
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    load_or_refuse(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), Arch::gfx942);
  EXPECT_NE(failure(Bytes(bytes.begin(), bytes.begin() + 2000), Arch::gfx942), "loaded");
}

TEST(Damage, EveryByteOfTheObject) {
  const Bytes bytes = object_for(Arch::gfx1100);
  load_or_refuse_changed(bytes, bytes.size(), Arch::gfx1100);
}

TEST(Damage, HostileNumbersEverywhere) {
  Bytes bytes = object_for(Arch::gfx942);
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 4) {
    const auto original = word(bytes, at);
    for (const std::uint64_t value : {0ULL, ~0ULL, 1ULL << 63, 0x7fffffffULL, 0xffffffffULL, 0x1000ULL}) {
      set(bytes, at, value);
      load_or_refuse(bytes, Arch::gfx942);
    }
    set(bytes, at, original);
  }
}

}  // namespace
}  // namespace rapt::sim::test
