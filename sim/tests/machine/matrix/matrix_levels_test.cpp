// The machine is built for several levels of x86-64, with vectors of different widths, with and without fused
// multiply-adds. Every matrix instruction gives the same bits on all levels that this computer supports. A separate
// process runs each level and prints checksums of the results.
#include "sim/machine/matrix/tile.hpp"
#include "sim/tests/support/matrix_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <random>
#include <sstream>

namespace rapt::sim::test {
namespace {

// What operands are filled with.
enum class Fill { normal, close, any };

// Values whose products and sums are close to halves of a sum's last bit, and denormals.
std::uint32_t close_to_ties(std::mt19937& random) {
  static constexpr float values[] = {1 + 0x1p-20F,
                                     0x1p-24F - 0x1p-44F,
                                     1 - 0x1p-11F + 0x1p-22F,
                                     0x1p-24F + 0x1p-35F,
                                     1,
                                     1 + 0x1p-23F,
                                     0x1p-24F,
                                     0x1p-126F,
                                     0x1p-140F,
                                     -1,
                                     0,
                                     -0.0F,
                                     0x1.8p-23F,
                                     0x1.fffffep127F};
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[random() % std::size(values)]);
  return random() % 4 == 0 ? bits ^ 0x80000000 : bits;
}

std::uint32_t word_of(const std::string& type, Fill fill, std::mt19937& random) {
  std::normal_distribution<float> normal;
  if (fill == Fill::any) return random();
  if (fill == Fill::close && type_bits(type) == 32) return close_to_ties(random);
  // Exponents far apart, if the types have them: their sums lose bits, and some become denormal.
  const auto wide = [&] { return std::ldexp(normal(random), static_cast<int>(random() % 220) - 110); };
  const auto value = [&] { return std::bit_cast<std::uint32_t>(fill == Fill::normal ? normal(random) : wide()); };
  if (type == "f32" || type == "xf32") return value();
  if (type == "bf16") return value() >> 16 | (value() & 0xffff0000);
  const auto half = [&] { return std::uint32_t{std::bit_cast<std::uint16_t>(static_cast<_Float16>(normal(random)))}; };
  if (type == "f16") return half() | half() << 16;
  return random();
}

// A NaN's payload is not the same everywhere: it depends on the order in which the processor takes the factors.
std::uint32_t without_payload(const std::string& type, std::uint32_t word) {
  const auto half = [&type](std::uint32_t bits) {
    const std::uint32_t infinity = type == "f16" ? 0x7c00 : 0x7f80;
    return (bits & 0x7fff) > infinity ? infinity + 1 : bits;
  };
  if (type == "f32") return (word & 0x7fffffff) > 0x7f800000 ? 0x7f800001 : word;
  if (type == "f16" || type == "bf16") return half(word & 0xffff) | half(word >> 16) << 16;
  return word;
}

std::uint64_t checksum(MatrixProduct& p, Fill fill, std::uint32_t seed) {
  std::mt19937 random(seed);
  const MatrixName& m = p.name();
  const auto put_rows = [&](unsigned first, unsigned count, const std::string& type) {
    for (unsigned row = first; row < first + count; ++row)
      for (unsigned lane = 0; lane < m.lanes; ++lane)
        if (type != "f64" || fill == Fill::any) p.wave().v(row, lane) = word_of(type, fill, random);
        else p.wave().v(row, lane) = row % 2 == 0 ? random() : 0x3ff00000 | (random() & 0x800fffff);
  };
  put_rows(p.a_register, 16, m.a), put_rows(p.b_register, 16, m.b);
  put_rows(p.c_register, 32, m.d), put_rows(p.d_register, 32, m.d);
  p.run();
  std::uint64_t sum = 0;
  for (unsigned row = p.d_register; row < p.d_register + 32; ++row)
    for (unsigned lane = 0; lane < m.lanes; ++lane)
      if (m.d != "f64" || fill != Fill::any)
        sum = (sum ^ without_payload(m.d, p.wave().v(row, lane))) * 0x9e3779b97f4a7c15 + row;
  return sum;
}

// One line for each instruction, kind of operands, and order of summation.
std::string checksums() {
  std::ostringstream lines;
  const auto add = [&lines](MatrixProduct& p, const std::string& name) {
    for (const auto sums : {matrix::Sums::fused, matrix::Sums::measured}) {
      matrix::set_sums(sums);
      for (const Fill fill : {Fill::normal, Fill::close, Fill::any})
        lines << "sum " << name << ' ' << static_cast<int>(sums) << static_cast<int>(fill) << ' ' << std::hex
              << checksum(p, fill, 1) << ' ' << checksum(p, fill, 2) << '\n';
    }
  };
  for (int n = 0; n < arch_count; ++n) {
    const auto arch = static_cast<Arch>(n);
    for (const unsigned lanes : {32U, 64U}) {
      if (is_cdna(arch) && lanes == 32) continue;
      for (const MatrixName& m : matrix_names(arch, lanes)) {
        MatrixProduct p(m);
        add(p, std::string(name(arch)) + ' ' + std::to_string(lanes) + ' ' + m.name);
      }
    }
  }
  for (const char* shape : {"16x16x128", "32x32x64"})
    for (unsigned types = 0; types < 25; ++types) {
      MatrixName m{.name = std::string("v_mfma_f32_") + shape + "_f8f6f4", .arch = Arch::gfx950, .lanes = 64};
      m.a = m.b = "fp8", m.d = "f32";
      MatrixProduct p(m);
      p.instruction.cbsz = static_cast<std::uint8_t>(types % 5),
      p.instruction.blgp = static_cast<std::uint8_t>(types / 5);
      add(p, m.name + ' ' + std::to_string(types));
    }
  return lines.str();
}

std::string library_path() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&matrix::set_sums), &info);
  return std::filesystem::canonical(info.dli_fname);
}

