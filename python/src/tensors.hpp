// Tensors of Python libraries as rapt::Tensor, without copies.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <optional>
#include <vector>

#include "dlpack.hpp"
#include "rapt/rapt.hpp"

namespace rapt::python {

namespace nb = nanobind;

enum class Access { read, write };

// The tensors of one call. Keeps what it borrows until it is destroyed, which needs the GIL.
class Tensors {
 public:
  Tensors() = default;
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors();

  // The stream to run on, set before any tensor is taken. The default is the current one of the first GPU tensor's
  // library.
  void set_stream(void* stream) { stream_ = stream; }

  // Set before any tensor is taken: sequences have PyTorch's order, [batch, heads, seqlen, head_dim].
  void set_heads_first() { heads_first_ = true; }

  // A buffer (NumPy), a tensor with DLPack's C functions (PyTorch), or an object with __dlpack__ (JAX, CuPy). `name` is
  // the argument's, for errors.
  Tensor take(nb::handle object, const char* name, Access access);
  std::optional<Tensor> take_optional(nb::handle object, const char* name, Access access);

  // The same for q and tensors with its dimensions, as [batch, seqlen, heads, head_dim].
  Tensor take_sequences(nb::handle object, const char* name, Access access);
  std::optional<Tensor> take_optional_sequences(nb::handle object, const char* name, Access access);

  rapt_device device() const { return device_; }  // the first GPU tensor's, else the host
  void* stream() const { return stream_.value_or(nullptr); }
  // The stream of the tensors' library is unknown: the call uses the default stream, and must be waited for.
  bool must_synchronize() const { return must_synchronize_; }

 private:
  std::optional<Tensor> take_buffer(nb::handle object, const char* name, Access access);
  Tensor take_capsule(nb::handle object, const char* name, Access access);
  static Tensor checked(rapt_tensor tensor, const char* name);
  void meet(rapt_device device, nb::handle object, const dlpack::ExchangeApi* api);

  std::array<Py_buffer, 32> buffers_;
  size_t buffer_count_ = 0;
  std::vector<nb::object> objects_;
  rapt_device device_ = kHost;
  std::optional<void*> stream_;
  bool must_synchronize_ = false;
  bool heads_first_ = false;
};

}  // namespace rapt::python
