#include "sim/tool/opcode_table.hpp"

#include "sim/isa/decode.hpp"
#include "sim/machine/core/handlers.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

namespace rapt::sim::tool {
namespace {

enum class State : char { absent = ' ', tested = 'T', tested_elsewhere = 't', simulated = '+', refused = 'x' };

struct Row {
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

struct Reason {
  std::string_view stem;  // of the mnemonics
  const char* text;
};

constexpr Reason reasons[] = {
    {"image_bvh", "ray tracing"},
    {"image_", "images"},
    {"exp", "exports to the graphics pipeline"},
    {"ds_gws_", "global data share"},
    {"ds_ordered_count", "global data share"},
    {"ds_add_gs_reg", "global data share"},
    {"ds_sub_gs_reg", "global data share"},
    {"ds_bvh_stack", "ray tracing"},
    {"global_atomic_ordered", "ordering of geometry waves"},
    {"v_interp", "interpolation"},
    {"lds_", "interpolation"},
    {"ds_param", "interpolation"},
    {"ds_direct", "interpolation"},
    {"s_endpgm_ordered", "pixel shaders"},
    {"s_rfe", "trap handlers"},
    {"s_cbranch_g_fork", "fork and join of a wave's lanes"},
    {"s_cbranch_i_fork", "fork and join of a wave's lanes"},
    {"s_cbranch_join", "fork and join of a wave's lanes"},
    {"s_alloc_vgpr", "dynamic VGPRs"},
    {"s_barrier_", "named barriers"},
    {"s_get_barrier_state", "named barriers"},
    {"s_code_end", "padding behind the code"},
    {"v_illegal", "an encoding that is never valid"},
    {"v_mfma_ld_scale", "only the first half of a scaled product"},
};

const char* why_refused(std::string_view mnemonic) {
  for (const Reason& reason : reasons)
    if (mnemonic.starts_with(reason.stem)) return reason.text;
  return "not simulated";
}

// Their handlers only say why they are refused.
bool handler_refuses(std::string_view mnemonic) {
  static constexpr std::string_view stems[] = {"ds_gws_",       "ds_ordered_count", "ds_add_gs_reg",
                                               "ds_sub_gs_reg", "ds_bvh_stack",     "global_atomic_ordered"};
  return std::any_of(std::begin(stems), std::end(stems), [&](auto stem) { return mnemonic.starts_with(stem); });
}

Handler handler_of(std::string_view mnemonic, Arch arch) {
  if (handler_refuses(mnemonic)) return nullptr;
  const unsigned usual = is_cdna(arch) ? 64 : 32;
  const Handler handler = handlers().find(mnemonic, arch, usual);
  return handler ? handler : handlers().find(mnemonic, arch, 96 - usual);
}

// Tests on one architecture also count for others that have the same function for the operation.
bool tested_on_another(const std::string& mnemonic, Handler handler, const Tested& tested) {
  for (int n = 0; n < arch_count; ++n)
    if (tested.contains({static_cast<Arch>(n), mnemonic}))
      for (const unsigned lanes : {32U, 64U})
        if (handlers().find(mnemonic, static_cast<Arch>(n), lanes) == handler) return true;
  return false;
}

State state_of(const std::string& mnemonic, Arch arch, const Tested& tested) {
  const Handler handler = handler_of(mnemonic, arch);
  if (!handler) return State::refused;
  if (tested.contains({arch, mnemonic})) return State::tested;
  return tested_on_another(mnemonic, handler, tested) ? State::tested_elsewhere : State::simulated;
}

using Tables = std::map<std::string, std::map<std::string, Row>>;  // by title and mnemonic

Tables collect(const Tested& tested) {
  Tables tables;
  for (int n = 0; n < arch_count; ++n) {
    const Arch arch = static_cast<Arch>(n);
    for (const Opcode& opcode : opcodes(arch)) {
      Row& row = tables[title(opcode.format)][std::string(opcode.name)];
      State& state = row.states[static_cast<std::size_t>(n)];
      const State found = state_of(std::string(opcode.name), arch, tested);
      if (state == State::absent || state == State::refused) state = found;
    }
  }
  return tables;
}

std::string row_of_archs(std::string_view first, std::string_view last = "") {
  std::string out = fmt::format("| {} |", first);
  for (int n = 0; n < arch_count; ++n) out += fmt::format(" {} |", name(static_cast<Arch>(n)));
  return out + std::string(last) + "\n";
}

std::string rule(std::string_view cell) {
  std::string out = "|---|";
  for (int n = 0; n < arch_count; ++n) out += cell;
  return out;
}

std::string by_architecture(const Tables& tables) {
  std::string out =
      "| architecture | opcodes | simulated | tested | tested on another | refused |\n|---|---|---|---|---|---|\n";
  for (int n = 0; n < arch_count; ++n) {
    std::map<State, unsigned> count;
    for (const auto& [heading, rows] : tables)
      for (const auto& [mnemonic, row] : rows) ++count[row.states[static_cast<std::size_t>(n)]];
    const unsigned simulated = count[State::simulated] + count[State::tested] + count[State::tested_elsewhere];
    out +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", name(static_cast<Arch>(n)), simulated + count[State::refused],
                    simulated, count[State::tested], count[State::tested_elsewhere], count[State::refused]);
  }
  return out;
}

using Counts = std::array<unsigned, arch_count>;

std::string rows_of_counts(const std::map<std::string, Counts>& rows) {
  std::string out = rule("---|") + "\n";
  for (const auto& [heading, counts] : rows) out += fmt::format("| {} | {} |\n", heading, fmt::join(counts, " | "));
  return out;
}

std::string by_format(const Tables& tables) {
  std::map<std::string, Counts> simulated;
  for (const auto& [heading, rows] : tables)
    for (const auto& [mnemonic, row] : rows)
      for (std::size_t n = 0; n < arch_count; ++n)
        simulated[heading][n] += row.states[n] != State::absent && row.states[n] != State::refused;
  return row_of_archs("simulated, by format") + rows_of_counts(simulated);
}

std::string by_reason(const Tables& tables) {
  std::map<std::string, Counts> refused;
  for (const auto& [heading, rows] : tables)
    for (const auto& [mnemonic, row] : rows)
      for (std::size_t n = 0; n < arch_count; ++n)
        if (row.states[n] == State::refused) ++refused[why_refused(mnemonic)][n];
  return row_of_archs("refused, by reason") + rows_of_counts(refused);
}

}  // namespace

Tested read_tested(const std::string& folder) {
  std::error_code error;
  Tested tested;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(entry.path());
    for (std::string arch, mnemonic; file >> arch >> mnemonic;) {
      const auto parsed = parse_arch(arch);
      if (!parsed) throw InputError(fmt::format("--tests: '{}' is not a record of a test", entry.path().string()));
      tested.emplace(*parsed, mnemonic);
    }
  }
  if (error) throw InputError(fmt::format("--tests: cannot read '{}': {}", folder, error.message()));
  if (tested.empty()) throw InputError(fmt::format("--tests: '{}' holds no records of tests", folder));
  return tested;
}

