// A pass is a list of kernels that belong together. There are five:
//
//   forward  forward                                         takes a KV cache on Hopper
//   split    split, split_combine                            combine merges the results over parts of the keys
//   apart    backward_dq, backward_dkv                       adds in a fixed order
//   fused    backward_dq, backward_fused, backward_dq_round  computes the scores once, adds to dq in any order; on
//                                                            Hopper in a fixed order if `deterministic` is asked for
//   alone    backward_short                                  adds in a fixed order; all keys must fit its tile
//
// A backward pass ends with backward_dbias and backward_dsink where their gradients are asked for. In `fused`,
// backward_dq computes only the statistics of rows; in `alone` there are none.
//
// One kernel leads a pass. Rows of the tuning table name a pass by its leading kernel, and `groups` in a row is the
// number of that kernel's workgroups. choose() lists the passes that can run: one for each kernel that can lead, with
// the largest kernel of each other stage. Then it takes the pass that the first matching row names.
#include "gpu/choose.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "gpu/lengths.hpp"
#include "gpu/tensor_maps.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

namespace {

constexpr int32_t kKeyGradients = gradient::k | gradient::v;

constexpr uint32_t bit(Stage stage) { return 1u << static_cast<int>(stage); }

// The stages of a pass that compute what the problem asks for. They run in the order of operations::kStages.
uint32_t stages_of(PassKind kind, const Needs& n) {
  if (direction_of(kind) != n.op) return 0;
  if (kind == PassKind::forward) return bit(Stage::forward);
  if (kind == PassKind::split) return bit(Stage::split) | bit(Stage::split_combine);
  if (kind == PassKind::alone) return bit(Stage::backward_short);
  uint32_t stages = bit(Stage::backward_dq);  // also for the statistics that other stages read
  if (kind == PassKind::fused) stages |= bit(Stage::backward_fused) | bit(Stage::backward_dq_round);
  else if (n.wants(kKeyGradients)) stages |= bit(Stage::backward_dkv);
  if (n.wants(gradient::bias)) stages |= bit(Stage::backward_dbias);
  if (n.wants(gradient::sink)) stages |= bit(Stage::backward_dsink);
  return stages;
}

// The pass that a kernel belongs to, if the problem needs its stage: `apart` rather than `fused` if both have the
// stage.
std::optional<PassKind> home(const Variant& v, const Needs& n) {
  for (const PassKind kind : {PassKind::forward, PassKind::split, PassKind::apart, PassKind::fused, PassKind::alone}) {
    const bool another_order = kind == PassKind::apart && v.known->family == Family::hopper;
    if (!another_order && stages_of(kind, n) & bit(v.known->stage)) return kind;
  }
  return std::nullopt;
}

bool takes_dropout(const Variant& v) { return v.features == "general" || v.features == v.known->drops; }

bool takes_options(const Variant& v, const Needs& n) {
  const bool options = v.features == "general" || n.options == KernelSupport::every ||
                       (v.features == "scores" && n.options == KernelSupport::scores);
  return options && (!n.dropout || takes_dropout(v));
}

// "plain kernels lack bias, mask, ... or a softmax_scale below ...": the options that such kernels do not compute.
std::string lacking(const Variant& v) {
  const bool scores = v.features == "scores";
  std::string names = scores ? "kernels with features scores lack " : "plain kernels lack ";
  for (const Option& option : options()) {
    const bool has = option.gpu == KernelSupport::every || (option.gpu == KernelSupport::scores && scores) ||
                     (option.gpu == KernelSupport::dropout && takes_dropout(v));
    if (!has) names += cat(option.name, ", ");
  }
  return names + "or a softmax_scale below float32's least normal number, one of which the problem has";
}

// Kernels by Triton assume more of their tensors.
std::string triton_refusal(const Variant& v, const Needs& n) {
  if (v.head_dim != n.head_dim || v.head_dim != n.head_dim_v)
    return cat("by Triton: head_dim and head_dim_v must be ", v.head_dim);
  if (n.sink) return "by Triton: it has no sink";
  if (n.alignment < v.triton.alignment)
    return cat("by Triton: tensors and rows must be aligned to ", v.triton.alignment, " bytes, the problem's are to ",
               n.alignment);
  if (!n.strides_fit) return cat("by Triton: rows must be less than ", v.triton.row_stride_below, " elements apart");
  return "";
}

// Why a kernel of the forward pass takes no such cache. It copies a tile of keys from one page.
std::string cache_refusal(const Variant& v, const Needs& n) {
  if (!v.known->hopper || v.features != "plain" || v.block_k % 64 != 0) return "it takes no KV cache";
  if (n.appends || n.rotates) return "it appends no keys to a KV cache, and rotates none";
  if (n.page % v.block_k != 0)
    return cat("pages must have a multiple of ", v.block_k, " rows, as its tiles of keys have, the problem's have ",
               n.page);
  if (n.padded_pages) return "it takes no padding before keys in pages";
  return "";
}

// Why a kernel that computes all gradients alone does not.
std::string alone_refusal(const Variant& v, const Needs& n) {
  if (n.seqlen_k > v.block_q)
    return cat("all keys must fit its tile of ", v.block_q, ", the problem has up to ", n.seqlen_k);
  if (n.wants(gradient::bias | gradient::sink)) return "it has no gradient of a bias or sink, and leaves no statistics";
  if (!n.wants(gradient::q | kKeyGradients)) return "it computes dq, dk and dv, and none of them is asked for";
  return "";
}

// The kernel of this tile, by default the smallest tile present, with this shape: the end of a kernel's name, or
// "largest" or "smallest", the most or fewest rows per workgroup. The latter take kernels by Triton or by tensor maps
// only if nothing else runs. If the tile has plain kernels, only one of them. Null if there is none.
const Variant* by_shape(const std::vector<const Variant*>& kernels, std::optional<int32_t> tile,
                        std::string_view shape) {
  const int32_t by_size = shape == "largest" ? -1 : shape == "smallest" ? 1 : 0;
  const auto fits = [&](const Variant* v) { return by_size || v->name.ends_with(cat(".", shape)); };
  const auto of_tile = [&](const Variant* v) { return v->head_dim == tile.value_or(v->head_dim); };
  const auto rank = [&](const Variant* v) {  // the lowest is best
    return std::tuple(by_size && (v->by_triton() || v->known->hopper), !of_tile(v), v->head_dim, v->features != "plain",
                      !fits(v), by_size * v->block_q);
  };
  const auto best = std::ranges::min_element(kernels, {}, rank);
  return best != kernels.end() && of_tile(*best) && fits(*best) ? *best : nullptr;
}

class Chooser {
 public:
  Chooser(const Shelf& shelf, const Needs& needs) : shelf_(shelf), n_(needs) {
    for (const Variant& v : shelf.kernels)  // the first two checks save writing reasons that nobody reads
      if (v.known && home(v, needs) && refusal(v, needs).empty()) able_.push_back(&v);
    for (const Variant* v : able_) add_pass(*v);
  }

