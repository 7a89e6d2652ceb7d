// A pass is a list of kernels that belong together. There are four:
//
//   forward  forward                                         takes no KV cache
//   split    split, split_combine                            combine merges the results over parts of the keys
//   apart    backward_dq, backward_dkv                       adds in a fixed order
//   fused    backward_dq, backward_fused, backward_dq_round  computes the scores once, adds to dq in any order
//
// A backward pass ends with backward_dbias and backward_dsink where their gradients are asked for. In `fused`,
// backward_dq computes only the statistics of rows.
//
// One kernel leads a pass. Rows of the tuning table name a pass by its leading kernel, and `groups` in a row is the
// number of that kernel's workgroups. choose() lists the passes that can run: one for each kernel that can lead, with
// the largest kernel of each other stage. Then it takes the pass that the first matching row names.
#include "gpu/choose.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "gpu/lengths.hpp"
#include "gpu/splits.hpp"
#include "gpu/tensor_maps.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

namespace {

constexpr int32_t kKeyGradients = gradient::k | gradient::v;

Stage lead_of(PassKind kind, const Needs& n) {
  if (kind == PassKind::forward) return Stage::forward;
  if (kind == PassKind::split) return Stage::split;
  if (kind == PassKind::fused) return Stage::backward_fused;
  return n.wants(kKeyGradients) ? Stage::backward_dkv : Stage::backward_dq;
}

Family family_of(const Variant& v) {
  if (v.known == nullptr || v.known->family == Family::any) return Family::any;
  return v.by_triton() ? Family::triton : v.known->family;
}

// "bias, mask, ... or a softmax_scale below ...": the options that kernels with these features lack.
std::string lacking(KernelSupport features) {
  std::string names;
  for (const Option& option : options())
    if (option.gpu > features) names += cat(option.name, ", ");
  return names + "or a softmax_scale below float32's least normal number, one of which the problem has";
}

// Kernels by Triton assume more of their tensors.
std::string triton_refusal(const Variant& v, const Needs& n) {
  if (v.head_dim != n.head_dim || v.head_dim != n.head_dim_v)
    return cat("by Triton: head_dim and head_dim_v must be ", v.head_dim);
  if (n.sink) return "by Triton: it has no sink";
  if (n.wants(gradient::bias)) return "by Triton: it has no gradient of a bias";
  if (n.alignment < v.triton.alignment)
    return cat("by Triton: tensors and rows must be aligned to ", v.triton.alignment, " bytes, the problem's are to ",
               n.alignment);
  if (!n.softcap_fits) return cat("by Triton: the backward pass takes a softcap of at most ", kMostTritonSoftcap);
  if (!n.strides_fit) return cat("by Triton: rows must be less than ", v.triton.row_stride_below, " elements apart");
  return "";
}

// A pass that can run the problem: its kernels by index, in the order of stages_of().
struct Candidate {
  PassKind kind;
  size_t lead;
  std::vector<size_t> kernels;
  Splits splits;  // of split
};

class Chooser {
 public:
  Chooser(const Shelf& shelf, const Needs& needs, std::string_view named) : shelf_(shelf), n_(needs) {
    if (!named.empty()) named_ = index_of(named);
  }

  Choice choose() const {
    Choice choice;
    if (named_) choice.refusal = refusal_of_named();
    if (!choice.refusal.empty()) return choice;
    std::vector<Candidate> candidates;
    for (const PassKind kind : kinds())
      if (refusal(kind, n_).empty()) add_candidates(kind, candidates);
    if (candidates.empty()) {
      choice.refusal = why_none();
      return choice;
    }
    const int32_t units = std::max(shelf_.device.compute_units, 1);
    for (const TuningRow& row : shelf_.tuning.rows) {
      if (!row.stale.empty() || !row.holds(n_, units)) continue;
      const Candidate* const c = named_by(row.use, candidates);
      if (c == nullptr || !row.groups.holds(grid_of(lead_of(c->kind, n_), kernel(c->lead), n_).workgroups / units))
        continue;
      choice.pass = laid_out(*c);
      choice.pass.row = &row;
      return choice;
    }
    choice.refusal = "the tuning table has no row for a pass that can run it";  // not with the default rows
    return choice;
  }

 private:
  const Variant& kernel(size_t index) const { return shelf_.kernels[index]; }

  size_t index_of(std::string_view name) const {
    std::string names;
    for (size_t i = 0; i < shelf_.kernels.size(); ++i) {
      if (kernel(i).name == name) return i;
      names += cat(names.empty() ? "" : ", ", kernel(i).name);
    }
    throw Error(RAPT_INVALID_ARGUMENT, cat("execution.backend is \"", device_type_name(shelf_.device.id.type), ".",
                                           name, "\", ", shelf_.archive, " has no such variant; it has ", names));
  }

