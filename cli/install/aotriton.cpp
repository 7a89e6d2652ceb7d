#include "cli/install/aotriton.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/inputs/error.hpp"
#include "rapt/rapt.hpp"

namespace rapt::cli {

namespace {

fs::path kept(const TorchLibraries& torch, const std::string& file) { return torch.folder / (file + kKept); }

void check_loads(const fs::path& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw InputError(fmt::format("{} does not load: {}", library.string(), dlerror()));
  constexpr const char* kCheckGpu = "_ZN8aotriton2v25flash9check_gpuENS_14StreamTemplateIP12ihipStream_tEE";
  const bool has_it = dlsym(handle, kCheckGpu) != nullptr;
  dlclose(handle);
  if (!has_it) throw InputError(fmt::format("{} has no check_gpu", library.string()));
}

void write_part(const TorchLibraries& torch, const Replacement& replacement) {
  const fs::path part = torch.folder / kPart;
  fs::create_directories(part / kArchives);
  for (const fs::path& archive : replacement.archives) fs::copy_file(archive, part / kArchives / archive.filename());
  for (const std::string& file : torch.files) {
    fs::copy_file(replacement.library, part / file);
    check_loads(part / file);
  }
}

// Gives the file a second name, so that the first name always has a library. Without hard links it is renamed.
void keep(const fs::path& file, const fs::path& as) {
  std::error_code no_links;
  fs::create_hard_link(file, as, no_links);
  if (no_links) fs::rename(file, as);
}

// This order lets undo() and install() find out what an interrupted installation has left.
void move_part(const TorchLibraries& torch) {
  const fs::path part = torch.folder / kPart;
  for (const std::string& file : torch.files) keep(torch.folder / file, kept(torch, file));
  fs::rename(part / kArchives, torch.folder / kArchives);
  for (const std::string& file : torch.files) fs::rename(part / file, torch.folder / file);
  fs::remove(part);
}

void remove_leftovers(const TorchLibraries& torch) {
  for (const std::string& name : torch.leftovers) fs::remove_all(torch.folder / name);
}

}  // namespace

Replacement find_replacement() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&rapt_version), &info) == 0 || info.dli_fname == nullptr)
    throw InputError("the command does not know where its library is");
  Replacement found;
  const fs::path rapt = fs::canonical(info.dli_fname), folder = rapt.parent_path();
  for (const fs::path& place : {folder, folder.parent_path() / "kernels"})  // installed, in the build tree
    if (found.library.empty() && fs::exists(place / "libaotriton_v2.so"))
      found.library = fs::canonical(place / "libaotriton_v2.so");
  if (found.library.empty())
    throw InputError(fmt::format(
        "{} has no libaotriton_v2.so beside it: this Rapt was built without it, a wheel of `make wheel` has it",
        rapt.string()));
  for (const std::string& path : Archive::find())
    if (fs::path(path).filename().string().starts_with("gfx")) found.archives.emplace_back(path);
  if (found.archives.empty())
    throw InputError(
        "this Rapt has no kernels for AMD's GPUs: a wheel of `make wheel` has them, `make archives` builds them");
  return found;
}

void check_install(const TorchLibraries& torch, const Replacement& replacement) {
  if (!torch.replaced.empty())
    throw InputError(fmt::format("{} has Rapt's library already: `rapt install-aotriton --undo` takes it out",
                                 torch.folder.string()));
  if (const auto missing = missing_symbols(torch, replacement); !missing.empty())
    throw InputError(
        fmt::format("PyTorch calls {}, which Rapt's library does not have: a newer Rapt may have it, and "
                    "rapt.torch.enable() needs no AOTriton",
                    missing[0]));
  const bool left = std::ranges::find(torch.leftovers, kArchives) != torch.leftovers.end();
  if (const fs::path ours = torch.folder / kArchives; !left && fs::exists(fs::symlink_status(ours)))
    throw InputError(fmt::format("{} exists already and is not Rapt's", ours.string()));
}

void install(const TorchLibraries& torch, const Replacement& replacement) {
  check_install(torch, replacement);
  remove_leftovers(torch);
  try {
    write_part(torch, replacement);
  } catch (...) {
    fs::remove_all(torch.folder / kPart);
    throw;
  }
  try {
    move_part(torch);
  } catch (...) {
    undo(find_torch_libraries(torch.folder));
    throw;
  }
}

void undo(const TorchLibraries& torch) {
  remove_leftovers(torch);
  if (torch.replaced.empty()) return;
  for (const std::string& file : torch.replaced)
    if (!fs::exists(kept(torch, file)))
      throw InputError(fmt::format("{} is gone: only PyTorch's installer brings AOTriton's own library back",
                                   kept(torch, file).string()));
  fs::remove_all(torch.folder / kArchives);
  for (const std::string& file : torch.replaced) fs::rename(kept(torch, file), torch.folder / file);
}

std::optional<TorchLibraries> libraries_of_python(std::string& why_not) {
  try {
    const fs::path folder = torch_of_python();
    if (!folder.empty()) return find_torch_libraries(library_folder(folder));
    why_not = "python3 finds no torch";
  } catch (const InputError& e) {
    why_not = e.what();
  }
  return std::nullopt;
}

std::string aotriton_status() {
  std::string why_not;
  const std::optional<TorchLibraries> torch = libraries_of_python(why_not);
  if (!torch) return "none: " + why_not;
  return fmt::format(
      "{}, {}", (torch->folder / torch->files.front()).string(),
      torch->replaced.empty() ? "not by Rapt: `rapt install-aotriton` puts Rapt's in its place" : "by Rapt");
}

FolderLock::FolderLock(const fs::path& folder) : directory_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (flock(directory_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError(fmt::format("another process installs in {}", folder.string()));
}

FolderLock::~FolderLock() {
  if (directory_ >= 0) close(directory_);
}

}  // namespace rapt::cli