  Choice choose(bool with_reasons) const {
    Choice choice;
    const int32_t units = std::max(shelf_.device.compute_units, 1);
    for (const TuningRow& row : shelf_.tuning.rows) {
      const Pass* const pass = row.stale.empty() && row.holds(n_, units) ? named_by(row.use) : nullptr;
      if (pass == nullptr || !row.groups.holds(grid_of(*pass->lead, n_).workgroups / units)) continue;
      choice.pass = *pass;
      choice.pass.row = &row;
      break;
    }
    if (choice.pass.row == nullptr) choice.refusal = why_none();
    if (with_reasons)
      for (const Variant& v : shelf_.kernels) choice.reasons.push_back(why_not(v, choice.pass));
    return choice;
  }

 private:
  // The kernels that can compute a stage beside kernels of this family; the named one alone if this is its stage.
  std::vector<const Variant*> able(Stage stage, Family family) const {
    std::vector<const Variant*> found;
    for (const Variant* v : able_) {
      if (!v->computes(stage) || (n_.named && n_.named != v && n_.named->computes(stage))) continue;
      if (v->family() == family || v->family() == Family::any || family == Family::any) found.push_back(v);
    }
    return found;
  }

  // Whether a launch should start before the stream's last kernel has ended. Its workgroups then take places as they
  // become free. In two cases that costs more than it gains (docs/log/2026-11-29-h200-decode-eight-waves.md): splits of
  // a large batch, which are folded, and many tiles of 64 queries with one whole tile of keys.
  bool starts_early(const Variant& v, const Pass& pass, const Grid& grid, double at_once) const {
    if (!v.waits || v.computes(Stage::split_combine)) return v.waits;
    if (v.computes(Stage::split)) return pass.splits > 1;
    const bool short_tiles = v.block_q == 64 && n_.seqlen_k == v.block_k && grid.tiles <= 2;
    return !short_tiles || grid.workgroups < 5 * at_once;
  }

