#include "cli/io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rapt::cli {

namespace {

[[noreturn]] void fail_with_errno(const std::string& path, const char* what) {
  throw InputError(fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

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
