// Writing a whole file so that a reader sees the old content or the new, never a part.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rapt::common {

// Writes beside the target under another name; commit() makes it durable and renames it over the target. Without a
// commit (an error, a full disk) nothing is left behind and an old target stays as it was. A target that is no regular
// file (a pipe, a terminal, /dev/null) is written to as it is. Throws std::runtime_error that names the target and why.
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
  std::string path_, temporary_;  // the latter "" where the target is written to as it is
  int fd_ = -1;
  bool synced_ = false;
};

void write_file(const std::string& path, std::string_view text);

}  // namespace rapt::common
