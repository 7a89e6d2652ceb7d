// gfx9's DS_*_SRC2_*: LDS[A] = LDS[A] op LDS[B]. A is the address register and B is A + 4 * n. n is the signed 15-bit
// offset field or, if the field's top bit is set, A's upper 15 bits. Source: Vega ISA document, DS_ADD_SRC2_U32.
#include "sim/machine/atomic/atomic.hpp"
#include "sim/machine/lds/lds.hpp"

namespace rapt::sim {
namespace {

void run(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  constexpr unsigned L = 64;
  need_lds(i);
  const u32* address = w.row(i.src[0]);
  const u32 field = static_cast<u32>(i.offset);
  const auto distance = [](u32 bits15) { return static_cast<u32>(static_cast<std::int32_t>(bits15 << 17) >> 17) * 4; };
  Offsets a, b;
  for (unsigned l = 0; l < L; ++l) {
    const bool in_register = field & 0x8000;
    a.at[l] = in_register ? address[l] & 0x1ffff : address[l];
    b.at[l] = a.at[l] + distance(in_register ? address[l] >> 17 : field & 0x7fff);
  }
  Addresses from, to;
  u64 lanes = reach_lds<L>(w, i, b, w.exec(), kernel.bytes, Action::load, from);
  lanes = reach_lds<L>(w, i, a, lanes, kernel.bytes, Action::atomic, to);
  check_aligned({Space::lds, Action::atomic, kernel.bytes, lanes, to.at});
  // A lane sees what the lanes before it stored.
  for_lanes(lanes, [&](unsigned l) {
    u32 data[2 * L] = {};
    if (kernel.bytes == 4) load_rows<Data::b32, L>(data, from.at, u64{1} << l, true);
    else load_rows<Data::b64, L>(data, from.at, u64{1} << l, true);
    kernel.own({to.at, u64{1} << l, data, data, nullptr, L, lds_float_rules(w, kernel.use)});
  });
}

constexpr struct {
  const char* name;
  Atomic operation;
} operations[] = {
    {"add_src2_u32", Atomic::add32},    {"add_src2_u64", Atomic::add64},    {"sub_src2_u32", Atomic::sub32},
    {"sub_src2_u64", Atomic::sub64},    {"rsub_src2_u32", Atomic::rsub32},  {"rsub_src2_u64", Atomic::rsub64},
    {"inc_src2_u32", Atomic::inc32},    {"inc_src2_u64", Atomic::inc64},    {"dec_src2_u32", Atomic::dec32},
    {"dec_src2_u64", Atomic::dec64},    {"min_src2_i32", Atomic::smin32},   {"min_src2_i64", Atomic::smin64},
    {"max_src2_i32", Atomic::smax32},   {"max_src2_i64", Atomic::smax64},   {"min_src2_u32", Atomic::umin32},
    {"min_src2_u64", Atomic::umin64},   {"max_src2_u32", Atomic::umax32},   {"max_src2_u64", Atomic::umax64},
    {"and_src2_b32", Atomic::and32},    {"and_src2_b64", Atomic::and64},    {"or_src2_b32", Atomic::or32},
    {"or_src2_b64", Atomic::or64},      {"xor_src2_b32", Atomic::xor32},    {"xor_src2_b64", Atomic::xor64},
    {"write_src2_b32", Atomic::swap32}, {"write_src2_b64", Atomic::swap64}, {"add_src2_f32", Atomic::add_f32},
    {"min_src2_f32", Atomic::min_f32},  {"max_src2_f32", Atomic::max_f32},  {"min_src2_f64", Atomic::min_f64},
    {"max_src2_f64", Atomic::max_f64},
};

}  // namespace

void register_lds_src2(HandlerTable& t) {
  for (const auto& o : operations) t.add(lasting(std::string("ds_") + o.name), atomic_handler<run>(o.operation), cdna);
}

}  // namespace rapt::sim
