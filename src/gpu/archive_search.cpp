// Finds an architecture's archive: by name, in RAPT_KERNEL_PATH, or next to the library.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "gpu/archive.hpp"
#include "kernels/siblings.hpp"

namespace rapt::gpu {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".rapt";

// lib/rapt of an installation, kernels/ of the build tree, or the folder where PyTorch's wheels keep kernels, relative
// to the library or, if it is linked statically, to the program.
void add_places_beside_library(std::vector<fs::path>& places) {
  Dl_info info{};
  static const char here = 0;
  if (dladdr(&here, &info) == 0 || info.dli_fname == nullptr) return;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(info.dli_fname, error).parent_path();
  if (error) return;
  for (const fs::path& place :
       {folder / "rapt", folder.parent_path() / "lib" / "rapt", folder.parent_path() / "kernels"})
    places.push_back(place);
  const fs::path in_torch = folder / "aotriton.images" / "rapt";
  if (fs::is_directory(in_torch, error)) places.push_back(in_torch);
}

std::vector<fs::path> search_path() {
  std::vector<fs::path> places;
  if (const char* given = std::getenv("RAPT_KERNEL_PATH")) {
    std::string_view rest = given;
    while (!rest.empty()) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      if (colon > 0) places.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  add_places_beside_library(places);
  return places;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_archive_name(const fs::path& path) { return path.extension() == kSuffix && path.stem() != ""; }

std::vector<std::string> archives_at(const fs::path& place) {
  std::vector<std::string> found;
  if (is_archive_name(place) && is_file(place)) return {place.string()};
  std::error_code error;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
    if (is_archive_name(entry->path()) && is_file(entry->path())) found.push_back(entry->path().string());
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> archives_in(const std::vector<fs::path>& places) {
  std::vector<std::string> found;
  for (const fs::path& place : places)
    for (const std::string& path : archives_at(place))
      if (std::ranges::none_of(found, [&](const fs::path& other) { return other.stem() == fs::path(path).stem(); }))
        found.push_back(path);
  return found;
}

}  // namespace

std::vector<std::string> find_archives() { return archives_in(search_path()); }

std::string find_archive(const std::string& gpu, const std::string& place) {
  const std::string arch(code_of(gpu));
  if (!place.empty() && is_file(place)) return place;
  const std::vector<fs::path> places = place.empty() ? search_path() : std::vector<fs::path>{place};
  const std::vector<std::string> there = archives_in(places);
  for (const std::string& path : there)
    if (fs::path(path).stem() == arch) return path;
  std::string message = cat("no kernel archive ", arch, kSuffix, " in ");
  for (const fs::path& searched : places) message += cat(&searched == places.data() ? "" : ", ", searched.string());
  message += "; ";
  if (there.empty()) message += "no other archive is there either";
  for (const std::string& path : there)
    message += cat(&path == there.data() ? "there is one for " : ", ", fs::path(path).stem().string());
  message +=
      cat(". If Rapt has kernels for ", arch, ", a wheel that has it can be installed, or `make archives ARCHS=", arch,
          "` builds it; RAPT_KERNEL_PATH can name its folder");
  throw Error(RAPT_UNSUPPORTED, message);
}

}  // namespace rapt::gpu
