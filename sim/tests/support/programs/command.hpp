// The rapt-sim command on HIP programs that tests compile.
#pragma once

#include "sim/tests/support/programs/bundles.hpp"

namespace rapt::sim::test {

// Includes and declarations for such a program, in place of HIP's headers.
extern const char* const program_prelude;

// The folder of the run-time libraries.
inline const std::string library_folder = RAPT_SIM_LIBRARY_FOLDER;

// The compiled program's path.
std::string compile_program(const std::string& source);

struct Outcome {
  int code;
  std::string out, err;
};
// The command with these arguments, and what it printed where.
Outcome run_command(const std::string& arguments);

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace rapt::sim::test