  bool is_named(Stage stage) const { return named_ && kernel(*named_).computes(stage); }

  // The passes of the problem's direction that may run it; only the pass that a named kernel asks for.
  std::vector<PassKind> kinds() const {
    if (is_named(Stage::forward)) return {PassKind::forward};
    if (is_named(Stage::split) || is_named(Stage::split_combine)) return {PassKind::split};
    if (is_named(Stage::backward_fused) || is_named(Stage::backward_dq_round)) return {PassKind::fused};
    if (named_ && family_of(kernel(*named_)) == Family::hopper) return {PassKind::fused};
    if (named_) return {PassKind::apart};
    if (n_.op == RAPT_FORWARD) return {PassKind::forward, PassKind::split};
    return {PassKind::fused, PassKind::apart};
  }

  std::string refusal_of_named() const {
    const Variant& v = kernel(*named_);
    const PassKind kind = kinds().front();
    const std::vector<Stage> stages = stages_of(kind, n_);
    const auto stage = std::ranges::find_if(stages, [&](Stage s) { return v.computes(s); });
    if (direction_of(kind) != n_.op || stage == stages.end())
      return cat(v.name, ": it computes ", v.operation, ", which the problem does not need");
    std::string why = refusal(kind, n_);
    if (why.empty()) why = refusal(v, *stage, Family::any, n_);
    return why.empty() ? "" : cat(v.name, ": ", why);
  }

  void add_candidates(PassKind kind, std::vector<Candidate>& candidates) const {
    for (const size_t lead : able(lead_of(kind, n_), Family::any)) {
      Candidate c{kind, lead, {}, {}};
      std::vector<Stage> stages = stages_of(kind, n_);
      if (kind == PassKind::split) {
        c.splits = cut_keys(kernel(lead), n_, shelf_.device);
        if (c.splits.count == 1 && is_named(Stage::split_combine)) continue;
        if (c.splits.count == 1) stages.pop_back();
      }
      for (const Stage stage : stages) {
        if (stage == lead_of(kind, n_)) c.kernels.push_back(lead);
        else if (const auto found = by_shape(able(stage, family_of(kernel(lead))), std::nullopt, "largest"))
          c.kernels.push_back(*found);
      }
      if (c.kernels.size() == stages.size()) candidates.push_back(std::move(c));
    }
  }

