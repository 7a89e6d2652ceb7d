#include "sim/validate/objects.hpp"

#include "sim/isa/properties.hpp"
#include "sim/validate/input/input_error.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace rapt::sim::validate {
namespace {

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad() || bytes.empty()) throw InputError("cannot read '" + path + "'");
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

void check_workgroup(const Kernel& kernel, const PreparedLaunch& launch, Arch arch) {
  std::uint32_t threads = 1;
  for (unsigned d = 0; d < 3; ++d) {
    threads *= launch.group_size[d];
    const std::uint32_t required = kernel.required_workgroup_size[d];
    if (required != 0 && required != launch.group_size[d])
      throw InputError(kernel.name + " must have workgroups of " + std::to_string(required) + " threads, not " +
                       std::to_string(launch.group_size[d]));
  }
  if (threads > kernel.max_flat_workgroup_size)
    throw InputError(kernel.name + " has workgroups of up to " + std::to_string(kernel.max_flat_workgroup_size) +
                     " threads, not " + std::to_string(threads));
  const std::uint32_t lds = kernel.descriptor.group_segment_fixed_size;
  if (lds > properties(arch).lds_bytes_per_group)
    throw InputError(kernel.name + " has " + std::to_string(lds) + " bytes of LDS, more than " +
                     std::string(name(arch)));
}

}  // namespace

Launch BoundLaunch::launch() const {
  Launch launch;
  launch.object = object_.get();
  launch.kernel = &kernel_;
  launch.groups = prepared_.groups;
  launch.group_size = prepared_.group_size;
  // A kernel's segment may be shorter than the library's one structure for all kernels of the family.
  launch.arguments = prepared_.arguments.bytes();
  return launch;
}

std::shared_ptr<const CodeObject> Objects::object(const Measurement& row) {
  const std::lock_guard lock(mutex_);
  auto& slot = loaded_[row.code_object];
  if (slot) return slot;
  const std::string path = folder_ + "/" + row.code_object;
  const auto bytes = read_file(path);
  try {
    std::vector<std::byte> storage;
    slot = CodeObject::load(select_code_object(bytes, row.arch, storage), row.arch, 0);
  } catch (const LoadError& failure) {
    throw InputError("'" + path + "': " + failure.what());
  }
  return slot;
}

BoundLaunch Objects::bind(const Measurement& row, const Shape& shape) {
  const Family& family = family_of(row.kernel);
  auto code = object(row);
  const auto kernel = std::find_if(code->kernels().begin(), code->kernels().end(),
                                   [&](const Kernel& k) { return k.name == row.kernel; });
  if (kernel == code->kernels().end())
    throw InputError("'" + folder_ + "/" + row.code_object + "' has no kernel '" + row.kernel + "'");
  const Target target{row.arch, row.compute_units, row.kernel};
  PreparedLaunch prepared = family.prepare(target, shape);
  prepared.arguments.check(*kernel, family.argument_bytes(target));
  check_workgroup(*kernel, prepared, row.arch);
  return {std::move(code), *kernel, std::move(prepared)};
}

}  // namespace rapt::sim::validate
