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
constexpr int kOldestMinor = 7, kNewestMinor = 14;
const std::vector<std::string> kPrefixes = {"_ZN8aotriton", "_ZNK8aotriton"};

bool has_library(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(kName)) return true;
  return false;
}

fs::path folder_with_library(const fs::path& torch) {
  for (const fs::path& folder : {torch, torch / "lib", torch / "torch" / "lib"})
    if (has_library(folder)) return folder;
  std::error_code none;
  if (!fs::is_directory(torch, none)) throw InputError(fmt::format("{} is not a folder", torch.string()));
  throw InputError(fmt::format(
      "{0} and its folders lib and torch/lib have no {1}. Every PyTorch for ROCm has it, unless it was built with "
      "AOTriton 0.6 or before, which is part of PyTorch's own libraries",
      torch.string(), kName));
}

// "0.11.1" of libaotriton_v2.so.0.11.1, "" of libaotriton_v2.so.
std::string version_in(const std::string& file) {
  const std::string after = file.substr(std::string_view(kName).size());
  return after.starts_with('.') ? after.substr(1) : after;
}

// 11 of "0.11.1"
int minor_of(const std::string& file, const std::string& version) {
  int minor = 0;
  const bool numbers = version.find_first_not_of("0123456789.") == std::string::npos;
  if (numbers && std::sscanf(version.c_str(), "0.%d", &minor) == 1 && minor >= kOldestMinor && minor <= kNewestMinor)
    return minor;
  throw InputError(
      fmt::format("{} is of AOTriton {}, this Rapt replaces 0.{} to 0.{}: a newer Rapt may know it, and "
                  "rapt.torch.enable() needs no AOTriton",
                  file, version, kOldestMinor, kNewestMinor));
}

// Files named "0.11" and "0.11.1" belong to one release: an archive without links has copies of its library.
void add_file(const std::string& file, TorchLibraries& to) {
  to.files.push_back(file);
  const std::string version = version_in(file);
  if (version.empty()) return;
  const int minor = minor_of(file, version);
  if (!to.release.empty() && minor_of(file, to.release) != minor)
    throw InputError(fmt::format("{} has AOTriton {} and {}: which one PyTorch loads is unknown", to.folder.string(),
                                 to.release, version));
  if (version.size() > to.release.size()) to.release = version;
}

// No release of AOTriton has functions of both 0.9 and 0.10.
bool is_rapts(const fs::path& library) {
  const auto defined = elf_symbols(library.string(), kPrefixes).defined;
  const auto has = [&](const char* name) {
    return std::ranges::any_of(defined, [&](const std::string& symbol) { return symbol.starts_with(name); });
  };
  return has("_ZN8aotriton17getArchFromStream") && has("_ZN8aotriton16getGpuFromStream");
}

std::string name_of_kept(const std::string& file) {
  return file.substr(0, file.size() - std::string_view(kKept).size());
}

// Finds AOTriton's files, by name even where Rapt's have replaced them, and what earlier installations left.
void find_files(TorchLibraries& torch) {
  std::vector<std::string> files, kept;
  for (const auto& entry : fs::directory_iterator(torch.folder)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(kName) && entry.is_regular_file() && !entry.is_symlink())
      (file.ends_with(kKept) ? kept : files).push_back(file);
  }
  std::ranges::copy_if(files, std::back_inserter(torch.replaced),
                       [&](const std::string& file) { return is_rapts(torch.folder / file); });
  if (files.empty()) {  // the kept files then have no place to return to
    std::ranges::transform(kept, std::back_inserter(files), name_of_kept);
    torch.replaced = files;
  }
  for (const std::string& file : kept)
    if (std::ranges::find(torch.replaced, name_of_kept(file)) == torch.replaced.end()) torch.leftovers.push_back(file);
  if (!torch.leftovers.empty() && torch.replaced.empty()) torch.leftovers.emplace_back(kArchives);
  if (fs::exists(torch.folder / kPart)) torch.leftovers.emplace_back(kPart);
  std::ranges::sort(files);
  for (const std::string& file : files) add_file(file, torch);
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

fs::path library_folder(const fs::path& torch) { return fs::canonical(folder_with_library(torch)); }

TorchLibraries find_torch_libraries(const fs::path& library_folder) {
  TorchLibraries found;
  found.folder = library_folder;
  find_files(found);
  if (found.files.empty()) throw InputError(fmt::format("{} has only links named {}", found.folder.string(), kName));
  find_callers(found);
  if (found.release.empty()) {
    const bool calls_v3 = std::ranges::any_of(
        found.symbols, [](const std::string& symbol) { return symbol.find("2v35flash") != std::string::npos; });
    found.release = calls_v3 ? "0.10 or later" : "0.7 or before";
  }
  if (found.callers.empty())
    throw InputError(fmt::format(
        "no library in {} calls AOTriton: --torch must name a PyTorch for ROCm that has attention by AOTriton",
        found.folder.string()));
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
  return answer;
}

}  // namespace rapt::cli
