// Writes a whole file so that a reader sees the old content or the new, never a part.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rapt::common {

// Writes a temporary file next to the target; commit() makes it durable and renames it over the target. Without a
// commit (an error, a full disk) nothing is left behind and an existing target is unchanged. A target that is not a
// regular file (a pipe, a terminal, /dev/null) is written directly. Throws std::runtime_error with the target and why.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void sync();  // after this, only the rename can fail
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_, temporary_;  // temporary_ is "" if the target is written directly
  int fd_ = -1;
  bool synced_ = false;
};

void write_file(const std::string& path, std::string_view text);

}  // namespace rapt::common
