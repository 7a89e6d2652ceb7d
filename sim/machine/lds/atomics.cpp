// Atomics of the DS instructions, with and without a result.
#include "sim/machine/atomic/atomic.hpp"
#include "sim/machine/lds/lds.hpp"

namespace rapt::sim {
namespace {

// Data in src1, a second operand in src2; Swapped: in gfx9's CMPST the value to compare comes first.
template <unsigned L, bool Swapped>
void run_in(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  need_lds(i);
  Offsets o;
  ds_offsets<L>(w, i, static_cast<u32>(i.offset), o);
  Addresses a;
  const u64 lanes = w.exec(), inside = reach_lds<L>(w, i, o, lanes, kernel.bytes, Action::atomic, a);
  check_aligned({Space::lds, Action::atomic, kernel.bytes, inside, a.at});
  const u32* data = w.row(i.src[1]);
  const u32* data2 = i.src[2].kind == OperandKind::none ? data : w.row(i.src[2]);
  u32* result = i.dst.kind == OperandKind::none ? nullptr : w.row(i.dst);
  if (Swapped) std::swap(data, data2);
  kernel.own({a.at, inside, data, data2, result, L, lds_float_rules(w, kernel.use)});
  if (!result || inside == lanes) return;
  if (kernel.bytes == 4) zero_rows<Data::b32, L>(result, lanes & ~inside, true);
  else zero_rows<Data::b64, L>(result, lanes & ~inside, true);
}

template <bool Swapped>
void run(Wave& w, const Instruction& i, const AtomicKernel& kernel) {
  if (w.lanes == 32) run_in<32, Swapped>(w, i, kernel);
  else run_in<64, Swapped>(w, i, kernel);
}

struct Named {
  const char* stem;
  const char* type;
  Atomic operation;
};
constexpr Named operations[] = {
    {"add", "u32", Atomic::add32},
    {"add", "u64", Atomic::add64},
    {"sub", "u32", Atomic::sub32},
    {"sub", "u64", Atomic::sub64},
    {"rsub", "u32", Atomic::rsub32},
    {"rsub", "u64", Atomic::rsub64},
    {"inc", "u32", Atomic::inc32},
    {"inc", "u64", Atomic::inc64},
    {"dec", "u32", Atomic::dec32},
    {"dec", "u64", Atomic::dec64},
    {"min", "i32", Atomic::smin32},
    {"min", "i64", Atomic::smin64},
    {"max", "i32", Atomic::smax32},
    {"max", "i64", Atomic::smax64},
    {"min", "u32", Atomic::umin32},
    {"min", "u64", Atomic::umin64},
    {"max", "u32", Atomic::umax32},
    {"max", "u64", Atomic::umax64},
    {"and", "b32", Atomic::and32},
    {"and", "b64", Atomic::and64},
    {"or", "b32", Atomic::or32},
    {"or", "b64", Atomic::or64},
    {"xor", "b32", Atomic::xor32},
    {"xor", "b64", Atomic::xor64},
    {"mskor", "b32", Atomic::mskor32},
    {"mskor", "b64", Atomic::mskor64},
    {"sub_clamp", "u32", Atomic::sub_clamp32},
    {"cond_sub", "u32", Atomic::cond_sub32},
    {"wrap", "b32", Atomic::wrap32},
    {"wrxchg", "b32", Atomic::swap32},
    {"wrxchg", "b64", Atomic::swap64},
    {"storexchg", "b32", Atomic::swap32},
    {"storexchg", "b64", Atomic::swap64},
    {"cmpstore", "b32", Atomic::cmpswap32},
    {"cmpstore", "b64", Atomic::cmpswap64},
    {"cmpstore", "f32", Atomic::cmpswap_f32},
    {"cmpstore", "f64", Atomic::cmpswap_f64},
    {"add", "f32", Atomic::add_f32},
    {"min", "f32", Atomic::min_f32},
    {"max", "f32", Atomic::max_f32},
    {"min_num", "f32", Atomic::min_f32},
    {"max_num", "f32", Atomic::max_f32},
    {"add", "f64", Atomic::add_f64},
    {"min", "f64", Atomic::min_f64},
    {"max", "f64", Atomic::max_f64},
    {"min_num", "f64", Atomic::min_f64},
    {"max_num", "f64", Atomic::max_f64},
    {"pk_add", "f16", Atomic::pk_add_f16},
    {"pk_add", "bf16", Atomic::pk_add_bf16},
};
constexpr Named compare_first[] = {
    {"cmpst", "b32", Atomic::cmpswap32},
    {"cmpst", "b64", Atomic::cmpswap64},
    {"cmpst", "f32", Atomic::cmpswap_f32},
    {"cmpst", "f64", Atomic::cmpswap_f64},
};

template <RunAtomic Run>
void add_named(HandlerTable& t, const Named& n) {
  for (const char* middle : {"_", "_rtn_"})
    t.add(lasting(std::string("ds_") + n.stem + middle + n.type), atomic_handler<Run>(n.operation));
}

// Each half of the data is stored, without its top bit, if that bit is set.
template <unsigned L>
void conditional_exchange(Wave& w, const Instruction& i) {
  need_lds(i);
  const u64 lanes = w.exec();
  if (lanes == 0) return;
  Offsets o;
  ds_offsets<L>(w, i, static_cast<u32>(i.offset), o);
  for (u32& at : o.at) at &= 0xfff8;
  Addresses a;
  const u64 inside = reach_lds<L>(w, i, o, lanes, 8, Action::atomic, a);
  const u32* data = w.row(i.src[1]);
  u32* out = w.row(i.dst);
  for_lanes(inside, [&](unsigned l) {
    u32* at = reinterpret_cast<u32*>(a.at[l]);
    const u32 values[] = {data[l], data[L + l]};  // the result may be in either register
    for (unsigned d = 0; d < 2; ++d) {
      out[d * L + l] = at[d];
      if (values[d] >> 31) at[d] = values[d] & 0x7fffffff;
    }
  });
  if (inside != lanes) zero_rows<Data::b64, L>(out, lanes & ~inside, true);
}

}  // namespace

void register_lds_atomics(HandlerTable& t) {
  for (const Named& n : operations) add_named<run<false>>(t, n);
  for (const Named& n : compare_first) add_named<run<true>>(t, n);
  t.add("ds_condxchg32_rtn_b64", conditional_exchange<32>, conditional_exchange<64>);
}

}  // namespace rapt::sim
