#include "sim/loader/metadata.hpp"

#include "sim/loader/bytes.hpp"
#include "sim/loader/msgpack.hpp"

#include <algorithm>
#include <limits>

namespace rapt::sim {

namespace {

using nlohmann::json;

constexpr std::uint32_t note_metadata = 32;

struct KindName {
  std::string_view name;
  ArgumentKind kind;
};

// Images, samplers, pipes and queues are pointers that the caller passes.
constexpr KindName kind_names[] = {
    {"by_value", ArgumentKind::by_value},
    {"global_buffer", ArgumentKind::global_buffer},
    {"dynamic_shared_pointer", ArgumentKind::dynamic_shared_pointer},
    {"sampler", ArgumentKind::by_value},
    {"image", ArgumentKind::by_value},
    {"pipe", ArgumentKind::by_value},
    {"queue", ArgumentKind::by_value},
    {"hidden_block_count_x", ArgumentKind::hidden_block_count_x},
    {"hidden_block_count_y", ArgumentKind::hidden_block_count_y},
    {"hidden_block_count_z", ArgumentKind::hidden_block_count_z},
    {"hidden_group_size_x", ArgumentKind::hidden_group_size_x},
    {"hidden_group_size_y", ArgumentKind::hidden_group_size_y},
    {"hidden_group_size_z", ArgumentKind::hidden_group_size_z},
    {"hidden_remainder_x", ArgumentKind::hidden_remainder_x},
    {"hidden_remainder_y", ArgumentKind::hidden_remainder_y},
    {"hidden_remainder_z", ArgumentKind::hidden_remainder_z},
    {"hidden_global_offset_x", ArgumentKind::hidden_global_offset_x},
    {"hidden_global_offset_y", ArgumentKind::hidden_global_offset_y},
    {"hidden_global_offset_z", ArgumentKind::hidden_global_offset_z},
    {"hidden_grid_dims", ArgumentKind::hidden_grid_dims},
    {"hidden_printf_buffer", ArgumentKind::hidden_printf_buffer},
    {"hidden_hostcall_buffer", ArgumentKind::hidden_hostcall_buffer},
    {"hidden_multigrid_sync_arg", ArgumentKind::hidden_multigrid_sync_arg},
    {"hidden_heap_v1", ArgumentKind::hidden_heap_v1},
    {"hidden_default_queue", ArgumentKind::hidden_default_queue},
    {"hidden_completion_action", ArgumentKind::hidden_completion_action},
    {"hidden_private_base", ArgumentKind::hidden_private_base},
    {"hidden_shared_base", ArgumentKind::hidden_shared_base},
    {"hidden_queue_ptr", ArgumentKind::hidden_queue_ptr},
    {"hidden_dynamic_lds_size", ArgumentKind::hidden_dynamic_lds_size},
    {"hidden_none", ArgumentKind::hidden_none},
};

ArgumentKind parse_kind(const std::string& name) {
  const auto* found = std::find_if(std::begin(kind_names), std::end(kind_names),
                                   [&](const KindName& entry) { return entry.name == name; });
  if (found == std::end(kind_names)) broken("metadata: argument of unknown kind " + name);
  return found->kind;
}

// The value of a map's key, or null.
const json* find(const json& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &*found;
}

// The same; LoadError if there is none, or if it is of another kind.
const json& need(const json& map, const char* key, bool (json::*is_kind)() const noexcept, const char* kind) {
  const json* value = find(map, key);
  if (!value) broken("metadata: " + std::string(key) + " is missing");
  if (!(value->*is_kind)()) broken("metadata: " + std::string(key) + " is not " + kind);
  return *value;
}

const json& list(const json& map, const char* key) { return need(map, key, &json::is_array, "a list"); }
std::string text(const json& map, const char* key) {
  return need(map, key, &json::is_string, "text").get<std::string>();
}

std::uint32_t number(const json& map, const char* key) {
  const auto value = need(map, key, &json::is_number_unsigned, "a number of 0 or more").get<std::uint64_t>();
  if (value > std::numeric_limits<std::uint32_t>::max()) broken("metadata: " + std::string(key) + " is too large");
  return static_cast<std::uint32_t>(value);
}

std::uint32_t number(const json& map, const char* key, std::uint32_t otherwise) {
  return find(map, key) ? number(map, key) : otherwise;
}

// Older compilers write flags as numbers.
bool flag(const json& map, const char* key, bool otherwise) {
  const json* value = find(map, key);
  if (!value) return otherwise;
  return value->is_boolean() ? value->get<bool>() : number(map, key) != 0;
}

const json& as_map(const json& value, const char* what) {
  if (!value.is_object()) broken("metadata: " + std::string(what) + " is not a map");
  return value;
}

void read_arguments(const json& map, KernelMetadata& kernel) {
  if (!find(map, ".args")) return;
  for (const json& value : list(map, ".args")) {
    const json& argument = as_map(value, "argument");
    const Argument read{parse_kind(text(argument, ".value_kind")), number(argument, ".offset"),
                        number(argument, ".size")};
    const auto end = std::uint64_t{read.offset} + read.size;
    // A kernel that AMD ships (aiter's fmoe_bf16_blockscaleBf16_g1u1_vs_ps_silu_32x256) lists padding behind its
    // segment.
    if (read.offset >= kernel.kernarg_size && read.kind == ArgumentKind::by_value) continue;
    if (end > kernel.kernarg_size)
      broken("kernel " + kernel.kernel.name + ": argument at " + hex(read.offset) + " is past the end of " +
             std::to_string(kernel.kernarg_size) + " bytes of arguments");
    for (const Argument& other : kernel.kernel.arguments)
      if (read.offset < other.offset + other.size && other.offset < end)
        broken("kernel " + kernel.kernel.name + ": arguments at " + hex(other.offset) + " and " + hex(read.offset) +
               " overlap");
    kernel.kernel.arguments.push_back(read);
  }
}

KernelMetadata read_kernel(const json& map) {
  KernelMetadata read;
  Kernel& kernel = read.kernel;
  kernel.name = text(map, ".name");
  read.descriptor_name = text(map, ".symbol");
  read.kernarg_size = number(map, ".kernarg_segment_size");
  read.group_segment_size = number(map, ".group_segment_fixed_size", 0);
  read.private_segment_size = number(map, ".private_segment_fixed_size", 0);
  kernel.lanes = number(map, ".wavefront_size", 64);
  if (kernel.lanes != 32 && kernel.lanes != 64)
    broken("kernel " + kernel.name + ": waves of " + std::to_string(kernel.lanes) + " lanes");
  kernel.vgpr_count = number(map, ".vgpr_count", 0);
  kernel.agpr_count = number(map, ".agpr_count", 0);
  kernel.sgpr_count = number(map, ".sgpr_count", 0);
  kernel.max_flat_workgroup_size = number(map, ".max_flat_workgroup_size", 1024);
  kernel.spilled_sgprs = number(map, ".sgpr_spill_count", 0);
  kernel.spilled_vgprs = number(map, ".vgpr_spill_count", 0);
  kernel.uses_dynamic_stack = flag(map, ".uses_dynamic_stack", kernel.uses_dynamic_stack);
  kernel.uniform_workgroups = flag(map, ".uniform_work_group_size", kernel.uniform_workgroups);
  if (find(map, ".reqd_workgroup_size")) {
    const json& sizes = list(map, ".reqd_workgroup_size");
    if (sizes.size() != 3 ||
        !std::all_of(sizes.begin(), sizes.end(), [](const json& n) { return n.is_number_unsigned(); }))
      broken("kernel " + kernel.name + ": .reqd_workgroup_size is not 3 numbers");
    for (std::size_t i = 0; i < 3; i++)
      kernel.required_workgroup_size[i] = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(sizes[i].get<std::uint64_t>(), std::numeric_limits<std::uint32_t>::max()));
  }
  read_arguments(map, read);
  return read;
}

std::vector<KernelMetadata> read_document(std::span<const std::byte> bytes) {
  const json document = parse_msgpack(bytes);
  const json& root = as_map(document, "metadata");
  const json& version = list(root, "amdhsa.version");
  if (version.size() != 2 || version[0] != 1) broken("metadata of an unknown version");
  std::vector<KernelMetadata> kernels;
  if (find(root, "amdhsa.kernels"))
    for (const json& kernel : list(root, "amdhsa.kernels")) kernels.push_back(read_kernel(as_map(kernel, "kernel")));
  return kernels;
}

}  // namespace

std::vector<KernelMetadata> read_metadata(std::span<const std::byte> notes) {
  const Bytes bytes(notes, "notes");
  const auto aligned = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  std::uint64_t at = 0;
  while (at + 12 <= notes.size()) {
    const auto name_size = bytes.at<std::uint32_t>(at), size = bytes.at<std::uint32_t>(at + 4);
    const auto type = bytes.at<std::uint32_t>(at + 8);
    const auto name = bytes.part(at + 12, name_size);
    const std::uint64_t begin = at + 12 + aligned(name_size);
    const auto content = bytes.part(begin, size);
    if (type == note_metadata && name_size == 7 && std::memcmp(name.data(), "AMDGPU", 7) == 0)
      return read_document(content);
    at = begin + aligned(size);
  }
  return {};
}

}  // namespace rapt::sim
