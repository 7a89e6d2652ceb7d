// What kernels compute: the first word of a row of kernels/manifest, with the stage of a pass that it serves and the
// struct that it is passed. The packer and the library read this table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/abi.h"
#include "kernels/hopper/arguments.h"

namespace rapt {

// One step of a pass: each stage is a kernel.
enum class Stage : uint8_t {
  forward,
  split,
  split_combine,
  backward_dq,
  backward_dkv,
  backward_fused,
  backward_dq_round,
  backward_short,
  backward_dbias,
  backward_dsink
};

// In which order kernels of the backward pass add up dP and delta: over the whole head dimension or, where waves share
// it, slice by slice. Kernels of a pass are of one family: with two orders, a row with one key would have a gradient
// other than 0. `any`: it adds up neither. `hopper`: by wgmma, and with sums of dq that only its own kernels read.
// `hopper_apart`: by wgmma, without such sums.
enum class Family : uint8_t { any, whole, slices, triton, hopper, hopper_apart };

struct Operation {
  std::string_view name;
  Stage stage;
  size_t argument_size;         // bytes
  int block_q = 0;              // rows of a workgroup; 0: the rows of its waves
  Family family = Family::any;  // of its C++ kernels
  bool hopper = false;          // by tensor maps, with one workgroup for each multiprocessor
  bool alternates = false;      // Hopper: exponentials run beside products of another group, not of their own
  std::string_view drops = "";  // features of the C++ kernels that take dropout, beside general ones
  bool waits = false;           // sm_90: waits itself for the stream's last kernel, so it may start before that ends
};

namespace operations {

struct StageName {
  Stage stage;
  std::string_view name;
};

inline constexpr StageName kStages[] = {{Stage::forward, "forward"},
                                        {Stage::split, "split"},
                                        {Stage::split_combine, "split_combine"},
                                        {Stage::backward_dq, "backward_dq"},
                                        {Stage::backward_dkv, "backward_dkv"},
                                        {Stage::backward_fused, "backward_fused"},
                                        {Stage::backward_dq_round, "backward_dq_round"},
                                        {Stage::backward_short, "backward_short"},
                                        {Stage::backward_dbias, "backward_dbias"},
                                        {Stage::backward_dsink, "backward_dsink"}};

inline constexpr Operation kTable[] = {
    {"forward", Stage::forward, sizeof(rapt_forward_args)},
    {"forward_pipelined", Stage::forward, sizeof(rapt_forward_args)},  // products and softmax interleaved
    {"forward_wide", Stage::forward, sizeof(rapt_forward_args)},       // the head dimension is split among waves
    {"forward_hopper", Stage::forward, sizeof(rapt_hopper_forward_scores_args), 0, Family::any, true, false, "scores",
     true},
    {"split", Stage::split, sizeof(rapt_split_args), 16, Family::any, false, false, "", true},
    {"split_wide", Stage::split, sizeof(rapt_split_args), 16},  // as forward_wide
    {"split_combine", Stage::split_combine, sizeof(rapt_split_args), 1, Family::any, false, false, "", true},
    {"backward_dq", Stage::backward_dq, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_dq_pipelined", Stage::backward_dq, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_dkv", Stage::backward_dkv, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_dkv_pipelined", Stage::backward_dkv, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_dq_halves", Stage::backward_dq, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_dkv_halves", Stage::backward_dkv, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_fused", Stage::backward_fused, sizeof(rapt_backward_args), 0, Family::whole},  // dkv, and adds to dq
    {"backward_dq_round", Stage::backward_dq_round, sizeof(rapt_backward_args)},
    {"backward_statistics_hopper", Stage::backward_dq, sizeof(rapt_hopper_backward_args), 0, Family::hopper, true},
    {"backward_hopper", Stage::backward_fused, sizeof(rapt_hopper_backward_scores_args), 128, Family::hopper, true,
     false, "scores"},
    {"backward_dq_round_hopper", Stage::backward_dq_round, sizeof(rapt_hopper_backward_args), 0, Family::hopper},
    {"backward_dq_hopper", Stage::backward_dq, sizeof(rapt_hopper_backward_args), 128, Family::hopper_apart, true},
    {"backward_dkv_hopper", Stage::backward_dkv, sizeof(rapt_hopper_backward_args), 64, Family::hopper_apart, true,
     true},
    {"backward_short", Stage::backward_short, sizeof(rapt_backward_args), 0, Family::whole},
    {"backward_dbias", Stage::backward_dbias, sizeof(rapt_backward_args)},
    {"backward_dsink", Stage::backward_dsink, sizeof(rapt_backward_args)},
    {"backward_dq_wide", Stage::backward_dq, sizeof(rapt_backward_args), 0, Family::slices},  // as forward_wide
    {"backward_dkv_wide", Stage::backward_dkv, sizeof(rapt_backward_args), 0, Family::slices},
    {"backward_dbias_wide", Stage::backward_dbias, sizeof(rapt_backward_args)},
};

}  // namespace operations

constexpr std::string_view stage_name(Stage stage) { return operations::kStages[static_cast<size_t>(stage)].name; }

// Null if it is not in the table.
constexpr const Operation* find_operation(std::string_view name) {
  for (const Operation& operation : operations::kTable)
    if (operation.name == name) return &operation;
  return nullptr;
}

}  // namespace rapt
