// Handlers execute instructions: one function per operation, found by its name when the instruction is decoded.
#pragma once

#include "sim/machine/core/fault.hpp"
#include "sim/machine/core/wave.hpp"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace rapt::sim {

using Handler = void (*)(Wave&, const Instruction&);

// Filled once at start-up by the register_* functions, read-only afterwards.
class HandlerTable {
 public:
  // The same function for waves of 32 and 64 lanes.
  void add(std::string_view name, Handler handler, ArchSet archs = every_arch) { add(name, handler, handler, archs); }
  void add(std::string_view name, Handler wave32, Handler wave64, ArchSet archs = every_arch);
  // None if the simulator does not know the operation on that architecture.
  Handler find(std::string_view name, Arch arch, unsigned lanes) const;

 private:
  struct Entry {
    ArchSet archs;
    Handler wave32, wave64;
  };
  std::unordered_map<std::string_view, std::vector<Entry>> entries_;
};

const HandlerTable& handlers();

// Each family of operations has a file under machine/.
void register_scalar(HandlerTable& table);   // SOP1, SOP2, SOPK, SOPC, SMEM
void register_control(HandlerTable& table);  // SOPP: branches, barriers, waits, messages, mode
void register_valu(HandlerTable& table);     // VOP1, VOP2, VOP3, VOPC, VOP3P except for matrices, VOPD, lane exchange
void register_matrix(HandlerTable& table);   // MFMA, SMFMAC, WMMA, SWMMAC
void register_packed(HandlerTable& table);   // VOP3P except for matrices, dot products, fp8 and smaller conversions
void register_vector_memory(HandlerTable& table);  // FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF
void register_lds(HandlerTable& table);            // DS

}  // namespace rapt::sim
