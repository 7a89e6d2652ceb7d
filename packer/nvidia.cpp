// NVIDIA kernels: the .nv.info sections of their ELF files, and the rules for their resources.
//
// NVIDIA does not document these sections. Names and numbers are as `cuobjdump -elf` of CUDA 13 prints them. Each
// attribute begins with a byte for its format and a byte for its number, then has 16 bits of value or of size.

#include <algorithm>
#include <climits>
#include <nlohmann/json.hpp>

#include "packer/compiled.hpp"
#include "packer/elf.hpp"
#include "packer/occupancy.hpp"

namespace rapt::archive {

namespace {

using nlohmann::ordered_json;

constexpr uint16_t kCuda = 190;     // EM_CUDA
constexpr uint8_t kElfAbi = 8;      // EI_ABIVERSION since CUDA 13: e_flags has the architecture in bits 8 to 15
constexpr uint8_t kSizedValue = 4;  // EIFMT_SVAL: the 16 bits are the size of what follows
enum Attribute : uint8_t {          // EIATTR_...
  kMaxThreads = 0x05,               // from __launch_bounds__: three numbers
  kThreads = 0x10,                  // Triton's kernels take exactly these threads: three numbers
  kFrameSize = 0x11,                // symbol, bytes of stack
  kParameter = 0x17,                // a number, then 16 bits each of its own number and of its place
  kParameterBytes = 0x19,           // of all, from the place of the first unless that is aligned
  kRegisters = 0x2f,                // symbol, registers
};

// Shared memory that the driver takes from each workgroup, since sm_80. Since sm_90 the section of static memory counts
// it.
constexpr int kReservedBytes = 1024;

// Between products of one batch. Good kernels have up to 2; two or four for each product are bad.
constexpr int kMostMoves = 3;

// One machine instruction has 16 bytes. Numbers as `cuobjdump -sass` prints them beside the names.
struct Instruction {
  uint64_t low, high;

  bool multiplies() const { return opcode() == 0x1f0; }                                // HGMMA
  bool is_exponential() const { return opcode() == 0x108 && (high >> 10 & 15) == 2; }  // MUFU.EX2
  bool makes_uniform() const { return opcode() == 0xca; }       // R2UR: from a register of lanes to one of the warp
  bool separates_batches() const { return opcode() == 0x1c5; }  // WARPGROUP: waits for products, or begins them
  // WARPGROUP.DEPBAR that lets no batch still run
  bool waits_for_all() const { return separates_batches() && (high >> 16 & 1) && (high >> 8 & 63) == 0; }

 private:
  uint64_t opcode() const { return low & 0x1ff; }  // without the kinds of operands
};

template <class F>
void for_instructions(std::span<const std::byte> code, const F& f) {
  for (; code.size() >= sizeof(Instruction); code = code.subspan(sizeof(Instruction))) {
    Instruction i{};
    std::memcpy(&i, code.data(), sizeof i);
    f(i);
  }
}

// The most moves to the warp's registers between products of one batch. Products take their descriptors from these
// registers. Where the compiler thinks that lanes may be apart, it computes descriptors for each lane and moves them.
int moves_between_products(std::span<const std::byte> code) {
  int most = 0, moves = 0, since_product = 0;
  bool started = false;
  for_instructions(code, [&](const Instruction& i) {
    if (i.separates_batches()) started = false, moves = 0;
    else if (i.makes_uniform()) ++since_product;
    else if (i.multiplies()) {
      if (started) moves += since_product;
      most = std::max(most, moves);
      started = true, since_product = 0;
    }
  });
  return most;
}

// False if there are exponentials, but none is between products and the last wait for all of them before the next ones:
// the softmax does not run beside products. The compiler moves that wait up if it may. A wait may also be in a branch
// that is rarely taken.
bool softmax_overlaps(std::span<const std::byte> code) {
  int all = 0, count = 0;
  bool started = false, found = false;
  for_instructions(code, [&](const Instruction& i) {
    if (i.multiplies()) started = true, count = 0;
    else if (i.is_exponential()) ++count, ++all;
    else if (started && i.waits_for_all()) found |= count > 0;
  });
  return found || all == 0;
}

class Cubin : public Elf {
 public:
  Cubin(const std::string& name, std::span<const std::byte> bytes) : Elf(name, bytes), header_(header(kCuda, "CUDA")) {
    if (header_.e_ident[EI_ABIVERSION] != kElfAbi)
      fail("its ABI version is " + std::to_string(header_.e_ident[EI_ABIVERSION]) + ", must be " +
           std::to_string(kElfAbi) + ": compile it with CUDA 13");
    names_ = section(header_.e_shstrndx);
    for (size_t i = 0; i < header_.e_shnum; ++i) read_section(section(i));
    if (kernel.empty()) fail("has no kernel");
  }

  int processor() const { return static_cast<int>(header_.e_flags >> 8 & 255); }  // 90

  std::string kernel;
  int registers = 0, stack = 0, static_shared = 0, parameters = 0, threads = 1;
  bool overlaps = true;
  int moves = 0;
  int first_parameter = 0;  // bytes before it, where it must be aligned

