// How many instructions of each class a code object has, from LLVM's disassembler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::cli {

struct InstructionClass {
  std::string_view name;
  int64_t count = 0;
};

struct Disassembly {
  std::string tool;                       // what disassembled
  std::vector<InstructionClass> classes;  // every class of AMD GPUs, also those with a count of 0
  int64_t total = 0;
};

// The class of a mnemonic such as "v_mfma_f32_32x32x8_f16"; "unknown" if there is none.
std::string_view instruction_class(std::string_view mnemonic);

// Counts the mnemonics of `llvm-objdump -d --no-leading-addr --no-show-raw-insn`.
void count_instructions(std::string_view text, Disassembly& into);

// Runs RAPT_OBJDUMP, or an llvm-objdump on PATH. Throws InputError if none can be run.
Disassembly disassemble(std::span<const char> code);

}  // namespace rapt::cli
