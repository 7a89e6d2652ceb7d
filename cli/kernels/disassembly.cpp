#include "cli/kernels/disassembly.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/inputs/error.hpp"

extern char** environ;

namespace rapt::cli {

namespace {

struct Rule {
  std::string_view prefix, name;
};

// The first prefix that fits decides.
constexpr Rule kRules[] = {
    {"v_mfma_", "matrix"},
    {"v_smfmac_", "matrix"},
    {"v_wmma_", "matrix"},
    {"v_swmmac_", "matrix"},
    {"v_exp_", "transcendental"},
    {"v_log_", "transcendental"},
    {"v_rcp_", "transcendental"},
    {"v_rsq_", "transcendental"},
    {"v_sqrt_", "transcendental"},
    {"v_sin_", "transcendental"},
    {"v_cos_", "transcendental"},
    {"v_dual_", "VALU, two in one"},
    {"v_accvgpr_", "AGPR moves"},
    {"v_", "VALU"},
    {"ds_read", "LDS reads"},
    {"ds_load", "LDS reads"},
    {"ds_write", "LDS writes"},
    {"ds_store", "LDS writes"},
    {"ds_", "LDS, other"},
    {"scratch_", "scratch"},
    {"global_load", "memory reads"},
    {"buffer_load", "memory reads"},
    {"flat_load", "memory reads"},
    {"global_store", "memory writes"},
    {"buffer_store", "memory writes"},
    {"flat_store", "memory writes"},
    {"global_", "memory, other"},
    {"buffer_", "memory, other"},
    {"flat_", "memory, other"},
    {"s_load", "scalar memory"},
    {"s_buffer_load", "scalar memory"},
    {"s_wait", "waits"},
    {"s_barrier", "barriers"},
    {"s_branch", "branches"},
    {"s_cbranch", "branches"},
    {"s_nop", "nops and hints"},
    {"s_delay_alu", "nops and hints"},
    {"s_clause", "nops and hints"},
    {"s_set", "nops and hints"},
    {"s_sleep", "nops and hints"},
    {"s_", "SALU"},
    {"", "unknown"},
};

constexpr std::string_view kFillers = "s_code_end";  // after the program's end, for the instruction prefetch

class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const char> bytes) {
    const char* folder = std::getenv("TMPDIR");
    path_ = fmt::format("{}/rapt.XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = mkostemp(path_.data(), O_CLOEXEC);
    if (fd < 0) throw InputError(fmt::format("{}: cannot create: {}", path_, std::strerror(errno)));
    const bool written = write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(fd);
    if (written) return;
    unlink(path_.c_str());
    throw InputError(fmt::format("{}: cannot write", path_));
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The program's output; false if there is no such program.
bool output_of(const std::vector<std::string>& command, std::string& output) {
  std::vector<char*> arguments(command.size() + 1);  // ends with a null
  std::ranges::transform(command, arguments.begin(), [](const std::string& a) { return const_cast<char*>(a.c_str()); });
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[65536];
  for (ssize_t n = 0; error == 0 && ((n = read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR));)
    if (n > 0) output.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  if (error != 0) return false;
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw InputError(fmt::format("{} cannot disassemble the code object", command[0]));
  return true;
}

std::vector<std::string> disassemblers() {
  if (const char* given = std::getenv("RAPT_OBJDUMP"); given && *given) return {given};
  return {"llvm-objdump-22", "llvm-objdump", "llvm-objdump-21", "llvm-objdump-20", "/opt/rocm/llvm/bin/llvm-objdump"};
}

}  // namespace

std::string_view instruction_class(std::string_view mnemonic) {
  return std::ranges::find_if(kRules, [&](const Rule& rule) { return mnemonic.starts_with(rule.prefix); })->name;
}

void count_instructions(std::string_view text, Disassembly& into) {
  for (const Rule& rule : kRules)
    if (std::ranges::find(into.classes, rule.name, &InstructionClass::name) == into.classes.end())
      into.classes.push_back({rule.name});
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with('\t')) continue;  // a label or a heading
    line.remove_prefix(1);
    const std::string_view mnemonic = line.substr(0, line.find_first_of(" \t"));
    if (mnemonic.empty() || mnemonic == kFillers || mnemonic == "...") continue;
    ++std::ranges::find(into.classes, instruction_class(mnemonic), &InstructionClass::name)->count;
    ++into.total;
  }
}

Disassembly disassemble(std::span<const char> code) {
  const TemporaryFile file(code);
  const std::vector<std::string> tools = disassemblers();
  for (const std::string& tool : tools) {
    std::string text;
    // Code of gfx11 and gfx12 names 16-bit halves of registers, which LLVM reads only with this option.
    if (!output_of({tool, "-d", "--no-leading-addr", "--no-show-raw-insn", "--mattr=+real-true16", file.path()}, text))
      continue;
    Disassembly result{tool, {}, 0};
    count_instructions(text, result);
    return result;
  }
  throw InputError(
      fmt::format("counting instructions needs LLVM's disassembler, and none of these can be run: {}; "
                  "install llvm-22, or set RAPT_OBJDUMP",
                  fmt::join(tools, ", ")));
}

}  // namespace rapt::cli