  // Adds the pass that a kernel leads, if it leads one, with the largest kernel of each other stage.
  void add_pass(const Variant& lead) {
    Pass pass;
    pass.kind = *home(lead, n_);
    pass.lead = &lead;
    const uint32_t stages = stages_of(pass.kind, n_);
    const bool keys_lead = pass.kind == PassKind::fused || n_.wants(kKeyGradients);
    const uint32_t before = keys_lead ? bit(Stage::backward_dq) : 0;  // the kernel of dk and dv leads
    if (!lead.computes(static_cast<Stage>(std::countr_zero(stages & ~before)))) return;
    if (pass.kind == PassKind::fused) pass.dq_sum_dims = lead.head_dim, pass.in_order = n_.deterministic;
    if (pass.kind == PassKind::split) cut_keys(pass, n_, shelf_.device);
    for (const auto& [stage, name] : operations::kStages) {
      if (!(stages & bit(stage)) || (stage == Stage::split_combine && pass.splits == 1)) continue;
      const Variant* const v =
          lead.computes(stage) ? &lead : by_shape(able(stage, lead.family()), std::nullopt, "largest");
      if (v == nullptr) return;
      const Grid grid = grid_of(*v, n_);
      const int32_t resident = std::max(v->nvidia.occupancy * 4 / v->waves, 1);
      const double at_once = shelf_.device.compute_units * resident,
                   most = v->known->hopper ? at_once : grid.workgroups;
      pass.kernels.push_back({.variant = v,
                              .tiles = static_cast<int32_t>(grid.tiles),
                              .workgroups = static_cast<uint32_t>(std::min(grid.workgroups, most)),
                              .overlaps = starts_early(*v, pass, grid, at_once)});
    }
    const int32_t at_once = pass.splits_at_once;
    if (at_once > 1) pass.kernels[0].grid_rows = pass.kernels[0].workgroups;
    pass.kernels[0].workgroups *= static_cast<uint32_t>((pass.splits + at_once - 1) / at_once);
    lay_out_workspace(pass);
    if (!n_.named || (pass.has(*n_.named) && home(*n_.named, n_) == pass.kind)) passes_.push_back(std::move(pass));
  }

  // The pass that a row names; null if there is none. If only dq is wanted, a row that names a kernel of backward_dkv
  // takes the largest backward_dq of the same family.
  const Pass* named_by(const TuningUse& use) const {
    const auto named = std::ranges::find(shelf_.kernels, use.kernel, &Variant::name);
    const bool gradient = named != shelf_.kernels.end() && named->computes(Stage::backward_dkv);
    std::vector<const Variant*> leads;
    for (const Pass& pass : passes_) {
      const Variant& lead = *pass.lead;
      const bool beside = gradient && lead.computes(Stage::backward_dq) && lead.family() == named->family();
      if (use.kernel.empty() ? pass.kind == use.pass : lead.name == use.kernel || beside) leads.push_back(&lead);
    }
    const Variant* const lead = by_shape(leads, use.tile, use.kernel.empty() ? use.shape : "largest");
    const auto pass = std::ranges::find(passes_, lead, &Pass::lead);
    return pass == passes_.end() ? nullptr : &*pass;
  }