  // The kernels that can compute a stage; the named one alone if this is its stage.
  std::vector<size_t> able(Stage stage, Family family) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < shelf_.kernels.size(); ++i)
      if (kernel(i).computes(stage) && (!is_named(stage) || i == *named_) &&
          refusal(kernel(i), stage, family, n_).empty())
        found.push_back(i);
    return found;
  }

  // The kernels whose tile is `tile`, by default the smallest tile present. If some are plain, only the plain ones.
  std::vector<size_t> of_tile(const std::vector<size_t>& kernels, std::optional<int32_t> tile) const {
    if (!tile && !kernels.empty())
      tile = kernel(*std::ranges::min_element(kernels, {}, [&](size_t i) { return kernel(i).head_dim; })).head_dim;
    std::vector<size_t> plain, others;
    for (const size_t i : kernels)
      if (kernel(i).head_dim == tile) (kernel(i).features == "plain" ? plain : others).push_back(i);
    return plain.empty() ? others : plain;
  }

  // The kernel of this tile, by default the smallest tile present, with this shape: the end of a kernel's name, or
  // "largest" or "smallest", the most or fewest rows per workgroup. The latter take kernels by Triton or by tensor maps
  // only if nothing else runs.
  std::optional<size_t> by_shape(std::vector<size_t> kernels, std::optional<int32_t> tile,
                                 std::string_view shape) const {
    for (const size_t i : of_tile(kernels, tile))
      if (kernel(i).name.ends_with(cat(".", shape))) return i;
    const auto special = [&](size_t i) { return kernel(i).by_triton() || kernel(i).known->hopper; };
    if (!std::ranges::all_of(kernels, special)) std::erase_if(kernels, special);
    kernels = of_tile(kernels, tile);
    if (kernels.empty()) return std::nullopt;
    const auto block = [&](size_t i) { return kernel(i).block_q; };
    if (shape == "largest") return *std::ranges::max_element(kernels, {}, block);
    if (shape == "smallest") return *std::ranges::min_element(kernels, {}, block);
    return std::nullopt;
  }

  // The candidate that a row names; null if there is none. If only dq is wanted, a row that names a kernel of
  // backward_dkv takes the largest backward_dq of the same family.
  const Candidate* named_by(const TuningUse& use, const std::vector<Candidate>& candidates) const {
    std::optional<size_t> lead;
    if (use.kernel.empty()) {
      std::vector<size_t> leads;
      for (const Candidate& c : candidates)
        if (c.kind == use.pass) leads.push_back(c.lead);
      lead = by_shape(std::move(leads), use.tile, use.shape);
    } else {
      const auto found = std::ranges::find(shelf_.kernels, use.kernel, &Variant::name);
      if (found == shelf_.kernels.end()) return nullptr;
      lead = static_cast<size_t>(found - shelf_.kernels.begin());
      if (found->computes(Stage::backward_dkv) && !n_.wants(kKeyGradients) &&
          refusal(*found, Stage::backward_dkv, Family::any, n_).empty())
        lead = by_shape(able(Stage::backward_dq, family_of(*found)), std::nullopt, "largest");
    }
    const auto c = std::ranges::find_if(candidates, [&](const Candidate& other) { return other.lead == lead; });
    return c == candidates.end() ? nullptr : &*c;
  }

  // Why there is no candidate: a stage without kernels, or each distinct reason with the number of kernels.
  std::string why_none() const {
    if (is_named(Stage::split_combine) && !able(Stage::split, Family::any).empty())
      return cat(kernel(*named_).name, ": there is one split of the keys, so nothing to merge");
    for (const PassKind kind : kinds()) {
      if (kind == PassKind::fused || !refusal(kind, n_).empty()) continue;
      for (const Stage stage : stages_of(kind, n_)) {
        if (std::ranges::none_of(shelf_.kernels, [&](const Variant& v) { return v.computes(stage); }))
          return cat(shelf_.archive, " has no kernel of ", stage_name(stage), ", which the problem needs");
        if (able(stage, Family::any).empty()) return refusals(stage);
      }
    }
    return cat(shelf_.archive, " has no kernels that can run together and take it");
  }

  std::string refusals(Stage stage) const {
    std::vector<std::pair<std::string, int32_t>> reasons;
    for (const Variant& v : shelf_.kernels) {
      const std::string why = refusal(v, stage, Family::any, n_);
      const auto seen = std::ranges::find(reasons, why, &std::pair<std::string, int32_t>::first);
      if (seen == reasons.end()) reasons.emplace_back(why, 1);
      else ++seen->second;
    }
    std::string text = cat("none of the ", uint64_t{shelf_.kernels.size()}, " variants of ", shelf_.archive,
                           " takes it on ", shelf_.device.text(), " (", shelf_.device.arch, ")");
    for (const auto& [why, count] : reasons) text += cat("; ", count, ": ", why);
    return text;
  }

  // The pass of a candidate, with the sizes of its launches and its workspace.
  Pass laid_out(const Candidate& c) const {
    Pass pass;
    pass.kind = c.kind;
    pass.lead = c.lead;
    const std::vector<Stage> stages = stages_of(c.kind, n_);
    for (size_t i = 0; i < c.kernels.size(); ++i) {
      const Grid grid = grid_of(stages[i], kernel(c.kernels[i]), n_);
      const bool all_at_once = kernel(c.kernels[i]).known->hopper;
      const double workgroups =
          all_at_once ? std::min<double>(grid.workgroups, shelf_.device.compute_units) : grid.workgroups;
      pass.kernels[pass.count++] = {stages[i], c.kernels[i], static_cast<int32_t>(grid.tiles),
                                    static_cast<uint32_t>(workgroups)};
    }
    pass.splits = c.splits.count;
    pass.split_rows = c.splits.rows;
    pass.kernels[0].workgroups *= static_cast<uint32_t>(c.splits.count);
    if (c.kind == PassKind::fused) pass.dq_sum_dims = kernel(c.lead).head_dim;
    lay_out_workspace(pass);
    return pass;
  }

  void lay_out_workspace(Pass& pass) const {
    WorkspaceLayout& w = pass.workspace;
    w.bytes = n_.host_lengths ? lengths_bytes(n_.batch) : 0;
    const auto place = [&](size_t& at, int64_t rows, size_t bytes) {
      at = w.bytes;
      w.bytes += static_cast<size_t>(rows) * bytes;
    };
    if (pass.splits > 1) {
      const int64_t rows = n_.batch * n_.heads_q * n_.seqlen_q * pass.splits;
      place(w.partial_out, rows, static_cast<size_t>(partial_dims(n_.head_dim_v)) * sizeof(float));
      place(w.partial_softmax, rows, sizeof(rapt_abi_partial));
    }
    if (n_.op == RAPT_FORWARD) return;
    // Kernels add zeros to rows that do not exist: the rest of a step of up to 128, then of a group of 16.
    const bool hopper = kernel(pass.lead).known->hopper;
    const int64_t rows = hopper ? hopper_rows(n_) : n_.heads_q * n_.rows_q;
    const int64_t beyond = pass.dq_sum_dims > 0 ? 128 + 16 : 0;
    place(w.dq_sum, rows + beyond, static_cast<size_t>(pass.dq_sum_dims) * sizeof(float));
    place(w.statistics, rows, sizeof(rapt_abi_row_statistics));
    if (hopper) place(w.counters, 2, sizeof(int32_t));
  }

  const Shelf& shelf_;
  const Needs& n_;
  std::optional<size_t> named_;
};

}  // namespace

