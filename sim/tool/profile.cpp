// rapt-sim profile: the counters of a program's kernels.
#include "common/atomic_file.hpp"
#include "sim/tool/child.hpp"
#include "sim/tool/report.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

namespace rapt::sim::tool {
namespace {

struct ProfileOptions {
  std::string arch, kernel, html, json;
  std::vector<std::string> program;
};

int profile_command(const ProfileOptions& options) {
  if (!options.arch.empty()) check_archs(options.arch);
  const TemporaryFolder folder;
  const std::string file = folder.file("profile.json");
  Variables variables{{"RAPT_SIM_PROFILE", file}};
  if (!options.arch.empty()) variables.emplace_back("RAPT_SIM_ARCH", options.arch);
  const Ending ending = run_program(options.program, variables);
  std::fflush(stdout);
  if (!ending.good()) fmt::print(stderr, "rapt-sim: the program ended with {}\n", ending.text());
  std::ifstream stream(file);
  if (!stream) {
    fmt::print(stderr, "rapt-sim: no kernel was launched on the simulator, or the program did not return from main\n");
    return 1;
  }
  Json profile = Json::parse(stream);
  if (!options.kernel.empty()) keep_only(profile, options.kernel);
  for (const Json& kernel : profile["kernels"]) fmt::print("\n{}", profile_text(kernel));
  if (!options.json.empty()) common::write_file(options.json, profile.dump(1) + "\n");
  if (!options.html.empty()) common::write_file(options.html, profile_html(profile));
  return ending.good() ? 0 : 1;
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  auto o = std::make_shared<ProfileOptions>();
  CLI::App* sub = app.add_subcommand("profile", "Run a program and show what its kernels do, by counters");
  sub->add_option("--arch", o->arch, "The simulated devices: one architecture or a comma list (RAPT_SIM_ARCH)");
  sub->add_option("--kernel", o->kernel, "Only this kernel");
  sub->add_option("--html", o->html, "Write a page with charts to this file");
  sub->add_option("--json", o->json, "Write all numbers to this file");
  sub->add_option("program", o->program, "The program and its arguments, after --")->required();
  sub->footer(
      "Examples:\n"
      "  rapt-sim profile -- ./program\n"
      "  rapt-sim profile --arch gfx1151 --kernel attention --html profile.html -- ./program --size 1024");
  sub->callback([o, &action] { action = [o] { return profile_command(*o); }; });
}

}  // namespace rapt::sim::tool
