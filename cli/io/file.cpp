#include "cli/io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace rapt::cli {

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

[[noreturn]] void fail_with_errno(const std::string& path, const char* what) {
  throw InputError(fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) fail_with_errno(path_, "create a temporary file beside it");
  const mode_t mask = umask(0);  // mkostemp made it private; give it what open() would have
  umask(mask);
  fchmod(fd_, 0666 & ~mask);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const { fail_with_errno(path_, what); }

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
  if (fsync(fd_) != 0) fail("write to disk");
  synced_ = true;
}

void AtomicFile::commit() {
  if (!synced_) sync();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename the temporary file to it");
  close(std::exchange(fd_, -1));
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // the file is in place; only its name's durability is unknown
  fsync(folder);
  close(folder);
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

MappedFile::MappedFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
  if (fd < 0) fail_with_errno(path, "open");
  struct stat info{};
  const bool known = fstat(fd, &info) == 0;
  const bool regular = known && S_ISREG(info.st_mode);
  size_ = regular ? static_cast<size_t>(info.st_size) : 0;
  void* data = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  close(fd);
  if (!regular) throw InputError(fmt::format("{}: not a regular file", path));
  if (data == MAP_FAILED) fail_with_errno(path, "map");
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace rapt::cli
