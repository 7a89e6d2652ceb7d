#include "sim/tool/opcode_table.hpp"

#include "sim/isa/decode.hpp"
#include "sim/machine/handlers.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace rapt::sim::tool {
namespace {

enum class State : char { absent = ' ', simulated = '+', refused = 'x' };

struct Row {
  Format format{};
  std::array<State, arch_count> states{};
  Row() { states.fill(State::absent); }
};

const char* title(Format format) {
  switch (format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc: return "Scalar arithmetic (SOP1, SOP2, SOPK, SOPC)";
    case Format::sopp: return "Program control (SOPP)";
    case Format::smem: return "Scalar memory (SMEM)";
    case Format::vop1:
    case Format::vop2:
    case Format::vop3: return "Vector arithmetic (VOP1, VOP2, VOP3)";
    case Format::vopc: return "Vector comparisons (VOPC)";
    case Format::vop3p: return "Packed and matrix operations (VOP3P)";
    case Format::vopd: return "Dual operations (VOPD)";
    case Format::vinterp: return "Interpolation (VINTERP)";
    case Format::ldsdir: return "LDS-direct loads (LDSDIR)";
    case Format::ds: return "LDS (DS)";
    case Format::flat: return "Flat memory";
    case Format::global: return "Global memory";
    case Format::scratch: return "Private memory (SCRATCH)";
    case Format::mubuf: return "Untyped buffers (MUBUF, VBUFFER)";
    case Format::mtbuf: return "Typed buffers (MTBUF, VBUFFER)";
    case Format::unsupported: return "Images, exports, GDS, ray tracing";
  }
  return "";
}

const char* why_refused(std::string_view name) {
  const auto starts = [name](std::string_view stem) { return name.starts_with(stem); };
  if (starts("image_")) return "images: not of compute";
  if (starts("exp")) return "exports to the graphics pipeline";
  if (starts("ds_gws") || starts("ds_ordered") || name.find("gs_reg") != name.npos) return "global data share";
  if (starts("v_interp") || starts("lds_") || starts("ds_param") || starts("ds_direct"))
    return "graphics: interpolation";
  if (name.find("bvh") != name.npos) return "ray tracing";
  return "not simulated";
}

using Tables = std::map<std::string, std::map<std::string, Row>>;  // by title and mnemonic

Tables collect() {
  Tables tables;
  for (int n = 0; n < arch_count; ++n) {
    const Arch arch = static_cast<Arch>(n);
    for (const Opcode& opcode : opcodes(arch)) {
      Row& row = tables[title(opcode.format)][std::string(opcode.name)];
      row.format = opcode.format;
      const bool simulated = handlers().find(opcode.name, arch, 32) || handlers().find(opcode.name, arch, 64);
      State& state = row.states[static_cast<std::size_t>(n)];
      if (state != State::simulated) state = simulated ? State::simulated : State::refused;
    }
  }
  return tables;
}

std::string summary(const Tables& tables, const std::set<std::string>& tested) {
  std::string out =
      "| architecture | opcodes | simulated | of these named by a test | refused |\n|---|---|---|---|---|\n";
  for (int n = 0; n < arch_count; ++n) {
    unsigned simulated = 0, named = 0, refused = 0;
    for (const auto& [heading, rows] : tables)
      for (const auto& [mnemonic, row] : rows) {
        const State state = row.states[static_cast<std::size_t>(n)];
        simulated += state == State::simulated;
        named += state == State::simulated && tested.contains(mnemonic);
        refused += state == State::refused;
      }
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name(static_cast<Arch>(n)), simulated + refused, simulated,
                       named, refused);
  }
  return out;
}

}  // namespace

std::set<std::string> words_in_sources(const std::string& folder) {
  std::error_code error;
  std::set<std::string> words;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::string word;
    for (const char c : text + ' ') {
      const bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      if (part) word += c;
      else if (!word.empty()) words.insert(std::exchange(word, {}));
    }
  }
  if (error) throw InputError(fmt::format("--tests: cannot read '{}': {}", folder, error.message()));
  return words;
}

std::string opcode_table(const std::set<std::string>& tested) {
  const Tables tables = collect();
  std::string out =
      "# Opcodes of the simulator\n\nWritten by `rapt-sim opcodes --tests sim/tests`; a test holds this file against "
      "it.\n\n"
      "`+`: simulated; `x`: refused, with an error that names it, and why; blank: the architecture has no such "
      "opcode.\n"
      "Mnemonics are LLVM 22's, without suffixes of the encoding. Test: `yes` where a source in `sim/tests` names the\n"
      "mnemonic; many others are run there in names put together from parts (`\"buffer_load_\" + type`) and in "
      "compiled\n"
      "kernels.\n\n";
  out += summary(tables, tested);
  for (const auto& [heading, rows] : tables) {
    out += fmt::format("\n## {}\n\n| mnemonic |", heading);
    for (int n = 0; n < arch_count; ++n) out += fmt::format(" {} |", name(static_cast<Arch>(n)));
    out += " test | refused because |\n|---|";
    for (int n = 0; n < arch_count; ++n) out += ":-:|";
    out += "---|---|\n";
    for (const auto& [mnemonic, row] : rows) {
      out += fmt::format("| {} |", mnemonic);
      bool refused = false, simulated = false;
      for (const State state : row.states) {
        out += fmt::format(" {} |", static_cast<char>(state));
        refused |= state == State::refused;
        simulated |= state == State::simulated;
      }
      out += fmt::format(" {} | {} |\n", simulated && tested.contains(mnemonic) ? "yes" : "",
                         refused ? why_refused(mnemonic) : "");
    }
  }
  return out;
}

}  // namespace rapt::sim::tool
