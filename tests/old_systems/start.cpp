// Ends with 0 if constructors ran once before main, in order and with the program's arguments:
// cmake/glibc_2_28_start.S.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

int order = 0, first = 0, second = 0, seen_argc = 0;
const char* seen_argument = "";

__attribute__((constructor(101))) void early(int argc, char** argv, char** envp) {
  first = ++order;
  seen_argc = envp != nullptr ? argc : 0;
  if (argc > 1) seen_argument = argv[1];
}

const struct Late {
  std::string text = "of a static object";
  Late() { second = ++order; }
  ~Late() { std::puts("destroyed"); }
} late;

bool throws() {
  try {
    throw std::runtime_error(late.text);
  } catch (const std::exception& e) {
    return late.text == e.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool ok = first == 1 && second == 2 && order == 2 && argc == 2 && seen_argc == 2 &&
                  std::strcmp(seen_argument, argv[1]) == 0 && throws();
  std::printf("%d constructors, %d arguments: %s\n", order, seen_argc, ok ? "ok" : "FAILED");
  return ok ? 0 : 1;
}
