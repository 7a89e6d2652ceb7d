// Calls a libaotriton_v2 as a PyTorch with AOTriton 0.12 does: attn_fwd and attn_bwd of its v3 interface, on the null
// stream of HIP's current device, which is hip:0 in a command.
#pragma once

#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

class DropIn {
 public:
  explicit DropIn(std::string library);  // throws InputError if it does not load, or lacks a function
  const std::string& library() const { return library_; }

  // For attention in device memory without options but causality and scale. Throw Error.
  void forward(const rapt::Attention& a, const Tensor& out, const Tensor& lse) const;
  void backward(const rapt::Attention& a, const Tensor& out, const Tensor& lse, const Tensor& dout,
                const rapt::Gradients& gradients) const;

 private:
  std::string library_;
  void *forward_, *backward_;  // functions of the library, which stays loaded
};

// The library of a DropIn: Rapt's in the torch that python3 imports, or else the one beside the command's library.
// Throws InputError if there is none.
std::string drop_in_library();

}  // namespace rapt::cli
