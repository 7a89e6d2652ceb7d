// Buffer descriptors (V#) and the addresses that buffer instructions compute with them.
#pragma once

#include "sim/machine/memory/flat_spaces.hpp"

namespace rapt::sim {

// The fields of the descriptor's four dwords (ISA documents, "Buffer Resource"; LLVM and Mesa's register headers for
// gfx11 and gfx12, which share a layout).
struct BufferResource {
  u64 base = 0;
  u32 stride = 0, records = 0;
  bool swizzled = false;
  u8 element_shift = 2;  // of a swizzled buffer: bytes that stay together
  u8 index_shift = 3;    // and adjacent indices, as powers of two
  bool add_tid = false;
  bool gfx9 = false;
  u8 out_of_bounds = 0;                   // gfx11 and later: OOB_SELECT
  u8 select[4] = {};                      // of the components: 0, 1 the number, 4..7 X to W
  u8 data_format = 0, number_format = 0;  // gfx11 and later: the unified format in data_format
};
BufferResource buffer_resource(const Wave& w, const Operand& srsrc);

// Each lane's index and offset, and the address of its access of `bytes` bytes. They are copies: a load that is done in
// parts may write the registers that they came from.
class BufferLanes {
 public:
  // `format`: an instruction that converts; for these gfx9 never takes the stride's upper bits from DATA_FORMAT.
  BufferLanes(Wave& w, const Instruction& i, bool format);

  const BufferResource& resource() const { return resource_; }
  // True for a raw buffer if each lane's whole access is in range, at address + offset; fills the addresses.
  template <unsigned L>
  bool linear(u64 lanes, unsigned bytes, Addresses& a) const;
  // Addresses of `bytes` bytes, `plus` bytes into each lane's access. Returns the lanes for which they are in range.
  u64 part(u64 lanes, u32 plus, unsigned bytes, Addresses& a) const;
  // Whether the buffer is scratch memory, which is checked against the wave's own block.
  bool is_private() const { return resource_.add_tid && resource_.swizzled && !idxen_; }
  // Throws a Fault if an address is outside all allocations, or in another wave's scratch.
  void check(const Access& access) const;

 private:
  void set_limits();

  Wave& wave_;
  BufferResource resource_;
  bool idxen_, offen_;
  u32 inst_offset_, soffset_;
  alignas(64) u32 index_[64], offset_[64];  // of idxen and offen
  // An access is in range if its index is less than the one, and the offset of its end at most the other.
  u64 index_limit_ = ~u64{0};
  std::int64_t end_limit_ = INT64_MAX;
};

}  // namespace rapt::sim