 private:
  Elf64_Shdr section(uint64_t index) const {
    return read<Elf64_Shdr>(header_.e_shoff + index * sizeof(Elf64_Shdr), "a section header");
  }
  std::string name_of(const Elf64_Shdr& section) const {
    const auto names = part(names_.sh_offset, names_.sh_size, "the section names");
    std::string name;
    for (uint64_t i = section.sh_name; i < names.size() && names[i] != std::byte{0}; ++i)
      name += static_cast<char>(names[i]);
    return name;
  }
  void read_section(const Elf64_Shdr& section) {
    const std::string name = name_of(section);
    if (name == ".nv.info" || name.starts_with(".nv.info."))
      read_attributes(part(section.sh_offset, section.sh_size, "a section"));
    if (name.starts_with(".nv.shared.") && !name.starts_with(".nv.shared.reserved."))
      static_shared = static_cast<int>(section.sh_size) - (processor() >= 90 ? kReservedBytes : 0);
    if (!name.starts_with(".text.")) return;
    if (!kernel.empty()) fail("has several functions, must have one kernel");
    kernel = name.substr(6);
    const auto code = part(section.sh_offset, section.sh_size, "the code");
    overlaps = softmax_overlaps(code);
    moves = moves_between_products(code);
  }
  void read_attributes(std::span<const std::byte> bytes) {
    while (bytes.size() >= 4) {
      const auto format = static_cast<uint8_t>(bytes[0]), attribute = static_cast<uint8_t>(bytes[1]);
      const int value = static_cast<uint8_t>(bytes[2]) | static_cast<uint8_t>(bytes[3]) << 8;
      const size_t size = format == kSizedValue ? static_cast<size_t>(value) : 0;
      if (size > bytes.size() - 4) fail("an attribute extends beyond the end of its section");
      const auto number = [&](size_t i) {
        int32_t word = 0;
        if (size < 4 * (i + 1)) fail("an attribute is too short");
        std::memcpy(&word, bytes.data() + 4 + 4 * i, sizeof word);
        return word;
      };
      switch (attribute) {
        case kRegisters: registers = number(1); break;
        case kFrameSize: stack = number(1); break;
        case kParameter:
          if ((number(1) & 0xffff) == 0) first_parameter = number(1) >> 16;
          break;
        case kParameterBytes: parameters = value; break;
        case kMaxThreads:
        case kThreads: threads = number(0) * number(1) * number(2); break;
        default: break;
      }
      bytes = bytes.subspan(4 + size);
    }
  }

  Elf64_Ehdr header_;
  Elf64_Shdr names_{};
};

class NvidiaKernel final : public Compiled {
 public:
  NvidiaKernel(const Cubin& cubin, int given)
      : stack_(cubin.stack), static_shared_(cubin.static_shared), overlaps_(cubin.overlaps), moves_(cubin.moves) {
    resources.target = "sm_" + std::to_string(cubin.processor());
    resources.name = cubin.kernel;
    resources.lanes = 32;
    resources.max_threads = cubin.threads;
    resources.registers = cubin.registers;
    resources.shared_memory = given;
    resources.argument_size = cubin.parameters - cubin.first_parameter;
  }

  std::vector<std::string> violations(const Row& row, const Architecture& arch) const override {
    std::vector<std::string> found;
    const auto none = [&](const char* what, int value, const char* why) {
      if (value != 0) found.push_back(what + (" is " + std::to_string(value)) + ", allowed is 0" + why);
    };
    none("bytes of stack per thread", stack_, ": registers are spilled, or indexed by a variable");
    none("bytes of static shared memory", static_shared_, ": shared= has all of it");
    at_most(found, "registers", resources.registers, row.budget.registers);
    if (row.on_hopper() && !overlaps_ && !find_operation(row.operation)->alternates)
      found.push_back("no exponential is between products and the wait for them: softmax does not run beside products");
    if (row.on_hopper() && moves_ > kMostMoves)
      found.push_back(std::to_string(moves_) +
                      " moves to the warp's registers are between products of one batch, at most " +
                      std::to_string(kMostMoves) +
                      " may be: behind a branch of single lanes the compiler computes descriptors lane by lane");
    const Occupancy o = occupancy_of(row, arch);
    if (o.waves < row.budget.occupancy)
      found.push_back("occupancy is " + std::to_string(o.waves) + " warps per partition, the row requires at least " +
                      std::to_string(row.budget.occupancy) + " (registers allow " + std::to_string(o.by_registers) +
                      " warps per partition, shared memory " + std::to_string(o.by_lds) + " workgroups of " +
                      std::to_string(row.waves) + " warps)");
    return found;
  }

  ordered_json block(const Row& row, const Architecture& arch) const override {
    return {{"occupancy", occupancy_of(row, arch).waves}};
  }

 private:
  Occupancy occupancy_of(const Row& row, const Architecture& arch) const {
    return occupancy(arch, resources.registers, 0, resources.shared_memory + kReservedBytes, row.waves);
  }

  int stack_, static_shared_;
  bool overlaps_;
  int moves_;
};

}  // namespace

std::unique_ptr<Compiled> read_nvidia(const std::string& name, std::span<const std::byte> bytes, int given) {
  return std::make_unique<NvidiaKernel>(Cubin(name, bytes), given);
}

}  // namespace rapt::archive
