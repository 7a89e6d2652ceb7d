#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"
#include "cli/inputs/error.hpp"
#include "cli/install/aotriton.hpp"

namespace rapt::cli {

namespace {

struct InstallOptions {
  std::string torch;
  bool dry_run = false, undo = false;
};

void print_torch(const TorchLibraries& torch) {
  fmt::print("{} was built with AOTriton {}: {} of its functions are called by {}\n", torch.folder.string(),
             torch.release, torch.symbols.size(), fmt::join(torch.callers, ", "));
}

int undo_command(const TorchLibraries& torch, bool dry_run) {
  if (torch.replaced.empty() && torch.leftovers.empty())
    throw InputError(fmt::format("{} has AOTriton's own library", torch.folder.string()));
  if (!dry_run) undo(torch);
  fmt::print("{} {} AOTriton's own\n", fmt::join(torch.files, ", "), dry_run ? "would again be" : "is again");
  return 0;
}

int install_command(const InstallOptions& options) {
  const fs::path torch_folder = options.torch.empty() ? torch_of_python() : fs::path(options.torch);
  if (torch_folder.empty())
    throw InputError("python3 finds no torch: activate its environment, or name its folder with --torch");
  const fs::path folder = library_folder(torch_folder);
  const FolderLock lock(folder);
  const TorchLibraries torch = find_torch_libraries(folder);
  print_torch(torch);
  if (options.undo) return undo_command(torch, options.dry_run);
  const Replacement replacement = find_replacement();
  check_install(torch, replacement);
  if (!options.dry_run) install(torch, replacement);
  fmt::print("{} {} Rapt's, with {} kernel archives beside it; AOTriton's {} kept as *.before-rapt\n",
             fmt::join(torch.files, ", "), options.dry_run ? "would be" : "is now", replacement.archives.size(),
             options.dry_run ? "would be" : "is");
  return 0;
}

}  // namespace

void add_install_aotriton(CLI::App& app, Action& action) {
  auto options = std::make_shared<InstallOptions>();
  CLI::App* sub = app.add_subcommand("install-aotriton",
                                     "Put Rapt in the place of AOTriton in a PyTorch for ROCm, and take it out again");
  sub->add_option("--torch", options->torch,
                  "PyTorch's folder; otherwise the folder of the torch that python3 imports");
  sub->add_flag("--dry-run", options->dry_run, "Say what would be done, and do nothing");
  sub->add_flag("--undo", options->undo, "Put AOTriton's own library back");
  sub->footer("Example:\n  rapt install-aotriton --dry-run");
  sub->callback([options, &action] { action = [options] { return install_command(*options); }; });
}

}  // namespace rapt::cli