  // Why the kernel is not in the pass, whose row is null if no pass runs the problem; "" if it is.
  std::string why_not(const Variant& v, const Pass& pass) const {
    if (pass.has(v)) return "";
    if (std::string why = refusal(v, n_); !why.empty()) return why;
    if (n_.named && n_.named != &v) return "another was asked for";
    const bool can_run = std::ranges::any_of(passes_, [&](const Pass& other) { return other.has(v); });
    for (const auto& [stage, name] : operations::kStages)
      if (!can_run && stages_of(*home(v, n_), n_) & bit(stage) && able(stage, v.family()).empty())
        return cat("no kernel of ", name, " can run with it");
    const auto own = std::ranges::find(pass.kernels, v.known->stage, &PassKernel::stage);
    if (own == pass.kernels.end() && v.computes(Stage::split_combine) && (!pass.row || pass.kind == PassKind::split))
      return "there is one split of the keys, so nothing to merge";
    if (pass.row == nullptr) return "the tuning table has no row for it";  // not with the default rows
    if (own == pass.kernels.end())
      return cat("the tuning row takes the pass ", name_of(pass.kind), ", of ", pass.lead->name);
    const Variant& chosen = *own->variant;
    if (v.head_dim > chosen.head_dim) return cat("the tile of ", chosen.head_dim, " fits");
    if (v.head_dim == chosen.head_dim && chosen.features == "plain" && v.features != "plain")
      return "a plain kernel suffices";
    return cat("the tuning row takes ", chosen.name);
  }

  // Why no pass runs the problem: why the named kernel does not, or each distinct reason with the number of kernels.
  std::string why_none() const {
    if (n_.named) return cat(n_.named->name, ": ", why_not(*n_.named, {}));
    std::map<std::pair<bool, std::string>, int32_t> counts;  // kernels of other stages come last
    for (const Variant& v : shelf_.kernels) ++counts[{!v.known || !home(v, n_), why_not(v, {})}];
    std::string text = cat("none of the ", uint64_t{shelf_.kernels.size()}, " variants of ", shelf_.archive,
                           " takes it on ", shelf_.device.text(), " (", shelf_.device.arch, ")");
    for (const auto& [why, count] : counts) text += cat("; ", count, ": ", why.second);
    return text;
  }

  void lay_out_workspace(Pass& pass) const {
    const bool hopper = n_.op == RAPT_BACKWARD && pass.lead->known->hopper;
    const int64_t partial = pass.splits > 1 ? n_.batch * n_.heads_q * n_.seqlen_q * pass.splits : 0;
    const int64_t rows = hopper ? hopper_rows(n_) : n_.heads_q * n_.rows_q;
    // Kernels add zeros to rows that do not exist: the rest of a step of up to 128, then of a group of 16.
    const int64_t beyond = pass.dq_sum_dims > 0 ? 128 + 16 : 0;
    WorkspaceLayout& w = pass.workspace;
    w.bytes = n_.host_lengths ? lengths_bytes(n_.batch) : 0;
    const auto place = [&](int64_t count, size_t bytes) {
      return std::exchange(w.bytes, w.bytes + static_cast<size_t>(count) * bytes);
    };
    w.partial_out = place(partial, static_cast<size_t>(partial_dims(n_.head_dim_v)) * sizeof(float));
    w.partial_softmax = place(partial, sizeof(rapt_abi_partial));
    w.dq_sum = place(rows + beyond, static_cast<size_t>(pass.dq_sum_dims) * sizeof(float));
    const int64_t copied = hopper && n_.packed ? (n_.heads_q * n_.rows_q + 1) / 2 * 2 : 0;  // padded_rows.hpp
    w.statistics = place(pass.kind == PassKind::alone ? 0 : copied + rows, sizeof(rapt_abi_row_statistics));
    const bool adds = pass.kind == PassKind::fused && hopper;
    w.counters = place(adds ? 2 : 0, sizeof(int32_t));
    w.added = place(adds ? rows / kRowsAdded : 0, sizeof(int32_t));
  }

