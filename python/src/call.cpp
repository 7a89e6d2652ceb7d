#include "call.hpp"

#include <string_view>
#include <unordered_map>

#include "scalars.hpp"

namespace rapt::python {

namespace {

template <class Part>
Part& made(std::optional<Part>& part) {
  return part ? *part : part.emplace();
}

using ExecutionOption = void (*)(Execution&, nb::handle value, const char* name);
using AttentionOption = void (*)(Call&, nb::handle value, const char* name);

template <auto Member>
void set_tensor(Call& call, nb::handle value, const char* name) {
  call.attention.*Member = call.tensors.take(value, name, Access::read);
}
template <auto Member>
void set_varlen(Call& call, nb::handle value, const char* name) {
  made(call.attention.varlen).*Member = call.tensors.take(value, name, Access::read);
}
template <auto Member>
void set_cache(Call& call, nb::handle value, const char* name) {
  made(call.attention.kv_cache).*Member = call.tensors.take(value, name, Access::read);
}

// A number, or a tensor of one, which kernels read when they run.
template <auto Number, auto InMemory>
void set_dropout(Call& call, nb::handle value, const char* name) {
  Dropout& dropout = made(call.attention.dropout);
  if (nb::hasattr(value, "__dlpack__")) dropout.*InMemory = call.tensors.take(value, name, Access::read);
  else dropout.*Number = number<uint64_t>(value, name);
}

const std::unordered_map<std::string_view, ExecutionOption>& execution_options() {
  static const auto* options = new std::unordered_map<std::string_view, ExecutionOption>{
      {"backend", [](auto& e, auto value, auto name) { e.backend = text(value, name); }},
      {"deterministic", [](auto& e, auto value, auto name) { e.deterministic = truth(value, name); }},
      {"allow_math", [](auto& e, auto value, auto name) { e.allow_math = truth(value, name); }},
      {"num_threads", [](auto& e, auto value, auto name) { e.executor = executor(value, name, Threads::own); }},
      {"_openmp_threads", [](auto& e, auto value, auto name) { e.executor = executor(value, name, Threads::openmp); }},
  };
  return *options;
}

const std::unordered_map<std::string_view, AttentionOption>& attention_options() {
  static const auto* options = new std::unordered_map<std::string_view, AttentionOption>{
      {"softmax_scale",
       [](auto& c, auto value, auto name) { c.attention.softmax_scale = number<double>(value, name); }},
      {"causal", [](auto& c, auto value, auto name) { c.attention.causal = causal(value, name); }},
      {"softcap", [](auto& c, auto value, auto name) { c.attention.softcap = number<double>(value, name); }},
      {"window", [](auto& c, auto value, auto name) { c.attention.window = window(value, name); }},
      {"bias", set_tensor<&Attention::bias>},
      {"mask", set_tensor<&Attention::mask>},
      {"alibi_slopes", set_tensor<&Attention::alibi_slopes>},
      {"sink", set_tensor<&Attention::sink>},
      {"dropout",
       [](auto& c, auto value, auto name) { made(c.attention.dropout).probability = number<double>(value, name); }},
      {"dropout_seed", set_dropout<&Dropout::seed, &Dropout::seed_tensor>},
      {"dropout_offset", set_dropout<&Dropout::offset, &Dropout::offset_tensor>},
      {"cu_seqlens_q", set_varlen<&Varlen::cu_seqlens_q>},
      {"cu_seqlens_k", set_varlen<&Varlen::cu_seqlens_k>},
      {"max_seqlen_q",
       [](auto& c, auto value, auto name) { made(c.attention.varlen).max_seqlen_q = number<int64_t>(value, name); }},
      {"max_seqlen_k",
       [](auto& c, auto value, auto name) { made(c.attention.varlen).max_seqlen_k = number<int64_t>(value, name); }},
      {"check_device_seqlens",
       [](auto& c, auto value, auto name) { made(c.attention.varlen).check_device_seqlens = truth(value, name); }},
      {"seqused_k", set_cache<&KvCache::seqused_k>},
      {"cache_batch_idx", set_cache<&KvCache::cache_batch_idx>},
      {"leftpad_k", set_cache<&KvCache::leftpad_k>},
      {"block_table", set_cache<&KvCache::block_table>},
      {"new_k", set_cache<&KvCache::new_k>},
      {"new_v", set_cache<&KvCache::new_v>},
      {"rotary_cos", set_cache<&KvCache::rotary_cos>},
      {"rotary_sin", set_cache<&KvCache::rotary_sin>},
      {"rotary_interleaved",
       [](auto& c, auto value, auto name) { made(c.attention.kv_cache).rotary_interleaved = truth(value, name); }},
      {"workspace",
       [](auto& c, auto value, auto name) {
         const Tensor tensor = c.tensors.take(value, name, Access::write);
         const rapt_tensor w = tensor.c();
         if (w.ndim != 1 || w.dtype.bits != 8 || (w.strides && w.strides[0] != 1))
           invalid(name, " must be one compact dimension of bytes (uint8)");
         c.execution.workspace = w.data;
         c.execution.workspace_size = static_cast<size_t>(w.shape[0]);
       }},
      {"stream", [](auto&, auto, auto) {}},  // these were set before any tensor was taken
      {"_heads_first", [](auto&, auto, auto) {}},
  };
  return *options;
}

const char* name_of(nb::handle key) {
  const char* name = PyUnicode_AsUTF8AndSize(key.ptr(), nullptr);
  if (name == nullptr) throw nb::python_error();
  return name;
}

bool set(Execution& execution, nb::handle value, const char* name) {
  const auto found = execution_options().find(name);
  if (found == execution_options().end()) return false;
  found->second(execution, value, name);
  return true;
}

bool set(Call& call, nb::handle value, const char* name) {
  const auto found = attention_options().find(name);
  if (found == attention_options().end()) return false;
  found->second(call, value, name);
  return true;
}

[[noreturn]] void unknown(const char* name) {
  throw nb::type_error((std::string("there is no option '") + name + "'").c_str());
}

}  // namespace

Call::Call(nb::handle q, nb::handle k, nb::handle v, const nb::kwargs& options) {
  if (PyObject* stream = PyDict_GetItemString(options.ptr(), "stream"); stream != nullptr && stream != Py_None) {
    const auto handle = number<uintptr_t>(stream, "stream");
    tensors.set_stream(reinterpret_cast<void*>(handle));  // NOLINT(performance-no-int-to-ptr)
  }
  if (PyDict_GetItemString(options.ptr(), "_heads_first") == Py_True) tensors.set_heads_first();
  attention.q = tensors.take_sequences(q, "q", Access::read);
  for (const auto [key, value] : options) {
    const char* name = name_of(key);
    const bool known = value.is_none() ? attention_options().contains(name) || execution_options().contains(name)
                                       : set(*this, value, name) || set(execution, value, name);
    if (!known) unknown(name);
  }
  if (attention.dropout && attention.dropout->probability == 0) attention.dropout.reset();
  if (attention.dropout && !PyDict_GetItemString(options.ptr(), "dropout_seed"))
    invalid("dropout_seed must be given with dropout: the backward needs the same mask");
  const bool appends = attention.kv_cache && attention.kv_cache->new_k;
  attention.k = tensors.take_sequences(k, "k", appends ? Access::write : Access::read);
  attention.v = tensors.take_sequences(v, "v", appends ? Access::write : Access::read);
}

Execution parse_execution(const nb::kwargs& options) {
  Execution execution;
  for (const auto [key, value] : options)
    if (const char* name = name_of(key); !value.is_none() && !set(execution, value, name)) unknown(name);
  return execution;
}

}  // namespace rapt::python
