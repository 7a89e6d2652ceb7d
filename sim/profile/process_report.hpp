// What a process's launches add up to, written to a file when the process ends.
#pragma once

#include "common/atomic_file.hpp"
#include "sim/isa/opcode_index.hpp"

#include <cstdio>
#include <string>

#include <unistd.h>

namespace rapt::sim {

// Log has kernels(), empty if there is nothing to report, and report(), the file's text. Created before the streams
// register their end, so that it is destroyed after them.
template <typename Log>
class ProcessReport {
 public:
  // variable: the environment variable that gave the file's name, for messages; no file: nothing is wanted.
  ProcessReport(const char* variable, std::string file)
      : variable_(variable), file_(std::move(file)), process_(getpid()) {
    if (!file_.empty()) opcodes(Arch::gfx942);  // creates the decoder's tables, which then outlive this
  }
  ~ProcessReport() {
    // A forked process has counted nothing.
    if (file_.empty() || log_.kernels().empty() || getpid() != process_) return;
    try {
      common::write_file(file_, log_.report());
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "rapt-sim: %s: %s\n", variable_, failure.what());
    }
  }
  ProcessReport(const ProcessReport&) = delete;
  ProcessReport& operator=(const ProcessReport&) = delete;

  Log* log() { return file_.empty() ? nullptr : &log_; }

 private:
  const char* variable_;
  std::string file_;
  pid_t process_;
  Log log_;
};

}  // namespace rapt::sim