// Not a test: what the processes run.
TEST(MatrixLevels, DISABLED_PrintChecksums) {
  std::printf("library %s\n%s", library_path().c_str(), checksums().c_str());
}

std::string run_level(const std::filesystem::path& library) {
  const auto folder = std::filesystem::path(temporary_folder()) / "level";  // glibc prefers glibc-hwcaps/ next to it
  std::filesystem::create_directories(folder);
  std::filesystem::remove(folder / library.filename());
  std::filesystem::create_symlink(library, folder / library.filename());
  const std::string output =
      shell("LD_LIBRARY_PATH=" + folder.string() + " " + std::filesystem::canonical("/proc/self/exe").string() +
            " --gtest_also_run_disabled_tests --gtest_filter=MatrixLevels.DISABLED_PrintChecksums");
  EXPECT_NE(output.find("library " + std::filesystem::canonical(library).string() + "\n"), std::string::npos) << output;
  std::istringstream lines(output);
  std::string sums, line;
  while (std::getline(lines, line))
    if (line.starts_with("sum ")) sums += line + '\n';
  return sums;
}

TEST(MatrixLevels, GiveTheSameBits) {
  const std::filesystem::path folder = RAPT_SIM_LIBRARY_FOLDER;
  std::vector<std::filesystem::path> libraries{folder / "librapt_sim.so"};
  const auto add = [&](const char* level, bool runs) {
    const auto library = folder / "glibc-hwcaps" / level / "librapt_sim.so";
    if (runs && std::filesystem::exists(library)) libraries.push_back(library);
  };
  add("x86-64-v3", __builtin_cpu_supports("x86-64-v3"));
  add("x86-64-v4", __builtin_cpu_supports("x86-64-v4"));
  const std::string first = run_level(libraries[0]);
  EXPECT_GT(std::count(first.begin(), first.end(), '\n'), 1500);
  for (std::size_t n = 1; n < libraries.size(); ++n) {
    const std::string other = run_level(libraries[n]);
    std::istringstream one(first), two(other);
    std::string a, b;
    unsigned differ = 0;
    while (std::getline(one, a)) {
      std::getline(two, b);
      if (a != b && ++differ < 20) ADD_FAILURE() << libraries[n] << ":\n" << a << '\n' << b;
    }
    EXPECT_EQ(first.size(), other.size());
    EXPECT_EQ(differ, 0U);
  }
}

}  // namespace
}  // namespace rapt::sim::test