std::string opcode_table(const Tested& tested) {
  const Tables tables = collect(tested);
  std::string out =
      "# Opcodes of the simulator\n\n"
      "`T`: simulated, and run by a test that compares its results with others; `t`: by one of another architecture, "
      "which\n"
      "has the same function for it here; `+`: simulated; `x`: refused, with an error that names it; blank: there is "
      "no such\n"
      "opcode. Mnemonics are LLVM 22's, without suffixes of the encoding. What tests run is recorded while they do:\n\n"
      "```\n"
      "mkdir record && RAPT_SIM_RECORD_TESTED=$PWD/record ctest --preset sim\n"
      "build/sim/sim/bin/rapt-sim opcodes --tests record > sim/tests/data/opcodes.md\n"
      "```\n\n";
  out += by_architecture(tables) + "\n" + by_format(tables) + "\n" + by_reason(tables);
  for (const auto& [heading, rows] : tables) {
    const bool any_refused = std::any_of(rows.begin(), rows.end(), [](const auto& entry) {
      const auto& states = entry.second.states;
      return std::find(states.begin(), states.end(), State::refused) != states.end();
    });
    out += fmt::format("\n## {}\n\n", heading) + row_of_archs("mnemonic", any_refused ? " refused because |" : "");
    out += rule(":-:|") + (any_refused ? "---|\n" : "\n");
    for (const auto& [mnemonic, row] : rows) {
      out += fmt::format("|{}|", mnemonic);
      for (const State state : row.states) out += fmt::format("{}|", static_cast<char>(state));
      const bool refused = std::find(row.states.begin(), row.states.end(), State::refused) != row.states.end();
      if (any_refused) out += fmt::format("{}|", refused ? why_refused(mnemonic) : "");
      out += '\n';
    }
  }
  return out;
}

}  // namespace rapt::sim::tool
