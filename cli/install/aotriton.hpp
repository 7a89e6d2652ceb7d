// Puts Rapt's libaotriton_v2 in the place of AOTriton's in a PyTorch for ROCm, and takes it out again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rapt::cli {

namespace fs = std::filesystem;

// AOTriton in one installation of PyTorch.
struct TorchLibraries {
  fs::path folder;                   // torch/lib
  std::vector<std::string> files;    // AOTriton's, such as libaotriton_v2.so.0.11.1; links are not among them
  std::string release;               // "0.11.1", or "0.7 or before" where names have no version
  std::vector<std::string> callers;  // the libraries that call it
  std::vector<std::string> symbols;  // the functions that they call
  bool installed = false;            // Rapt's is there
};

// What Rapt has to give.
struct Replacement {
  fs::path library;                // libaotriton_v2.so
  std::vector<fs::path> archives;  // AMD's
};

// Both throw InputError with what is missing, and what is there instead.
TorchLibraries find_torch_libraries(const fs::path& torch);
Replacement find_replacement();

// The functions that the callers need and the replacement has not.
std::vector<std::string> missing_symbols(const TorchLibraries& torch, const Replacement& replacement);

// The folder of the torch that `python3` would import; throws InputError if it has none.
fs::path torch_of_python();

// Keeps AOTriton's files beside, as NAME.before-rapt, and loads what it put there; if that fails, everything is as
// before, and it throws InputError.
void install(const TorchLibraries& torch, const Replacement& replacement);
void undo(const TorchLibraries& torch);

}  // namespace rapt::cli
