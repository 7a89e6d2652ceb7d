#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "cli/inputs/error.hpp"
#include "cli/install/aotriton.hpp"
#include "cli/install/elf_symbols.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kName = "libaotriton_v2.so";
constexpr const char* kKept = ".before-rapt";
constexpr int kNewestMinor = 13;
const std::vector<std::string> kPrefixes = {"_ZN8aotriton", "_ZNK8aotriton"};

bool has_library(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(kName)) return true;
  return false;
}

fs::path library_folder(const fs::path& torch) {
  for (const fs::path& folder : {torch, torch / "lib", torch / "torch" / "lib"})
    if (has_library(folder)) return folder;
  std::error_code none;
  if (!fs::is_directory(torch, none)) throw InputError(fmt::format("{} is no folder", torch.string()));
  throw InputError(fmt::format(
      "{0} has no {1}, nor have its folders lib and torch/lib: a PyTorch for ROCm has it, except those built "
      "with AOTriton 0.6 and before, which is part of their own libraries",
      torch.string(), kName));
}

// "0.11.1" of libaotriton_v2.so.0.11.1, "" of libaotriton_v2.so.
std::string version_in(const std::string& file) {
  const std::string after = file.substr(std::string_view(kName).size());
  return after.starts_with('.') ? after.substr(1) : after;
}

void check_release(const std::string& file, const std::string& version) {
  int minor = 0;
  if (std::sscanf(version.c_str(), "0.%d", &minor) == 1 && minor <= kNewestMinor) return;
  throw InputError(
      fmt::format("{} is of AOTriton {}, this Rapt stands in for 0.7 to 0.{}", file, version, kNewestMinor));
}

void add_file(std::string file, TorchLibraries& to) {
  if (file.ends_with(kKept)) {
    to.installed = true;
    file.resize(file.size() - std::string_view(kKept).size());
  }
  if (std::ranges::find(to.files, file) != to.files.end()) return;
  const std::string version = version_in(file);
  if (!version.empty()) {
    check_release(file, version);
    if (!to.release.empty() && to.release != version)
      throw InputError(fmt::format("{} has AOTriton {} and {}, which of them PyTorch loads is unknown",
                                   to.folder.string(), to.release, version));
    to.release = version;
  }
  to.files.push_back(file);
}

void find_callers(TorchLibraries& torch) {
  std::set<std::string> symbols;
  for (const auto& entry : fs::directory_iterator(torch.folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || entry.is_symlink() || name.find(".so") == std::string::npos ||
        name.starts_with(kName))
      continue;
    const ElfSymbols wanted = elf_symbols(entry.path().string(), kPrefixes);
    if (wanted.undefined.empty()) continue;
    torch.callers.push_back(name);
    symbols.insert(wanted.undefined.begin(), wanted.undefined.end());
  }
  std::ranges::sort(torch.callers);
  torch.symbols.assign(symbols.begin(), symbols.end());
}

}  // namespace

TorchLibraries find_torch_libraries(const fs::path& torch) {
  TorchLibraries found;
  found.folder = fs::canonical(library_folder(torch));
  for (const auto& entry : fs::directory_iterator(found.folder))
    if (const std::string file = entry.path().filename().string();
        file.starts_with(kName) && entry.is_regular_file() && !entry.is_symlink())
      add_file(file, found);
  std::ranges::sort(found.files);
  if (found.files.empty()) throw InputError(fmt::format("{} has only links named {}", found.folder.string(), kName));
  if (found.release.empty()) found.release = "0.7 or before";
  find_callers(found);
  if (found.callers.empty()) throw InputError(fmt::format("no library in {} calls AOTriton", found.folder.string()));
  return found;
}

std::vector<std::string> missing_symbols(const TorchLibraries& torch, const Replacement& replacement) {
  const std::vector<std::string> has = elf_symbols(replacement.library.string(), kPrefixes).defined;
  std::vector<std::string> missing;
  std::ranges::set_difference(torch.symbols, has, std::back_inserter(missing));
  return missing;
}

fs::path torch_of_python() {
  constexpr const char* kAsk =
      "python3 -c \"import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0])\" "
      "2>/dev/null";
  std::string answer;
  if (FILE* const pipe = popen(kAsk, "r")) {
    std::array<char, 4096> text;
    if (std::fgets(text.data(), text.size(), pipe)) answer = text.data();
    pclose(pipe);
  }
  while (answer.ends_with('\n')) answer.pop_back();
  if (answer.empty()) throw InputError("python3 finds no torch: name its folder with --torch");
  return answer;
}

}  // namespace rapt::cli
