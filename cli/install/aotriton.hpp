// Puts Rapt's libaotriton_v2 in the place of AOTriton's in a PyTorch for ROCm, and takes it out again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rapt::cli {

namespace fs = std::filesystem;

// Names beside the libraries in PyTorch's folder.
inline constexpr const char* kKept = ".before-rapt";  // after the name of AOTriton's file
inline constexpr const char* kArchives = "rapt";      // where Rapt's library finds its archives
inline constexpr const char* kPart = "rapt.part";     // what is being written

// AOTriton in one installation of PyTorch.
struct TorchLibraries {
  fs::path folder;                    // torch/lib
  std::vector<std::string> files;     // AOTriton's, such as libaotriton_v2.so.0.11.1, without links
  std::string release;                // "0.11.1", or "0.7 or before" where names have no version
  std::vector<std::string> callers;   // the libraries that call it
  std::vector<std::string> symbols;   // the functions that they call
  std::vector<std::string> replaced;  // the names in `files` that are Rapt's
  // What an earlier installation left, where PyTorch was installed anew or the command was interrupted.
  std::vector<std::string> leftovers;
};

// Rapt's library and archives.
struct Replacement {
  fs::path library;                // libaotriton_v2.so
  std::vector<fs::path> archives;  // AMD's
};

// These functions throw InputError with what is missing, and what is there instead.
fs::path library_folder(const fs::path& torch);  // torch/lib
TorchLibraries find_torch_libraries(const fs::path& library_folder);
Replacement find_replacement();

// Keeps other processes from installing in a folder while it lives.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  const int directory_;
};

// The functions that the callers need and the replacement lacks.
std::vector<std::string> missing_symbols(const TorchLibraries& torch, const Replacement& replacement);

// The folder of the torch that `python3` would import, "" if there is none.
fs::path torch_of_python();

// AOTriton in that torch, or why there is none.
std::optional<TorchLibraries> libraries_of_python(std::string& why_not);

// The libaotriton_v2 that this torch loads and whether it is Rapt's, or why there is none.
std::string aotriton_status();

// Throws InputError if install() would.
void check_install(const TorchLibraries& torch, const Replacement& replacement);

// Keeps AOTriton's files as NAME.before-rapt. Everything is written and loaded in a folder of its own first, then
// renamed. If that fails, it restores the folder and throws InputError. The folder must be locked, in undo() too.
void install(const TorchLibraries& torch, const Replacement& replacement);
void undo(const TorchLibraries& torch);

}  // namespace rapt::cli
