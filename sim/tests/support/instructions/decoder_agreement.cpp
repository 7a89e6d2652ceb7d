#include "sim/tests/support/instructions/decoder_agreement.hpp"

#include <cstdio>

namespace rapt::sim::test {
namespace {

// Images, export, interpolation and GWS are known only by name.
bool agrees_by_name(const Instruction& instruction, const Disassembled& llvm) {
  return instruction.opcode->format == Format::unsupported &&
         (llvm.text.empty() || llvm.text.starts_with(instruction.opcode->name));
}

}  // namespace

std::string hex_words(std::span<const std::uint32_t> words) {
  std::string out;
  for (const std::uint32_t word : words) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%08x ", word);
    out += text.data();
  }
  return out;
}

void Agreement::differ(const std::string& kind, std::string_view text, const std::string& example) {
  if (differences[kind + std::string(text.substr(0, text.find(' ')))]++ == 0) examples += kind + example + '\n';
}

void Agreement::compare(DecodeMode mode, const Sample& sample, const Disassembled& llvm, FindException find_exception) {
  const std::optional<Instruction> ours = decode(mode, sample);
  const std::string text = ours ? print(mode, *ours) : "";
  if (ours && agrees_by_name(*ours, llvm)) return;
  (llvm.text.empty() ? invalid : valid)++;
  const bool same_size = !ours || ours->size == 4 * llvm.words.size();
  if (text == llvm.text && same_size) {
    ++same;
    if (ours) rows.insert(ours->opcode);
    return;
  }
  const Exception exception = find_exception(mode.arch, sample, llvm);
  const bool excused = exception.expect == Expect::either || (exception.expect == Expect::refused && !ours) ||
                       (exception.expect == Expect::decoded && ours);
  if (excused) {
    ++exceptions[exception.reason];
  } else {
    differ(same_size ? "text " : "size ", llvm.text.empty() ? text : llvm.text,
           hex_words(sample) + "\n  LLVM: " + llvm.raw + "\n  ours: " + text);
  }
}

}  // namespace rapt::sim::test
