#include "tensors.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "errors.hpp"

namespace rapt::python {

namespace {

constexpr int kMostDims = 4;

// Null if the type has no table of a version that this file knows. Few types have one; they are cached.
const dlpack::ExchangeApi* exchange_api(nb::handle type) {
  static std::unordered_map<PyObject*, const dlpack::ExchangeApi*> known;
  if (const auto found = known.find(type.ptr()); found != known.end()) return found->second;
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (capsule.is_none()) return nullptr;
  auto* api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api == nullptr) throw nb::python_error();
  while (api != nullptr && api->version.major != 1) api = api->previous;
  if (api == nullptr || api->borrow == nullptr) return nullptr;
  type.inc_ref();
  return known[type.ptr()] = api;
}

// The type of a buffer's format: one character of the struct module in native byte order.
std::optional<rapt_dtype> dtype_of(const char* format, Py_ssize_t bytes) {
  std::string_view text = format == nullptr ? "B" : format;
  if (text.starts_with('@') || text.starts_with('=') || text.starts_with('<')) text.remove_prefix(1);
  const auto one_of = [&](std::string_view all) { return text.size() == 1 && all.find(text[0]) != all.npos; };
  const auto dtype = [&](rapt_type_code code) {
    return rapt_dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(8 * bytes), 1};
  };
  if (one_of("efd")) return dtype(RAPT_FLOAT);
  if (one_of("bhilqn")) return dtype(RAPT_INT);
  if (one_of("BHILQN")) return dtype(RAPT_UINT);
  if (one_of("?")) return dtype(RAPT_BOOL);
  return std::nullopt;
}

std::string name_of_type(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }
std::string name_of_module(nb::handle object) { return nb::cast<std::string>(object.type().attr("__module__")); }

bool is_numpy_bfloat16(nb::handle object) {
  return name_of_module(object) == "numpy" && nb::cast<std::string>(object.attr("dtype").attr("name")) == "bfloat16";
}

bool on_host(rapt_device device) {
  return device.type == RAPT_CPU || device.type == dlpack::kCudaHost || device.type == dlpack::kRocmHost;
}

// The argument of __dlpack__(stream=...): for CUDA, 1 is the default stream.
int64_t stream_number(rapt_device device, void* stream) {
  const auto number = static_cast<int64_t>(reinterpret_cast<intptr_t>(stream));
  return device.type == RAPT_CUDA && number == 0 ? 1 : number;
}

nb::object capsule_of(nb::handle object, const nb::dict& options) {
  // PyTorch's __dlpack__ refuses a tensor that requires grad. Its C functions, which older versions lack, take one.
  const bool requires_grad = nb::getattr(object, "requires_grad", nb::none()).is(Py_True);
  const nb::object source = requires_grad ? object.attr("detach")() : nb::borrow<nb::object>(object);
  const nb::object method = source.attr("__dlpack__");
  try {
    nb::dict versioned;
    versioned.update(options);
    versioned["max_version"] = nb::make_tuple(1, 1);
    return method(**versioned);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;  // an object from before DLPack 1.0
  }
  return method(**options);
}

}  // namespace

Tensors::~Tensors() {
  for (size_t i = 0; i < buffer_count_; ++i) PyBuffer_Release(&buffers_[i]);
}

Tensor Tensors::take(nb::handle object, const char* name, Access access) {
  try {
    if (PyObject_CheckBuffer(object.ptr()))
      if (std::optional<Tensor> tensor = take_buffer(object, name, access)) return *tensor;
    if (const dlpack::ExchangeApi* api = exchange_api(object.type())) {
      rapt_tensor borrowed = {};
      if (api->borrow(object.ptr(), &borrowed) != 0) throw nb::python_error();
      meet(borrowed.device, object, api);
      return checked(borrowed, name);
    }
    if (nb::hasattr(object, "__dlpack__")) return take_capsule(object, name, access);
  } catch (nb::python_error& e) {
    const auto message = nb::cast<std::string>(nb::str(e.value()));
    const std::string why = message.substr(0, message.find('\n'));  // PyTorch adds its C++ stack
    nb::raise_from(e, PyExc_ValueError, "%s is a tensor that cannot be taken: %s", name, why.c_str());
  }
  throw nb::type_error(
      (name + (" must be a tensor: a NumPy array, or an object with __dlpack__; it is of type " + name_of_type(object)))
          .c_str());
}

std::optional<Tensor> Tensors::take_optional(nb::handle object, const char* name, Access access) {
  if (object.is_none()) return std::nullopt;
  return take(object, name, access);
}

