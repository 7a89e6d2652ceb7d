#include "engine/record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt {

namespace {

class Record {
 public:
  explicit Record(const char* path) : path_(path) {}

  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (!written_.insert(line).second) return;
    // Opened for each new problem, which is rare, and written at once, because several processes may share the file.
    const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    const ssize_t size = static_cast<ssize_t>(line.size());
    const bool ok = file >= 0 && ::write(file, line.data(), line.size()) == size;
    const int error = errno;
    if (file >= 0) ::close(file);
    if (!ok)
      throw Error(RAPT_INVALID_ARGUMENT,
                  cat("RAPT_RECORD names ", path_, ", which cannot be written: ", std::strerror(error)));
  }

 private:
  std::string path_;
  std::mutex mutex_;
  std::unordered_set<std::string> written_;
};

// Lives as long as the process: calls may come from destructors of other statics.
Record* opened() {
  static Record* const file = [] {
    const char* path = std::getenv("RAPT_RECORD");
    return path && *path ? new Record(path) : nullptr;
  }();
  return file;
}

}  // namespace

void record(const Problem& problem, rapt_op op) {
  if (Record* const file = opened())
    file->add(cat(op == RAPT_FORWARD ? "forward " : "backward ", problem.text(), "\n"));
}

}  // namespace rapt
