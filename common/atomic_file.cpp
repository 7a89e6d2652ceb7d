#include "common/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace rapt::common {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

bool is_special(const std::string& path) {
  if (path.starts_with("/dev/")) return true;  // /dev/stdout leads to a regular file after a redirection
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  if (is_special(path_)) {
    fd_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd_ < 0) fail("open");
    return;
  }
  temporary_ = path_ + ".XXXXXX";
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) fail("create a temporary file next to it");
  const mode_t mask = umask(0);  // mkostemp made it private; give it the mode that open() would have
  umask(mask);
  fchmod(fd_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  throw std::runtime_error(path_ + ": cannot " + what + ": " + std::strerror(errno));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr size_t kMost = size_t{1} << 30;  // a single write() takes less than 2 GiB
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), kMost));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void AtomicFile::sync() {
  if (!temporary_.empty() && fsync(fd_) != 0) fail("write to disk");
  synced_ = true;
}

void AtomicFile::commit() {
  if (!synced_) sync();
  if (!temporary_.empty() && rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename the temporary file to it");
  close(std::exchange(fd_, -1));
  if (temporary_.empty()) return;
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // the file is in place; only the durability of its name is unknown
  fsync(folder);
  close(folder);
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace rapt::common
