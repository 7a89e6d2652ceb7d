#include "sim/tests/random/programs.hpp"

#include "sim/tests/random/writer.hpp"
#include "sim/tests/support/programs/kernels.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace rapt::sim::random {
namespace {

constexpr unsigned group = 96, groups = 2, threads = group * groups;  // a last wave that is not full
constexpr unsigned input_bytes = 256, output_bytes = 256, total_count = 16;

// As in prelude.h.
struct Uniform {
  std::uint32_t a;
  std::int64_t b;
  float c;
  std::uint16_t d;
  std::int8_t e;
  double f;
};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t stream) {
  return seed * 0x9e3779b97f4a7c15U + stream * 0xd1342543de82ef95U + 1;
}

Uniform uniform_of(std::uint64_t seed) {
  Chooser choose(mixed(seed, 1));
  return {static_cast<std::uint32_t>(choose.edge()), static_cast<std::int64_t>(choose.edge()), 0.75F,
          static_cast<std::uint16_t>(choose.edge()), static_cast<std::int8_t>(choose.edge()),  -1.5e10};
}

// Each thread's bytes: a quarter each of 64-bit numbers, 32-bit ones and floats, doubles, and 16-bit ones, all at the
// edges of their types or random.
std::vector<std::uint8_t> inputs(std::uint64_t seed) {
  Chooser choose(mixed(seed, 2));
  std::vector<std::uint8_t> bytes(threads * input_bytes);
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  static constexpr double numbers[] = {0.0,
                                       -0.0,
                                       1.0,
                                       -1.0,
                                       0.5,
                                       1.5,
                                       3.0,
                                       65504.0,
                                       1e-40,
                                       5e-324,
                                       -3e-39,
                                       1e300,
                                       -1e300,
                                       6e-8,
                                       3.4e38,
                                       2147483648.0,
                                       1e19,
                                       0.1,
                                       -7.25,
                                       1024.0,
                                       4.9e-7,
                                       1e-300,
                                       -1e-310,
                                       123456.789,
                                       __builtin_inf(),
                                       -__builtin_inf(),
                                       __builtin_nan(""),
                                       __builtin_nans("")};
  const auto number = [&] {
    const double value = choose.of(numbers);
    return choose.chance(50) ? value * static_cast<double>(choose.below(1000)) / 64.0 : value;
  };
  for (std::size_t thread = 0; thread < threads; ++thread) {
    const std::size_t at = thread * input_bytes;
    for (std::size_t n = 0; n < 64; n += 8) put(at + n, choose.edge());
    for (std::size_t n = 64; n < 128; n += 4)
      if (choose.chance(60)) put(at + n, static_cast<float>(number()));
      else put(at + n, static_cast<std::uint32_t>(choose.edge()));
    for (std::size_t n = 128; n < 192; n += 8) put(at + n, number());
    for (std::size_t n = 192; n < 256; n += 2) put(at + n, static_cast<std::uint16_t>(choose.edge()));
  }
  return bytes;
}

using HostKernel = void (*)(const std::uint8_t*, std::uint8_t*, std::uint64_t*, const Uniform&);

// A shared object of the programs, closed at the end.
std::shared_ptr<void> build_host(const std::string& text, const std::string& compiler) {
  static std::atomic<unsigned> count{0};
  const std::string stem = test::temporary_folder() + "/h" + std::to_string(count++);
  std::ofstream(stem + ".cpp") << text;
  test::shell(compiler +
              " -x c++ -std=c++20 -O1 -fPIC -shared -w -fvisibility=hidden -fno-math-errno -ffp-contract=off"
              " -Xclang -ffloat16-excess-precision=none -Xclang -fbfloat16-excess-precision=none " +
              stem + ".cpp -o " + stem + ".so -lm");
  void* const library = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  for (const char* end : {".cpp", ".so"}) std::filesystem::remove(stem + end);
  return {library, [](void* opened) { dlclose(opened); }};
}

std::string again(const Programs& programs, unsigned number, const Target& target) {
  std::ostringstream command;
  command << "sim_random --seed " << programs.seed << " --only " << number << " --arch " << name(target.arch)
          << " --level " << target.level << " --compiler " << target.compiler;
  return command.str();
}

}  // namespace

std::vector<unsigned> Programs::numbers() const {
  if (only) return {*only};
  std::vector<unsigned> all;
  for (unsigned n = 0; n < count; ++n)
    if (std::ranges::find(without, n) == without.end()) all.push_back(n);
  return all;
}

