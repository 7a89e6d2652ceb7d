#include "sim/tool/child.hpp"

#include "sim/timing/device_name.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rapt::sim::tool {
namespace {

// The libraries are in lib/, next to the folder of this command.
std::string library_folder() {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib";
  if (!std::filesystem::exists(folder / "libamdhip64.so"))
    throw InputError(fmt::format("the simulator's libamdhip64.so is not in {}", folder.string()));
  return folder.string();
}

// In the child: executes the program, or tells the parent why it cannot.
[[noreturn]] void become(const std::vector<std::string>& command, int report) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const auto written = write(report, &error, sizeof error);
  _exit(127);
}

Ending wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw InputError(fmt::format("cannot wait for the program: {}", std::strerror(errno)));
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

std::string Ending::text() const {
  return signal != 0 ? fmt::format("signal {} ({})", signal, strsignal(signal)) : fmt::format("exit code {}", code);
}

Ending run_program(const std::vector<std::string>& command, const Variables& variables) {
  const std::string folder = library_folder();
  const char* old = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", (old && *old ? folder + ":" + old : folder).c_str(), 1);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);

  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) throw InputError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) throw InputError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) become(command, report[1]);
  close(report[1]);
  // An interrupt from the terminal is for the program; what was counted until then is still shown.
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  int error = 0;
  const bool failed = read(report[0], &error, sizeof error) == sizeof error;
  close(report[0]);
  const Ending ending = wait_for(child);
  std::signal(SIGINT, interrupt);
  if (failed) throw InputError(fmt::format("cannot run '{}': {}", command[0], std::strerror(error)));
  return ending;
}

void check_archs(const std::string& text) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!timing::parse_device_name(word))
      throw InputError(fmt::format("--arch: no device is called '{}'; there are {}", word, timing::device_names()));
    at = end + 1;
  }
}

TemporaryFolder::TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "rapt-sim-XXXXXX").string()) {
  if (!mkdtemp(path_.data())) throw InputError(fmt::format("cannot make a temporary folder: {}", std::strerror(errno)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace rapt::sim::tool