Tensor Tensors::take_sequences(nb::handle object, const char* name, Access access) {
  const Tensor tensor = take(object, name, access);
  const rapt_tensor c = tensor.c();
  if (!heads_first_ || c.ndim != 4) return tensor;
  const int64_t *n = c.shape, *s = c.strides;
  const Dims shape = {n[0], n[2], n[1], n[3]};
  if (s == nullptr) return Tensor(c.data, c.dtype, shape, {n[1] * n[2] * n[3], n[3], n[2] * n[3], 1}, c.device);
  return Tensor(c.data, c.dtype, shape, {s[0], s[2], s[1], s[3]}, c.device);
}

std::optional<Tensor> Tensors::take_optional_sequences(nb::handle object, const char* name, Access access) {
  if (object.is_none()) return std::nullopt;
  return take_sequences(object, name, access);
}

// Empty if the object only seems to have a buffer: GPU memory, or a type that buffers have no letter for.
std::optional<Tensor> Tensors::take_buffer(nb::handle object, const char* name, Access access) {
  if (buffer_count_ == buffers_.size()) throw std::length_error("more tensors than a call can have");
  Py_buffer& buffer = buffers_[buffer_count_];
  std::optional<rapt_dtype> dtype;
  if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    if (!is_numpy_bfloat16(object)) return std::nullopt;
    const nb::object view = object.attr("view")("uint16");
    if (PyObject_GetBuffer(view.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) throw nb::python_error();
    dtype = kBf16;
  } else {
    dtype = dtype_of(buffer.format, buffer.itemsize);
  }
  ++buffer_count_;
  if (!dtype) invalid(name, " has elements of format '", buffer.format, "', which no argument can have");
  if (access == Access::write && buffer.readonly) invalid(name, " is read-only, and would be written");
  if (buffer.ndim > kMostDims) invalid(name, " has ", buffer.ndim, " dimensions, which is more than ", kMostDims);
  std::array<int64_t, kMostDims> shape = {}, strides = {};
  for (int i = 0; i < buffer.ndim; ++i) {
    if (buffer.strides[i] % buffer.itemsize != 0)
      invalid(name, " has a stride of ", buffer.strides[i], " bytes, no multiple of an element's ", buffer.itemsize);
    shape[i] = buffer.shape[i];
    strides[i] = buffer.strides[i] / buffer.itemsize;
  }
  return checked({buffer.buf, kHost, buffer.ndim, *dtype, shape.data(), strides.data(), 0}, name);
}

Tensor Tensors::take_capsule(nb::handle object, const char* name, Access access) {
  const auto [type, id] = nb::cast<std::pair<int32_t, int32_t>>(object.attr("__dlpack_device__")());
  const rapt_device device = {type, id};
  nb::dict options;
  if (!on_host(device)) {
    meet(device, object, nullptr);
    options["stream"] = stream_number(device, stream());
  }
  const nb::object& capsule = objects_.emplace_back(capsule_of(object, options));
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major != 1)
      invalid(name, " is a DLPack tensor of version ", managed->version.major, ", not 1");
    if (access == Access::write && (managed->flags & dlpack::kReadOnly))
      invalid(name, " is read-only, and would be written");
    return checked(managed->tensor, name);
  }
  void* managed = PyCapsule_GetPointer(capsule.ptr(), "dltensor");
  if (managed == nullptr) throw nb::python_error();
  return checked(static_cast<dlpack::Managed*>(managed)->tensor, name);
}

Tensor Tensors::checked(rapt_tensor tensor, const char* name) {
  if (tensor.ndim > kMostDims) invalid(name, " has ", tensor.ndim, " dimensions, which is more than ", kMostDims);
  if (on_host(tensor.device)) tensor.device = kHost;
  return Tensor(tensor);
}

void Tensors::meet(rapt_device device, nb::handle object, const dlpack::ExchangeApi* api) {
  if (on_host(device) || !on_host(device_)) return;
  device_ = device;
  if (stream_) return;
  void* stream = nullptr;
  if (api != nullptr) {
    if (api->current_stream(device.type, device.id, &stream) != 0) throw nb::python_error();
  } else if (name_of_module(object).starts_with("cupy")) {
    const nb::object current = nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")();
    stream = reinterpret_cast<void*>(nb::cast<uintptr_t>(current.attr("ptr")));  // NOLINT(performance-no-int-to-ptr)
  } else {
    must_synchronize_ = true;
  }
  stream_ = stream;
}

}  // namespace rapt::python
