#include "cli/tune/trial.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/core/placement.hpp"
#include "cli/inputs/error.hpp"

extern char** environ;

namespace rapt::cli {

namespace {

// This process's environment, except that on a simulator everything runs and no time is modelled.
std::vector<char*> environment() {
  std::vector<char*> all;
  for (char** e = environ; *e; ++e)
    if (!std::string_view(*e).starts_with("RAPT_SIM_TIME")) all.push_back(*e);
  all.push_back(nullptr);
  return all;
}

// An unlinked file that takes a process's output.
class Output {
 public:
  Output() {
    char name[] = "/tmp/rapt-tune-XXXXXX";
    fd_ = mkostemp(name, O_CLOEXEC);
    if (fd_ < 0) throw InputError("no file can be made in /tmp");
    unlink(name);
  }
  ~Output() { close(fd_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  int fd() const { return fd_; }
  std::string text() const {
    std::string all(static_cast<size_t>(std::max<off_t>(lseek(fd_, 0, SEEK_END), 0)), '\0');
    const ssize_t got = pread(fd_, all.data(), all.size(), 0);
    all.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return all;
  }

 private:
  int fd_;
};

pid_t start(std::vector<std::string> words, const Output& output) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> variables = environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output.fd(), 1);
  posix_spawn_file_actions_adddup2(&actions, output.fd(), 2);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw InputError(fmt::format("rapt verify cannot be started: {}", std::strerror(error)));
  return pid;
}

// False if it had to be killed.
bool wait_for(pid_t pid, double seconds, int& status) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// The command's error, else the first line that says what failed, else the last line. Runs of spaces become one.
std::string what_failed(const std::string& output) {
  std::string chosen;
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string line = output.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    chosen = line;
    if (line.starts_with("rapt: ") || line.find("FAIL") != std::string::npos) break;
  }
  std::string text;
  for (const char c : chosen)
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  return text;
}

}  // namespace

std::optional<std::string> try_out(const Problem& problem, rapt_op op, rapt_device device, const std::string& backend,
                                   double seconds) {
  const Output output;
  const pid_t pid = start({"rapt", "verify", "--device", device_name(device), "--backend", backend, "--op",
                           op == RAPT_FORWARD ? "fwd" : "bwd", problem.text()},
                          output);
  int status = 0;
  if (!wait_for(pid, seconds, status)) return std::nullopt;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFSIGNALED(status)) return fmt::format("its check was ended by signal {}", WTERMSIG(status));
  return what_failed(output.text());
}

}  // namespace rapt::cli
