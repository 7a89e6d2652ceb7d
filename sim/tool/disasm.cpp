// rapt-sim disasm: the decoder's text of code objects, bundles, programs, or bare instruction words.
#include "sim/isa/properties.hpp"
#include "sim/isa/decode.hpp"
#include "sim/loader/bundle.hpp"
#include "sim/tool/child.hpp"
#include "sim/tool/code_file.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace rapt::sim::tool {
namespace {

struct DisasmOptions {
  std::string file, kernel, arch;
  bool raw = false;
};

std::vector<std::byte> read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(fmt::format("cannot read '{}': it is a folder", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad() || bytes.empty())
    throw InputError(fmt::format("cannot read '{}': {}", path, errno != 0 ? std::strerror(errno) : "it is empty"));
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

// Lines of one range of code. Repeated instructions (padding) are printed as one line.
void print_code(DecodeMode mode, std::span<const std::byte> code, std::uint64_t address) {
  std::vector<std::uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), words.size() * 4);
  std::string before;
  std::size_t repeated = 0;
  const auto flush = [&] {
    if (repeated > 0) fmt::print("           ... {} more of it\n", repeated);
    repeated = 0;
  };
  for (std::size_t at = 0; at < words.size();) {
    const auto i = decode(mode, std::span(words).subspan(at, std::min<std::size_t>(5, words.size() - at)));
    const std::size_t size = i ? i->size / 4 : 1;
    const std::string text = i ? print(mode, *i) : fmt::format(".long 0x{:08x}", words[at]);
    if (text == before) {
      ++repeated;
    } else {
      flush();
      std::string encoding;
      for (std::size_t n = 0; n < size; ++n) encoding += fmt::format(" {:08x}", words[at + n]);
      fmt::print("  {:08x}  {:<60} //{}\n", address + at * 4, text, encoding);
      before = text;
    }
    at += size;
  }
  flush();
}

// From its entry to the next kernel's, or to the end of the text.
bool print_object(const FoundCode& found, const std::string& wanted, std::set<std::string>& names) {
  const auto object = CodeObject::load(found.elf, found.arch, 0);
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : object->kernels()) kernels.push_back(&kernel);
  std::sort(kernels.begin(), kernels.end(), [](const Kernel* a, const Kernel* b) { return a->entry < b->entry; });
  const auto text = object->text();
  const auto base = reinterpret_cast<std::uint64_t>(text.data());
  bool printed = false;
  const auto print_part = [&](std::uint64_t begin, std::uint64_t end, unsigned lanes) {
    print_code({object->arch(), lanes}, text.subspan(begin - base, end - begin), begin - base);
    printed = true;
  };
  const std::uint64_t first = kernels.empty() ? base + text.size() : kernels.front()->entry;
  if (wanted.empty() && first > base) {
    fmt::print("\n{}: before the first kernel\n", name(found.arch));
    print_part(base, first, sim::properties(found.arch).lanes);
  }
  for (std::size_t n = 0; n < kernels.size(); ++n) {
    const Kernel& kernel = *kernels[n];
    names.insert(kernel.name);
    if (!wanted.empty() && kernel.name != wanted) continue;
    fmt::print("\n{}: {}, wave{}\n", name(found.arch), kernel.name, kernel.lanes);
    print_part(kernel.entry, n + 1 < kernels.size() ? kernels[n + 1]->entry : base + text.size(), kernel.lanes);
  }
  return printed;
}

int disasm_command(const DisasmOptions& options) {
  const auto bytes = read_file(options.file);
  std::optional<Arch> arch;
  if (!options.arch.empty()) {
    check_archs(options.arch);
    arch = parse_arch(options.arch);
    if (!arch) throw InputError(fmt::format("--arch: '{}' is not one architecture", options.arch));
  }
  if (options.raw) {
    if (!arch) throw InputError("--raw: instruction words need --arch");
    print_code({instructions_of(*arch), sim::properties(*arch).lanes}, bytes, 0);
    return 0;
  }
  std::vector<FoundCode> found;
  bool printed = false;
  std::set<std::string> names;
  try {
    found = find_code(bytes, arch ? &*arch : nullptr);
    for (const FoundCode& code : found) printed |= print_object(code, options.kernel, names);
  } catch (const LoadError& failure) {
    throw InputError(fmt::format("'{}': {}", options.file, failure.what()));
  }
  if (found.empty())
    throw InputError(fmt::format("'{}' has no code for {}", options.file,
                                 arch ? std::string(name(*arch)) : "an architecture that the simulator knows"));
  if (!printed)
    throw InputError(
        fmt::format("--kernel: '{}' has no '{}'; there are {}", options.file, options.kernel, fmt::join(names, ", ")));
  return 0;
}

}  // namespace

void add_disasm(CLI::App& app, Action& action) {
  auto o = std::make_shared<DisasmOptions>();
  CLI::App* sub = app.add_subcommand("disasm", "Print the instructions of a code object, bundle or program");
  sub->add_option("file", o->file, "A code object, an offload bundle (compressed or not), or a program with HIP code")
      ->required();
  sub->add_option("--kernel", o->kernel, "Only this kernel");
  sub->add_option("--arch", o->arch, "Only code for this architecture");
  sub->add_flag("--raw", o->raw, "The file holds only instruction words for --arch");
  sub->footer(
      "Examples:\n"
      "  rapt-sim disasm kernel.co\n"
      "  rapt-sim disasm ./program --arch gfx942 --kernel scale");
  sub->callback([o, &action] { action = [o] { return disasm_command(*o); }; });
}

}  // namespace rapt::sim::tool
