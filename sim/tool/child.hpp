// A HIP program run on the simulator.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rapt::sim::tool {

struct Ending {
  int code = 0;    // exit code
  int signal = 0;  // that killed it, or 0
  bool good() const { return code == 0 && signal == 0; }
  std::string text() const;  // "exit code 3", "signal 11 (Segmentation fault)"
};

using Variables = std::vector<std::pair<std::string, std::string>>;

// Runs it to its end with our libamdhip64 first on its library path and these variables set. Throws InputError if it
// cannot be started.
Ending run_program(const std::vector<std::string>& command, const Variables& variables);

// Checks --arch as RAPT_SIM_ARCH takes it: one architecture or a comma list. Throws InputError.
void check_archs(const std::string& text);

// A temporary folder for one command.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace rapt::sim::tool
