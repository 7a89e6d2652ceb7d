#include "cli/io/tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/inputs/dtype.hpp"
#include "cli/io/file.hpp"
#include "cli/io/npy.hpp"
#include "cli/io/safetensors.hpp"
#include "common/atomic_file.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kNpy = ".npy";
constexpr const char* kSafeTensors = ".safetensors";

std::string names_of(const SafeTensors& file) {
  std::string names;
  for (const StoredTensor& t : file.tensors()) {
    if (names.size() > 200) return names + ", ...";
    names += (names.empty() ? "" : ", ") + t.name;
  }
  return names.empty() ? "none" : names;
}

Array load_stored(const std::string& path, const std::string& wanted, bool only_one_will_do) {
  const MappedFile mapped(path);
  const SafeTensors file(path, mapped.bytes());
  const StoredTensor* stored = file.find(wanted);
  if (!stored && only_one_will_do && file.tensors().size() == 1) stored = &file.tensors().front();
  if (!stored) throw InputError(fmt::format("{}: no tensor is named '{}'; it has {}", path, wanted, names_of(file)));
  return file.load(*stored);
}

}  // namespace

Array load_tensor(const std::string& spec, const std::string& role) {
  if (spec.ends_with(kNpy)) {
    const MappedFile mapped(spec);
    return read_npy(spec, mapped.bytes());
  }
  if (spec.ends_with(kSafeTensors)) return load_stored(spec, role, true);
  const std::string separator = std::string(kSafeTensors) + ":";
  if (const size_t at = spec.rfind(separator); at != std::string::npos)
    return load_stored(spec.substr(0, at + separator.size() - 1), spec.substr(at + separator.size()), false);
  throw InputError(fmt::format("{}: the name must end in .npy, .safetensors or .safetensors:TENSOR", spec));
}

Array load_named(const std::string& path, const std::string& tensor) { return load_stored(path, tensor, false); }

void check_output_path(const std::string& path) {
  if (!path.ends_with(kNpy) && !path.ends_with(kSafeTensors))
    throw InputError(fmt::format("{}: the name must end in .npy or .safetensors", path));
}

std::vector<std::string> save_tensors(const std::string& path,
                                      const std::vector<std::pair<std::string, const Array*>>& tensors) {
  check_output_path(path);
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<common::AtomicFile>> files;
  const auto begin = [&](const std::string& file, const std::string& header) {
    paths.push_back(file);
    files.push_back(std::make_unique<common::AtomicFile>(file));
    files.back()->write(header);
  };
  const auto data = [](const Array& a) { return std::span(a.data(), static_cast<size_t>(a.bytes())); };
  if (path.ends_with(kSafeTensors)) {
    auto order = tensors;  // widest elements first, so that each tensor is aligned to its own
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(-bytes_of(a.second->dtype()), a.first) < std::pair(-bytes_of(b.second->dtype()), b.first);
    });
    begin(path, safetensors_header(order));
    for (const auto& [name, array] : order) files.back()->write(data(*array));
  } else {
    for (const auto& [name, array] : tensors) {
      const std::string stem = path.substr(0, path.size() - std::string(kNpy).size());
      begin(files.empty() ? path : fmt::format("{}.{}{}", stem, name, kNpy), npy_header(path, *array));
      files.back()->write(data(*array));
    }
  }
  for (const auto& file : files) file->sync();
  for (const auto& file : files) file->commit();
  return paths;
}

}  // namespace rapt::cli
