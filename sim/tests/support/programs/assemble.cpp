#include "sim/tests/support/programs/assemble.hpp"

#include "sim/loader/elf.hpp"
#include "sim/tests/support/programs/llvm_assembler.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <stdexcept>

namespace rapt::sim::test {
namespace {

struct Folder {
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rapt_sim_XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder: " + pattern);
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

std::string features(Arch arch, unsigned lanes) {
  if (is_cdna(arch)) return "";
  return lanes == 64 ? "+real-true16,-wavefrontsize32,+wavefrontsize64" : "+real-true16";
}

// The words of an object's .text section, the only one with code.
std::vector<std::uint32_t> text_section(const std::vector<char>& object) {
  const Bytes bytes(std::as_bytes(std::span(object)), "object");
  const auto header = bytes.at<Elf64_Ehdr>(0);
  for (unsigned n = 0; n < header.e_shnum; ++n) {
    const auto section = bytes.at<Elf64_Shdr>(header.e_shoff + n * sizeof(Elf64_Shdr));
    if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
    std::vector<std::uint32_t> words(section.sh_size / 4);
    std::memcpy(words.data(), bytes.part(section.sh_offset, words.size() * 4).data(), words.size() * 4);
    return words;
  }
  return {};
}

}  // namespace

const std::string& temporary_folder() {
  static const Folder folder;
  return folder.path;
}

std::string shell(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string output;
  char buffer[4096];
  while (const std::size_t got = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, got);
  const int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(command + "\n" + output);
  return output;
}

unsigned default_lanes(Arch arch) { return is_cdna(arch) ? 64 : 32; }

std::vector<std::uint32_t> assemble(Arch arch, unsigned lanes, std::string_view text) {
  return text_section(assemble_object(std::string(name(arch)), features(arch, lanes), text));
}

std::vector<Instruction> decode_all(Arch arch, unsigned lanes, const std::vector<std::uint32_t>& words) {
  std::vector<Instruction> instructions;
  for (std::size_t at = 0; at < words.size();) {
    auto instruction = decode({arch, lanes}, std::span(words).subspan(at));
    if (!instruction) throw std::runtime_error("word " + std::to_string(at) + " is no instruction");
    at += instruction->size / 4;
    instructions.push_back(std::move(*instruction));
  }
  return instructions;
}

}  // namespace rapt::sim::test
