#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rapt::gpu {

MappedFile::MappedFile(const std::string& path) {
  const auto fail = [&](const std::string& what) { throw Error(RAPT_INVALID_ARGUMENT, cat(path, ": ", what)); };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, not waited for
  if (fd < 0) fail(cat("cannot open: ", std::strerror(errno)));
  struct stat info{};
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  size_ = regular ? static_cast<size_t>(info.st_size) : 0;
  void* data = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  const int mapping_error = errno;
  close(fd);
  if (!regular) fail("not a regular file");
  if (data == MAP_FAILED) fail(cat("cannot map: ", std::strerror(mapping_error)));
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace rapt::gpu
