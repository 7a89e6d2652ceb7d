#include "gpu/select.hpp"

#include <algorithm>
#include <charconv>
#include <cfloat>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/text.hpp"
#include "kernels/archive_format.hpp"
#include "problem/options.hpp"

namespace rapt::gpu {

namespace {

constexpr int64_t kMost = int64_t{1} << 29;  // kernels add up to three positions in int32
// Triton's backward kernels have a tanh that is wrong by 2^-22: with this softcap, P by an eighth of what fp16 rounds
// off.
constexpr double kMostSoftcap = 128;

// "k64w8" of "forward.d128.bf16.plain.k64w8".
std::string_view shape_of(const Variant& v) { return std::string_view(v.name).substr(v.name.rfind('.') + 1); }

// Of the variants of a tile, the plain ones if the call is plain, otherwise the general ones.
std::vector<size_t> of_tile(std::span<const Variant> variants, const std::vector<size_t>& able, int32_t head_dim) {
  std::vector<size_t> plain, general;
  for (const size_t i : able)
    if (variants[i].head_dim == head_dim) (variants[i].features == "plain" ? plain : general).push_back(i);
  return plain.empty() ? general : plain;
}

// Of kernels, of which there is at least one.
int32_t smallest_tile(std::span<const Variant> variants, const std::vector<size_t>& kernels) {
  return variants[*std::ranges::min_element(kernels, {}, [&](size_t i) { return variants[i].head_dim; })].head_dim;
}

// The kernel that a row names. Kernels by Triton only by a name, or `triton_too`.
std::optional<size_t> named(std::span<const Variant> variants, const std::vector<size_t>& able, const std::string& use,
                            bool triton_too) {
  for (const size_t i : able)
    if (variants[i].name == use) return i;
  if (std::ranges::count(use, '.') > 1) return std::nullopt;  // a whole name
  std::string_view shape = use;
  std::optional<int32_t> tile;
  if (const size_t dot = use.find('.'); use.starts_with('d') && dot != std::string::npos) {
    const auto [end, error] = std::from_chars(use.data() + 1, use.data() + dot, tile.emplace());
    if (error != std::errc() || end != use.data() + dot) return std::nullopt;
    shape.remove_prefix(dot + 1);
  }
  for (const size_t i : of_tile(variants, able, tile.value_or(smallest_tile(variants, able))))
    if (shape_of(variants[i]) == shape) return i;
  std::vector<size_t> from = able;
  if (!triton_too) std::erase_if(from, [&](size_t i) { return variants[i].by_triton(); });
  if (from.empty()) return std::nullopt;
  from = of_tile(variants, from, tile.value_or(smallest_tile(variants, from)));
  if (from.empty()) return std::nullopt;
  const auto block = [&](size_t i) { return variants[i].block_q; };
  if (shape == "largest") return *std::ranges::max_element(from, {}, block);
  if (shape == "smallest") return *std::ranges::min_element(from, {}, block);
  return std::nullopt;
}

// "bias, mask, ... or softmax_scale <= 0": the options that kernels with these features lack.
std::string lacking(KernelSupport features) {
  std::string names;
  for (const Option& option : options())
    if (option.gpu > features) names += cat(option.name, ", ");
  return names + "or a softmax_scale below float32's least normal number, one of which the problem has";
}

// All but those on the workgroups of the kernel that the row names.
bool conditions_hold(const TuningRow& row, const KernelRequirements& d, int32_t compute_units) {
  return row.stage == d.stage && (row.dtypes >> static_cast<int>(d.dtype) & 1) &&
         (row.masks >> static_cast<int>(d.mask) & 1) &&
         (row.features.empty() || row.features == (d.general ? "general" : "plain")) &&
         d.head_dim >= row.head_dim_least && d.head_dim <= row.head_dim_most &&
         row.rows.holds(static_cast<double>(d.rows)) && row.seqlen_k.holds(static_cast<double>(d.seqlen_k)) &&
         row.unit_rows.holds(static_cast<double>(d.query_rows) / compute_units);
}

// Why a kernel by Triton, which assumes more of its tensors, cannot run it.
std::string triton_refusal(const Variant& v, const KernelRequirements& d) {
  if (v.head_dim != d.head_dim || !d.one_head_dim)
    return cat("by Triton: head_dim and head_dim_v must be ", v.head_dim);
  if (d.sink) return "by Triton: it has no sink";
  if (d.bias_gradient) return "by Triton: it has no gradient of a bias";
  if (d.alignment < v.triton.alignment)
    return cat("by Triton: tensors and rows must be aligned to ", v.triton.alignment, " bytes, the problem's are to ",
               d.alignment);
  if (!d.softcap_fits) return cat("by Triton: the backward pass takes a softcap of at most ", kMostSoftcap);
  if (!d.strides_fit) return cat("by Triton: rows must be less than ", v.triton.row_stride_below, " elements apart");
  return "";
}

// Whether the kernel of backward_dq that the row of backward_fused names can run the problem.
bool can_leave(std::span<const Variant> variants, const TuningRow& row, const KernelRequirements& fused) {
  KernelRequirements needed = fused;
  needed.stage = Stage::backward_dq;
  const auto dq = std::ranges::find(variants, row.leaves_to(), &Variant::name);
  return dq != variants.end() && refusal(*dq, needed).empty();
}

bool computes_gradients(Stage stage) { return stage == Stage::backward_dq || stage == Stage::backward_dkv; }

// Only of stages that have kernels by Triton, or may leave the pass to them: other plans do not depend on it.
void read_layout(const Problem& problem, KernelRequirements& r) {
  r.one_head_dim = problem.head_dim == problem.head_dim_v;
  r.sink = problem.has_sink;
  r.softcap_fits = r.stage == Stage::forward || problem.softcap <= kMostSoftcap;
  r.alignment = problem.alignment;
  const int64_t rows = std::max(problem.heads_q * r.head_dim, problem.row_stride);
  r.strides_fit = rows < archive::kTritonRowStride;
}

// Of a stage whose one kernel reads numbers in float32 only.
KernelRequirements of_float32(Stage stage) {
  KernelRequirements r;
  r.stage = stage;
  r.dtype = DType::fp32;
  r.head_dim = 1;
  return r;
}

}  // namespace

float scale_log2(const Problem& problem) {
  return static_cast<float>(problem.scale_or_default() * std::numbers::log2e);
}

size_t KernelRequirementsHash::operator()(const KernelRequirements& d) const {
  uint64_t h = static_cast<uint64_t>(d.dtype) | static_cast<uint64_t>(d.mask) << 8 | uint64_t{d.general} << 16 |
               static_cast<uint64_t>(d.stage) << 24 | uint64_t{d.cache} << 32 | uint64_t{d.one_head_dim} << 33 |
               uint64_t{d.sink} << 34 | uint64_t{d.strides_fit} << 35 | static_cast<uint64_t>(d.alignment) << 36 |
               static_cast<uint64_t>(d.sums) << 41 | uint64_t{d.only_scores} << 43 | uint64_t{d.bias_gradient} << 44 |
               uint64_t{d.softcap_fits} << 45;
  for (const int64_t part : {d.head_dim, d.batch, d.heads, d.rows, d.columns, d.seqlen_k, d.query_rows})
    h = (h ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

KernelRequirements requirements_of(const Problem& problem, Stage stage) {
  KernelRequirements r;
  r.stage = stage;
  r.dtype = problem.dtype;
  r.mask = problem.window_left >= 0 ? MaskKind::window : problem.right_side() >= 0 ? MaskKind::causal : MaskKind::none;
  // In float32, as the kernel computes: a tiny scale may become 0, and 0 times a masked logit's -Inf is NaN.
  const bool any_scale = problem.softmax_scale && scale_log2(problem) < FLT_MIN;
  const KernelSupport support = support_for(problem);
  r.general = any_scale || support != KernelSupport::every;
  r.head_dim = std::max(problem.head_dim, problem.head_dim_v);
  r.batch = problem.batch;
  r.seqlen_k = problem.seqlen_k;
  r.query_rows = problem.batch * problem.heads_q * problem.seqlen_q;
  if (stage == Stage::forward || stage == Stage::backward_fused || computes_gradients(stage)) {
    read_layout(problem, r);
    r.only_scores = !any_scale && support == KernelSupport::scores;
    r.bias_gradient = stage != Stage::forward && (problem.gradients & gradient::bias);
  }
  switch (stage) {
    case Stage::forward:
    case Stage::backward_dq:
      r.heads = problem.heads_q;
      r.rows = problem.seqlen_q;
      break;
    case Stage::split:
      r.heads = problem.heads_k;
      r.rows = problem.seqlen_q * problem.group();
      r.cache = problem.has_cache;
      break;
    case Stage::split_combine:
      r = of_float32(r.stage);
      r.batch = problem.batch;
      r.heads = problem.heads_q;
      r.rows = problem.seqlen_q;
      break;
    case Stage::backward_dq_round:
      r.heads = problem.heads_q;
      r.rows = problem.seqlen_q;
      r.general = false;
      r.head_dim = problem.head_dim;
      break;
    case Stage::backward_dkv:
    case Stage::backward_fused:
      r.heads = problem.heads_k;
      r.rows = problem.seqlen_k;
      break;
    case Stage::backward_dbias: {
      const int32_t shape = problem.bias_shape.value_or(0);
      r.batch = shape & RAPT_PER_BATCH ? problem.batch : 1;
      r.heads = shape & RAPT_PER_HEAD ? problem.heads_q : 1;
      r.rows = shape & RAPT_PER_QUERY ? problem.seqlen_q : 1;
      r.columns = problem.seqlen_k;
      break;
    }
    case Stage::backward_dsink:
      r = of_float32(r.stage);
      r.batch = 1;
      r.heads = problem.heads_q;
      r.rows = 1;
      break;
  }
  return r;
}

Sums sums_of(const Variant& v) {
  if (!computes(v, Stage::backward_dq) && !computes(v, Stage::backward_dkv)) return Sums::any;
  if (v.by_triton()) return Sums::triton;
  return v.operation.ends_with("_wide") ? Sums::in_slices : Sums::whole;
}

KernelRequirements requirements_of(const Problem& problem, Stage stage, Sums of_gradients) {
  KernelRequirements r = requirements_of(problem, stage);
  if (computes_gradients(stage)) r.sums = of_gradients;
  return r;
}

int64_t tiles(const Variant& v, const KernelRequirements& d) { return (d.rows + v.block_q - 1) / v.block_q; }

double workgroups(const Variant& v, const KernelRequirements& d) {
  const int64_t across = d.columns == 0 ? 1 : (d.columns + v.block_k - 1) / v.block_k;
  return static_cast<double>(tiles(v, d)) * static_cast<double>(across) * static_cast<double>(d.heads) *
         static_cast<double>(d.batch);
}

bool wants_fused(const Problem& problem) {
  return !problem.deterministic && (problem.gradients & gradient::q) &&
         (problem.gradients & (gradient::k | gradient::v));
}

Stages::Stages(ForwardKernels kernels) {
  if (kernels == ForwardKernels::forward) {
    add(Stage::forward);
    return;
  }
  add(Stage::split);
  add(Stage::split_combine);
}

Stages::Stages(const Problem& problem, BackwardKernels kernels) {
  add(Stage::backward_dq);  // also for the statistics that the others read
  if (kernels == BackwardKernels::fused) {
    add(Stage::backward_fused);
    add(Stage::backward_dq_round);
  } else if (problem.gradients & (gradient::k | gradient::v)) {
    add(Stage::backward_dkv);
  }
  if (problem.gradients & gradient::bias) add(Stage::backward_dbias);
  if (problem.gradients & gradient::sink) add(Stage::backward_dsink);
}

std::string unsupported(const Problem& p) {
  if (p.dtype == DType::fp64) return "fp64 requires backend \"math\"";
  if (p.page % 16 != 0) return cat("page is ", p.page, ", GPU kernels take multiples of 16");
  if (p.softcap != 0 && !(p.softcap >= FLT_MIN && p.softcap <= FLT_MAX))
    return cat("softcap is ", p.softcap, ", GPU kernels take values that are normal in float32");
  const bool packed = p.device_lengths || !p.varlen.empty();
  if (p.seqlen_new > 0 && (packed ? p.total_q : p.seqlen_q) == 0)
    return "there are no queries, and GPU kernels append new keys only where a query attends";
  for (const auto& [name, rows] :
       {std::pair{"seqlen_q", p.seqlen_q}, std::pair{"seqlen_k", p.seqlen_k}, std::pair{"total_q", p.total_q},
        std::pair{"total_k", p.total_k}, std::pair{"batch", p.batch}, std::pair{"heads_q", p.heads_q}})
    if (rows > kMost) return cat(name, " is ", rows, ", GPU kernels take up to ", kMost);
  if (!std::isfinite(scale_log2(p)))
    return cat("softmax_scale is ", p.scale_or_default(), ", GPU kernels take values that are finite in float32");
  return "";
}

bool computes(const Variant& v, Stage stage) {
  const Operation* const operation = find_operation(v.operation);
  return operation && operation->stage == stage;
}

const char* stage_of(const Variant& v) {
  const Operation* const operation = find_operation(v.operation);
  return operation ? stage_name(operation->stage).data() : "";
}

std::string of_another_version(const Variant& v) {
  const Operation* const operation = find_operation(v.operation);
  if (operation == nullptr) return cat("it computes ", v.operation, ", which this library does not know");
  const int32_t own = v.argument_size - (v.by_triton() ? archive::kTritonArguments : 0);
  if (own == static_cast<int32_t>(operation->argument_size)) return "";
  return cat("it takes ", v.argument_size, " bytes of arguments, this library passes ",
             uint64_t{operation->argument_size}, ": they are of different versions");
}

std::string refusal(const Variant& v, const KernelRequirements& d) {
  if (std::string why = of_another_version(v); !why.empty()) return why;
  if (!computes(v, d.stage)) return cat("it computes ", v.operation);
  if (v.dtype != d.dtype) return cat("it is for ", dtype_name(v.dtype));
  if (v.head_dim < d.head_dim)
    return cat("its tile holds head dims up to ", v.head_dim, ", the problem's is ", d.head_dim);
  if (v.by_triton())
    if (std::string why = triton_refusal(v, d); !why.empty()) return why;
  if (d.sums != Sums::any && d.sums != sums_of(v))
    return "backward_dq and backward_dkv of a pass add up dP in the same order, and this kernel has another";
  if (d.general && v.features == "plain") return cat("plain kernels lack ", lacking(KernelSupport::every));
  if (d.general && v.features == "scores" && !d.only_scores)
    return cat("kernels with features scores lack ", lacking(KernelSupport::scores));
  const double threads = workgroups(v, d) * v.threads;
  if (threads >= 0x1p32)
    return cat("it needs ", workgroups(v, d), " workgroups of ", v.threads, " threads, a launch has less than 2^32");
  return "";
}

std::optional<Selected> select(std::span<const Variant> variants, const Tuning& tuning,
                               const KernelRequirements& needed, int32_t compute_units) {
  compute_units = std::max(compute_units, 1);
  std::vector<size_t> able;
  for (size_t i = 0; i < variants.size(); ++i)
    if (refusal(variants[i], needed).empty()) able.push_back(i);
  if (able.empty()) return std::nullopt;
  for (const TuningRow& row : tuning.rows) {
    if (!row.stale.empty() || !conditions_hold(row, needed, compute_units)) continue;
    if (row.leaves()) {
      if (!needed.cache && (row.leaves_to().empty() || can_leave(variants, row, needed)))
        return Selected{&row, std::nullopt};
      continue;
    }
    const auto index = named(variants, able, row.use.name, needed.sums == Sums::triton);
    if (index && row.groups.holds(workgroups(variants[*index], needed) / compute_units)) return Selected{&row, index};
  }
  return std::nullopt;  // not reached: the last row always matches
}

std::string passed_over(const Tuning& tuning, const TuningRow& fired, const KernelRequirements& needed,
                        int32_t compute_units) {
  constexpr int32_t kNamed = 8;
  std::string text;
  int32_t count = 0;
  for (const TuningRow& row : tuning.rows) {
    if (&row == &fired) break;
    if (row.stale.empty() || !conditions_hold(row, needed, std::max(compute_units, 1))) continue;
    if (++count <= kNamed) text += cat(text.empty() ? "" : "; ", row.where, " was passed over: ", row.stale);
  }
  return count <= kNamed ? text : cat(text, "; and ", count - kNamed, " more were");
}

}  // namespace rapt::gpu