  const Shelf& shelf_;
  const Needs& n_;
  std::vector<const Variant*> able_;  // can compute their stages of the problem
  std::vector<Pass> passes_;          // can run it
};

}  // namespace

Choice choose(const Shelf& shelf, const Needs& needs, bool with_reasons) {
  return Chooser(shelf, needs).choose(with_reasons);
}

const Variant* find_named(const Shelf& shelf, std::string_view name) {
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find(shelf.kernels, name, &Variant::name);
  if (found != shelf.kernels.end()) return &*found;
  std::string names;
  for (const Variant& v : shelf.kernels) names += cat(names.empty() ? "" : ", ", v.name);
  throw Error(RAPT_INVALID_ARGUMENT, cat("execution.backend is \"", device_type_name(shelf.device.id.type), ".", name,
                                         "\", ", shelf.archive, " has no such variant; it has ", names));
}

std::string refusal(const Variant& v, const Needs& n) {
  if (v.known == nullptr)
    return cat("it computes ", v.operation, " from ", v.argument_size,
               " bytes of arguments, which this library does not know: it is of another version");
  const Stage stage = v.known->stage;
  const std::optional<PassKind> pass = home(v, n);
  if (!pass) return cat("it computes ", v.operation, ", which the problem does not need");
  if (pass == PassKind::forward && n.cache)
    if (std::string why = cache_refusal(v, n); !why.empty()) return why;
  if (pass == PassKind::fused && n.deterministic && v.known->family != Family::hopper)
    return "deterministic is asked for, and it adds to dq in any order";
  if (pass == PassKind::fused && v.known->family != Family::hopper && !(n.wants(gradient::q) && n.wants(kKeyGradients)))
    return "it computes dq together with dk or dv, not one alone";
  if (pass == PassKind::fused && !n.wants(gradient::q | kKeyGradients))
    return "it computes dq, dk and dv, and none of them is asked for";
  if (pass == PassKind::alone)
    if (std::string why = alone_refusal(v, n); !why.empty()) return why;
  // The kernels that merge splits and add up a sink's gradient read float32 of any head dim; dq_round rounds dq. Those
  // beside Hopper's sums of dq see no scores.
  const bool merges = stage == Stage::split_combine || stage == Stage::backward_dsink;
  const bool rounds = stage == Stage::backward_dq_round;
  const bool statistics = pass == PassKind::fused && stage == Stage::backward_dq;
  const int64_t head_dim = merges ? 1 : rounds ? n.head_dim : n.tile();
  if (v.dtype != (merges ? DType::fp32 : n.dtype)) return cat("it is for ", dtype_name(v.dtype));
  if (v.head_dim < head_dim) return cat("its tile holds head dims up to ", v.head_dim, ", the problem's is ", head_dim);
  const bool by_maps = v.known->hopper || v.known->family == Family::hopper;
  std::string why = v.by_triton() ? triton_refusal(v, n) : by_maps ? hopper_refusal(v, n) : "";
  if (!why.empty()) return why;
  if (!merges && !rounds && !statistics && !takes_options(v, n)) return lacking(v);
  const double workgroups = grid_of(v, n).workgroups;
  if (workgroups * v.threads >= 0x1p32)
    return cat("it needs ", workgroups, " workgroups of ", v.threads, " threads, a launch has less than 2^32");
  return "";
}

}  // namespace rapt::gpu
