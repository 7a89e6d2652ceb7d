#include "sim/tests/support/programs/disassemble.hpp"

#include "sim/tests/support/programs/assemble.hpp"
#include "sim/tests/support/programs/object_file.hpp"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rapt::sim::test {
namespace {

// s_nop on every architecture. It follows the last sample, because llvm-objdump crashes on some instructions that end
// too early.
constexpr Sample padding = {0xbf800000, 0xbf800000, 0xbf800000, 0xbf800000};
constexpr std::size_t stride = sizeof(Sample);

std::string new_stem() {
  static std::atomic<unsigned> count{0};
  return temporary_folder() + "/d" + std::to_string(count++);
}

std::string single_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char plain = c == '\t' ? ' ' : c;
    if (plain != ' ' || (!out.empty() && out.back() != ' ')) out += plain;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// LLVM also prints what it cannot accept, with a comment, or a warning after the words.
bool finds_fault(std::string_view text, std::string_view behind) {
  return text.starts_with(".long") || text.find("/*") != text.npos || behind.find("Warning") != behind.npos ||
         text.find("invalid_") != text.npos;
}

// "\tv_mov_b32_e32 v0, s1  // 000000000000: 7E000201"; none for other lines.
bool parse(const std::string& line, Disassembled& out) {
  const std::size_t comment = line.rfind("// 0");
  if (line.empty() || line[0] != '\t' || comment == line.npos) return false;
  std::istringstream behind(line.substr(comment + 3));
  std::string field;
  behind >> field;
  out.address = std::stoull(field, nullptr, 16);
  while (behind >> field && field.size() == 8 && field.find_first_not_of("0123456789ABCDEF") == field.npos) {
    out.words.push_back(static_cast<std::uint32_t>(std::stoul(field, nullptr, 16)));
  }
  out.raw = single_spaces(line.substr(0, comment));
  out.text = finds_fault(out.raw, line.substr(comment)) ? "" : out.raw;
  return true;
}

// A branch to a symbol is printed with its name: converts it back to the number of words.
void resolve_target(Disassembled& one) {
  for (const auto& [symbol, offset] : {std::pair{" sample", 0U}, std::pair{" rest", 4U}}) {
    const std::size_t at = one.text.find(symbol);
    if (at == one.text.npos) continue;
    const std::uint64_t target = std::stoull(one.text.substr(at + std::strlen(symbol))) * stride + offset;
    const auto distance = static_cast<std::uint16_t>((target - one.address - 4) / 4);
    one.text.replace(at + 1, one.text.npos, std::to_string(distance));
  }
}

std::string objdump(Arch arch, unsigned lanes, const std::string& object, const std::string& options = "") {
  std::string attributes;
  if (is_rdna(arch)) {
    attributes = lanes == 64 ? " --mattr=+real-true16,-wavefrontsize32,+wavefrontsize64" : " --mattr=+real-true16";
  }
  const std::string output = object + ".txt";
  shell("llvm-objdump-22 -d -z --mcpu=" + std::string(name(arch)) + attributes + " -j .text " + options + object +
        " > " + output);
  return output;
}

}  // namespace

std::vector<Disassembled> disassemble(Arch arch, unsigned lanes, std::span<const Sample> samples) {
  // One symbol per sample: llvm-objdump starts again at each. An instruction may extend past the first word, but for
  // that symbol none is requested.
  std::vector<TextSymbol> symbols;
  std::string wanted = "--disassemble-symbols=";
  for (std::size_t i = 0; i < samples.size(); ++i) {
    symbols.push_back({"sample" + std::to_string(i), i * stride});
    symbols.push_back({"rest" + std::to_string(i), i * stride + 4});
    wanted += (i == 0 ? "" : ",") + symbols[2 * i].name;
  }
  std::vector<Sample> text(samples.begin(), samples.end());
  text.push_back(padding);
  const std::string stem = new_stem();
  std::ofstream(stem + ".o", std::ios::binary) << object_file(std::as_bytes(std::span(text)), symbols);
  std::ofstream(stem + ".arguments") << wanted;
  const std::string output = objdump(arch, lanes, stem + ".o", "@" + stem + ".arguments ");
  std::vector<Disassembled> result(samples.size());
  std::ifstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    Disassembled one;
    if (!parse(line, one) || one.address % stride != 0) continue;
    resolve_target(one);
    const std::size_t index = one.address / stride;
    if (index < result.size()) result[index] = std::move(one);
  }
  for (const char* end : {".o", ".o.txt", ".arguments"}) std::filesystem::remove(stem + end);
  return result;
}

std::vector<Disassembled> disassemble_object(Arch arch, unsigned lanes, std::span<const std::byte> object) {
  const std::string stem = new_stem();
  std::ofstream(stem + ".co", std::ios::binary)
      .write(reinterpret_cast<const char*>(object.data()), static_cast<std::streamsize>(object.size()));
  const std::string output = objdump(arch, lanes, stem + ".co");
  std::vector<Disassembled> result;
  std::ifstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    Disassembled one;
    if (parse(line, one)) result.push_back(std::move(one));
  }
  for (const char* end : {".co", ".co.txt"}) std::filesystem::remove(stem + end);
  return result;
}

}  // namespace rapt::sim::test
