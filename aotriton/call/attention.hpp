// A call of AOTriton as Rapt's structs.
#pragma once

#include "aotriton/call/mask.hpp"
#include "aotriton/call/tensors.hpp"
#include "aotriton/hip/devices.hpp"

namespace rapt::aot {

class Attention {
 public:
  Attention(const Call& call, const Device& device) : call_(call), device_(device) {}
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;

  Error prepare(bool deterministic);

  bool packed() const { return packed_; }
  int64_t batch() const { return batch_; }
  int64_t heads_q() const { return static_cast<int64_t>(call_.q.size(1)); }
  int64_t total_q() const { return static_cast<int64_t>(call_.q.size(2)); }  // rows of q in memory
  int64_t seqlen_q() const { return seqlen_q_; }                             // of the longest sequence
  bool rows_without_keys() const { return mask_.rows_without_keys || bias_.c() != nullptr; }
  rapt_device place() const { return {RAPT_ROCM, device_.id}; }
  const Device& device() const { return device_; }

  const rapt_attention* attention() const { return &c_; }
  const rapt_execution* execution() const { return &execution_; }

 private:
  Error set_lengths();
  Error set_dropout();

  const Call& call_;
  const Device& device_;
  bool packed_ = false;
  int64_t batch_ = 0, seqlen_q_ = 0, seqlen_k_ = 0;
  double scale_ = 1;
  Mask mask_;
  Tensor q_, k_, v_, bias_, cu_seqlens_q_, cu_seqlens_k_, seed_, offset_;
  rapt_window window_ = RAPT_INIT(rapt_window);
  rapt_dropout dropout_ = RAPT_INIT(rapt_dropout);
  rapt_varlen varlen_ = RAPT_INIT(rapt_varlen);
  rapt_attention c_ = RAPT_INIT(rapt_attention);
  rapt_execution execution_ = RAPT_INIT(rapt_execution);
};

}  // namespace rapt::aot
