// Random programs for as long as wanted.
//
//   sim_random --seed 7 --only 3 --arch gfx942 --level 1 --compiler clang-22 [--source]   one program again
//   sim_random --seed 1000 --modules 100 --programs 50 --arch gfx942 [--level 0]...        a list
//
// Modules alternate between the compilers where none is named. Exits with 1 where anything differs.
#include "sim/tests/random/programs.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace {
using namespace rapt::sim;

// Programs of the nightly list that clang-22 compiles wrongly in ways that the generator does not avoid
// (docs/log/2026-11-22-simulator-checks.md).
constexpr struct {
  std::uint64_t seed;
  unsigned program;
  const char* mistake;
} miscompiled[] = {
    {1054, 42, "StructurizeCFG"}, {1066, 19, "a packed operand of gfx11"},
    {1071, 33, "peephole-opt"},   {1074, 11, "peephole-opt"},
    {1078, 29, "peephole-opt"},   {1093, 43, "StructurizeCFG"},
    {1096, 44, "StructurizeCFG"},
};

struct Options {
  std::uint64_t seed = 1;
  unsigned modules = 1, programs = 50;
  std::optional<unsigned> only;
  std::vector<Arch> archs;
  std::string levels, compiler;
  bool source = false;
};

[[noreturn]] void refuse(const std::string& argument, const std::string& value, const char* allowed) {
  std::fprintf(stderr, "sim_random: %s '%s': it must be %s\n", argument.c_str(), value.c_str(), allowed);
  std::exit(2);
}

std::uint64_t number(const std::string& argument, const std::string& value, std::uint64_t most) {
  char* end = nullptr;
  const std::uint64_t parsed = std::strtoull(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || value[0] == '-' || parsed > most)
    refuse(argument, value, "a whole number, not too large");
  return parsed;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string argument = argv[n];
    if (argument == "--source") {
      options.source = true;
      continue;
    }
    const std::string value = n + 1 < argc ? argv[++n] : "";
    if (argument == "--seed") options.seed = number(argument, value, ~std::uint64_t{0});
    else if (argument == "--modules") options.modules = static_cast<unsigned>(number(argument, value, 1000000));
    else if (argument == "--programs") options.programs = static_cast<unsigned>(number(argument, value, 1000));
    else if (argument == "--only") options.only = static_cast<unsigned>(number(argument, value, 1000));
    else if (argument == "--arch") {
      const auto arch = parse_arch(value);
      if (!arch) refuse(argument, value, "an architecture such as gfx942");
      options.archs.push_back(*arch);
    } else if (argument == "--level") {
      if (value != "0" && value != "1" && value != "2" && value != "3") refuse(argument, value, "0, 1, 2 or 3");
      options.levels += value;
    } else if (argument == "--compiler") {
      if (value != "clang-19" && value != "clang-22") refuse(argument, value, "clang-19 or clang-22");
      options.compiler = value;
    } else {
      refuse("argument", argument, "--seed, --modules, --programs, --only, --arch, --level, --compiler or --source");
    }
  }
  if (options.archs.empty())
    for (int arch = 0; arch < arch_count; ++arch) options.archs.push_back(static_cast<Arch>(arch));
  if (options.levels.empty()) options.levels = "013";
  return options;
}

struct Counts {
  std::map<std::string, unsigned> programs;
  unsigned different = 0;
};

// A compiler that fails counts as a difference.
void compare(const random::Expected& expected, const random::Target& target, Counts& counts) {
  try {
    for (const std::string& text : random::differences(expected, target)) {
      std::printf("%s\n", text.c_str());
      ++counts.different;
    }
    const auto compared = static_cast<unsigned>(expected.programs().numbers().size());
    counts.programs[std::string(name(target.arch)) + " -O" + target.level + " " + target.compiler] += compared;
  } catch (const std::exception& failure) {
    std::printf("seed %llu, %s, -O%c: %s\n", static_cast<unsigned long long>(expected.programs().seed),
                std::string(name(target.arch)).c_str(), target.level, failure.what());
    ++counts.different;
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  Counts counts;
  for (unsigned module = 0; module < options.modules; ++module) {
    random::Programs programs{options.seed + module, options.programs, options.only};
    for (const auto& [seed, program, mistake] : miscompiled)
      if (seed == programs.seed && program < programs.count && !programs.only) {
        std::fprintf(stderr, "seed %llu, program %u: left out, clang-22 translates it wrongly: %s\n",
                     static_cast<unsigned long long>(seed), program, mistake);
        programs.without.push_back(program);
      }
    const std::string compiler = !options.compiler.empty() ? options.compiler : module % 2 ? "clang-19" : "clang-22";
    if (options.source) {
      std::fputs(random::source(programs).c_str(), stdout);
      continue;
    }
    try {
      const random::Expected expected(programs, compiler);
      for (const Arch arch : options.archs)
        for (const char level : options.levels)
          compare(expected, {arch, level, random::knows(compiler, arch) ? compiler : "clang-22"}, counts);
    } catch (const std::exception& failure) {
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(programs.seed), failure.what());
      ++counts.different;
    }
  }
  if (options.source) return 0;
  for (const auto& [what, count] : counts.programs) std::printf("%-24s %6u programs\n", what.c_str(), count);
  std::printf("%u differ\n", counts.different);
  return counts.different == 0 ? 0 : 1;
}