Choice choose(const Shelf& shelf, const Needs& needs, std::string_view named) {
  return Chooser(shelf, needs, named).choose();
}

std::vector<Stage> stages_of(PassKind kind, const Needs& n) {
  if (kind == PassKind::forward) return {Stage::forward};
  if (kind == PassKind::split) return {Stage::split, Stage::split_combine};
  std::vector<Stage> stages = {Stage::backward_dq};  // also for the statistics that other stages read
  if (kind == PassKind::fused) stages.insert(stages.end(), {Stage::backward_fused, Stage::backward_dq_round});
  else if (n.wants(kKeyGradients)) stages.push_back(Stage::backward_dkv);
  if (n.wants(gradient::bias)) stages.push_back(Stage::backward_dbias);
  if (n.wants(gradient::sink)) stages.push_back(Stage::backward_dsink);
  return stages;
}

std::string refusal(PassKind kind, const Needs& n) {
  if (kind == PassKind::forward && n.cache) return "it takes no KV cache";
  if (kind != PassKind::fused) return "";
  if (n.deterministic) return "deterministic is asked for, and it adds to dq in any order";
  if (!n.wants(gradient::q) || !n.wants(kKeyGradients)) return "it computes dq together with dk or dv, not one alone";
  return "";
}

std::string of_another_version(const Variant& v) {
  if (v.known == nullptr) return cat("it computes ", v.operation, ", which this library does not know");
  const int32_t own = v.argument_size - (v.by_triton() ? archive::kTritonArguments : 0);
  if (own == static_cast<int32_t>(v.known->argument_size)) return "";
  return cat("it takes ", v.argument_size, " bytes of arguments, this library passes ",
             uint64_t{v.known->argument_size}, ": they are of different versions");
}

std::string refusal(const Variant& v, Stage stage, Family family, const Needs& n) {
  if (std::string why = of_another_version(v); !why.empty()) return why;
  if (!v.computes(stage)) return cat("it computes ", v.operation);
  // The kernels that merge splits and add up a sink's gradient read float32 of any head dim; dq_round rounds dq.
  const bool merges = stage == Stage::split_combine || stage == Stage::backward_dsink;
  const bool rounds = stage == Stage::backward_dq_round, general = n.general() && !merges && !rounds;
  const int64_t head_dim = merges ? 1 : rounds ? n.head_dim : n.tile();
  if (v.dtype != (merges ? DType::fp32 : n.dtype)) return cat("it is for ", dtype_name(v.dtype));
  if (v.head_dim < head_dim) return cat("its tile holds head dims up to ", v.head_dim, ", the problem's is ", head_dim);
  if (v.by_triton())
    if (std::string why = triton_refusal(v, n); !why.empty()) return why;
  if (v.known->hopper || v.known->family == Family::hopper)
    if (std::string why = hopper_refusal(n); !why.empty()) return why;
  if (family != Family::any && family_of(v) != Family::any && family_of(v) != family)
    return "backward_dq and backward_dkv of a pass add up dP in the same order, and this kernel has another";
  if (general && v.features == "plain") return cat("plain kernels lack ", lacking(KernelSupport::every));
  if (general && v.features == "scores" && n.options == KernelSupport::general)
    return cat("kernels with features scores lack ", lacking(KernelSupport::scores));
  const double workgroups = grid_of(stage, v, n).workgroups;
  if (workgroups * v.threads >= 0x1p32)
    return cat("it needs ", workgroups, " workgroups of ", v.threads, " threads, a launch has less than 2^32");
  return "";
}

}  // namespace rapt::gpu
