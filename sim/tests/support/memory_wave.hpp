// A wave with memory of every kind around it: global, LDS, private; many instructions assembled at once.
#pragma once

#include "sim/memory/memory.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <cerrno>
#include <random>
#include <stdexcept>
#include <sys/mman.h>
#include <system_error>
#include <tuple>

namespace rapt::sim::test {

struct Target {
  Arch arch;
  unsigned lanes;
};
inline std::vector<Target> every_target() {
  return {{Arch::gfx908, 64},  {Arch::gfx90a, 64},  {Arch::gfx942, 64},  {Arch::gfx950, 64},  {Arch::gfx1100, 32},
          {Arch::gfx1100, 64}, {Arch::gfx1151, 32}, {Arch::gfx1201, 32}, {Arch::gfx1201, 64}, {Arch::gfx906, 64}};
}
inline std::string describe(const Target& t) { return std::string(name(t.arch)) + " of " + std::to_string(t.lanes); }

// Device memory of the test, at the same addresses in every run, since random instructions compute with them; what is
// written there is not tracked.
enum class BlockAt { any, same };

class Block {
 public:
  explicit Block(std::size_t bytes, BlockAt at = BlockAt::any)
      : data_(at == BlockAt::same ? map(bytes) : allocate(bytes)), size_(bytes), mapped_(at == BlockAt::same) {}
  ~Block() {
    Memory::process().release(data_);
    if (mapped_) munmap(data_, size_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  unsigned char* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }
  template <typename T>
  T& at(std::size_t index) const {
    return reinterpret_cast<T*>(data_)[index];
  }
  void randomize(std::mt19937& random) {
    for (std::size_t n = 0; n < size_; ++n) data_[n] = static_cast<unsigned char>(random());
  }

 private:
  static unsigned char* allocate(std::size_t bytes) {
    return static_cast<unsigned char*>(Memory::process().allocate(bytes, 4096, MemoryKind::device, 0));
  }
  static unsigned char* map(std::size_t bytes) {
    constexpr std::size_t unit = 1U << 20;  // and at least as much between two blocks
    static std::uintptr_t next = std::uintptr_t{1} << 40;
    void* const place = reinterpret_cast<void*>(next);
    next += (bytes / unit + 2) * unit;
    void* const data =
        mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (data != place) throw std::system_error(errno, std::generic_category(), "mmap");
    if (!Memory::process().adopt(data, bytes, MemoryKind::device, 0)) throw std::logic_error("memory in use");
    return static_cast<unsigned char*>(data);
  }

  unsigned char* data_;
  std::size_t size_;
  bool mapped_;
};

class MemoryWave : public OneWave {
 public:
  static constexpr std::uint32_t private_bytes = 512;

  explicit MemoryWave(Target target, std::uint32_t lds_bytes = 65536, BlockAt at = BlockAt::any)
      : OneWave(target.arch, target.lanes, lds_bytes), scratch(std::size_t{private_bytes} * target.lanes, at) {
    wave().scratch_base = scratch.address();
    wave().scratch_bytes_per_lane = private_bytes;
  }

  // Assembles the lines, one instruction each, in one run of the assembler.
  void prepare(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    std::vector<Instruction> all = decode_all(wave().arch, wave().lanes, assemble(wave().arch, wave().lanes, text));
    if (all.size() != lines.size()) throw std::runtime_error("a line is not one instruction");
    for (std::size_t n = 0; n < lines.size(); ++n) prepared_[lines[n]] = {std::move(all[n])};
  }
  void go(const std::string& line) { run(instruction(line)); }
  const Instruction& instruction(const std::string& line) {
    const auto found = prepared_.find(line);
    if (found == prepared_.end()) throw std::runtime_error("not prepared: " + line);
    return found->second[0];
  }

  // A byte of a lane's private memory, in the machine's layout (Wave::scratch_base).
  unsigned char& private_byte(unsigned lane, std::uint32_t offset) {
    return scratch.data()[(std::size_t{offset / 4} * wave().lanes + lane) * 4 + offset % 4];
  }
  void set_exec(std::uint64_t mask) { wave().set_pair(sreg::exec, mask & wave().all_lanes()); }
  std::uint64_t random_exec(std::mt19937& random) {
    const std::uint64_t bits = random() | std::uint64_t{random()} << 32;
    set_exec(random() % 3 == 0 ? ~std::uint64_t{0} : bits);
    return wave().exec();
  }
  // A raw buffer descriptor in four SGPRs.
  void set_raw_buffer(unsigned sgpr, std::uint64_t base, std::uint32_t bytes) {
    s(sgpr) = static_cast<std::uint32_t>(base);
    s(sgpr + 1) = static_cast<std::uint32_t>(base >> 32);
    s(sgpr + 2) = bytes;
    s(sgpr + 3) = is_cdna(wave().arch) ? 0x00027fac : 0x31014fac;  // identity selection; gfx11: OOB_SELECT raw
  }

  Block scratch;

 private:
  std::map<std::string, std::vector<Instruction>> prepared_;
};

}  // namespace rapt::sim::test
