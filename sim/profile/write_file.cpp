#include "sim/profile/write_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <sys/stat.h>
#include <unistd.h>

namespace rapt::sim {

void write_file(const std::string& path, std::string_view text) {
  struct stat kind{};
  const bool special = stat(path.c_str(), &kind) == 0 && !S_ISREG(kind.st_mode);  // a pipe, a terminal, /dev/null
  std::string beside = path + ".XXXXXX";
  const auto fail = [&](const char* what, int error) {
    throw std::runtime_error(std::string("cannot ") + what + " " + path + ": " + std::strerror(error));
  };
  int fd = -1;
  std::FILE* file = nullptr;
  if (special) {
    file = std::fopen(path.c_str(), "w");
  } else if ((fd = mkstemp(beside.data())) >= 0) {
    file = fdopen(fd, "w");
  }
  if (!file) fail("write", errno);
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  good = std::fflush(file) == 0 && good;
  if (good && !special) {
    const mode_t mask = umask(0);
    umask(mask);
    good = fchmod(fd, 0666 & ~mask) == 0;
  }
  const int error = errno;
  good = std::fclose(file) == 0 && good;
  if (good && (special || std::rename(beside.c_str(), path.c_str()) == 0)) return;
  const int reason = good ? errno : error;
  if (!special) unlink(beside.c_str());
  fail("write", reason);
}

}  // namespace rapt::sim