std::string source(const Programs& programs) {
  std::ostringstream all;
  all << "#define GROUP " << group << "\n#define GROUPS " << groups << "\n#define INPUT " << input_bytes
      << "\n#define OUTPUT " << output_bytes << '\n'
      << read(RAPT_SIM_SOURCE_FOLDER "/tests/random/prelude_types.h")
      << read(RAPT_SIM_SOURCE_FOLDER "/tests/random/prelude.h");
  Writer tables(mixed(programs.seed, 3));
  tables.tables();
  all << tables.take();
  for (const unsigned number : programs.numbers()) {
    Writer writer(mixed(programs.seed, 16 + number));
    writer.see_tables_of(tables);
    writer.program("k" + std::to_string(number));
    all << writer.take();
  }
  return all.str();
}

Expected::Expected(const Programs& programs, const std::string& compiler)
    : programs_(programs), text_(source(programs)), input_(inputs(programs.seed)), totals_(total_count) {
  setenv("RAPT_SIM_LIMIT", "50000000", 0);  // no program needs a tenth of that
  Chooser choose(mixed(programs.seed, 4));
  for (std::size_t n = 0; n < 12; ++n) totals_[n] = choose.edge();  // the others are sums of floating point
  const Uniform uniform = uniform_of(programs.seed);
  const auto library = build_host(text_, compiler);
  for (const unsigned number : programs.numbers()) {
    const auto kernel = reinterpret_cast<HostKernel>(dlsym(library.get(), ("k" + std::to_string(number)).c_str()));
    if (kernel == nullptr) throw std::runtime_error("the host has no kernel " + std::to_string(number));
    Result result{std::vector<std::uint8_t>(threads * output_bytes), totals_};
    kernel(input_.data(), result.out.data(), result.totals.data(), uniform);
    results_.push_back(std::move(result));
  }
}

bool knows(const std::string& compiler, Arch arch) { return arch != Arch::gfx950 || compiler != "clang-19"; }

std::vector<std::string> differences(const Expected& expected, const Target& target) {
  const Programs& programs = expected.programs();
  std::string flags = std::string("-O") + target.level +
                      " -w -fno-math-errno -ffp-contract=off -Xclang -fbfloat16-excess-precision=none";
  // Some functions spill many SGPRs to lanes of VGPRs. There clang-22 -O0 drops lanes in a loop's first block, and
  // clang-19 -O0 overwrites the EXEC that it has saved to store such a VGPR beyond 4 KiB. For branches beyond 128 KiB
  // both use s[30:31], where a function that calls no other has its return address.
  if (target.level == '0') flags += " -mllvm -amdgpu-spill-sgpr-to-vgpr=0 -mllvm -amdgpu-long-branch-factor=0";
  const test::Module module(target.arch, expected.text(), flags, target.compiler);
  const Uniform uniform = uniform_of(programs.seed);
  const test::Buffer<std::uint8_t> in(expected.input());
  std::vector<std::string> found;
  const auto numbers = programs.numbers();
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const test::Buffer<std::uint8_t> out(std::vector<std::uint8_t>(threads * output_bytes));
    const test::Buffer<std::uint64_t> totals(expected.totals_before());
    const Expected::Result& want = expected.result(n);
    std::ostringstream text;
    try {
      module.launch("k" + std::to_string(numbers[n]), {groups, 1, 1}, {group, 1, 1}, 0, in.data(), out.data(),
                    totals.data(), uniform);
    } catch (const std::exception& failure) {
      text << failure.what();
    }
    const auto say = [&](const auto& where, std::uint64_t got, std::uint64_t wanted) {
      text << where << " is 0x" << std::hex << got << ", on the host 0x" << wanted << std::dec;
    };
    for (std::size_t at = 0; at < want.out.size() && text.str().empty(); at += 8) {
      std::uint64_t got, wanted;
      std::memcpy(&got, out.data() + at, sizeof got);
      std::memcpy(&wanted, want.out.data() + at, sizeof wanted);
      const std::size_t thread = at / output_bytes;
      if (got != wanted)
        say("thread " + std::to_string(thread % group) + " of workgroup " + std::to_string(thread / group) +
                ", output bytes " + std::to_string(at % output_bytes) + " to +7",
            got, wanted);
    }
    for (std::size_t total = 0; total < total_count && text.str().empty(); ++total)
      if (totals[total] != want.totals[total]) say("total " + std::to_string(total), totals[total], want.totals[total]);
    if (!text.str().empty())
      found.push_back("seed " + std::to_string(programs.seed) + ", program " + std::to_string(numbers[n]) + ": " +
                      text.str() + "\n  " + again(programs, numbers[n], target));
  }
  return found;
}

}  // namespace rapt::sim::random
