#include "cli/install/aotriton.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "cli/inputs/error.hpp"
#include "rapt/rapt.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kKept = ".before-rapt";
constexpr const char* kArchives = "rapt";  // where the library finds its archives, beside itself

fs::path kept(const TorchLibraries& torch, const std::string& file) { return torch.folder / (file + kKept); }

void check_loads(const fs::path& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw InputError(fmt::format("{} does not load: {}", library.string(), dlerror()));
  constexpr const char* kCheckGpu = "_ZN8aotriton2v25flash9check_gpuENS_14StreamTemplateIP12ihipStream_tEE";
  const bool has_it = dlsym(handle, kCheckGpu) != nullptr;
  dlclose(handle);
  if (!has_it) throw InputError(fmt::format("{} has no check_gpu", library.string()));
}

void put(const fs::path& from, const fs::path& to) { fs::copy_file(from, to, fs::copy_options::overwrite_existing); }

void put_all(const TorchLibraries& torch, const Replacement& replacement) {
  fs::create_directory(torch.folder / kArchives);
  for (const fs::path& archive : replacement.archives) put(archive, torch.folder / kArchives / archive.filename());
  for (const std::string& file : torch.files) {
    fs::rename(torch.folder / file, kept(torch, file));
    put(replacement.library, torch.folder / file);
  }
  for (const std::string& file : torch.files) check_loads(torch.folder / file);
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
    throw InputError(fmt::format("{} has no libaotriton_v2.so beside it: this Rapt was built without", rapt.string()));
  for (const std::string& path : Archive::find())
    if (fs::path(path).filename().string().starts_with("gfx")) found.archives.emplace_back(path);
  if (found.archives.empty()) throw InputError("this Rapt has no kernels for AMD's GPUs");
  return found;
}

void install(const TorchLibraries& torch, const Replacement& replacement) {
  if (torch.installed)
    throw InputError(fmt::format("{} has Rapt's library already: `rapt install-aotriton --undo` takes it out",
                                 torch.folder.string()));
  if (const auto missing = missing_symbols(torch, replacement); !missing.empty())
    throw InputError(fmt::format("PyTorch calls {}, which Rapt's library has not", missing[0]));
  if (const fs::path ours = torch.folder / kArchives; fs::exists(ours))
    throw InputError(fmt::format("{} is there already, and not Rapt's", ours.string()));
  try {
    put_all(torch, replacement);
  } catch (...) {
    undo(torch);
    throw;
  }
}

void undo(const TorchLibraries& torch) {
  for (const std::string& file : torch.files)
    if (fs::exists(kept(torch, file))) fs::rename(kept(torch, file), torch.folder / file);
  fs::remove_all(torch.folder / kArchives);
}

}  // namespace rapt::cli
