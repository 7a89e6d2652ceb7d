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
  if (const std::string file = file_of(spec); file != spec)
    return load_stored(file, spec.substr(file.size() + 1), false);
  throw InputError(fmt::format("{}: the name must end in .npy, .safetensors or .safetensors:TENSOR", spec));
}

Array load_named(const std::string& path, const std::string& tensor) { return load_stored(path, tensor, false); }

std::string file_of(const std::string& spec) {
  if (spec.ends_with(kNpy) || spec.ends_with(kSafeTensors)) return spec;
  const size_t at = spec.rfind(std::string(kSafeTensors) + ":");
  return at == std::string::npos ? spec : spec.substr(0, at + std::string_view(kSafeTensors).size());
}

std::vector<std::string> output_paths(const std::string& path, const std::vector<std::string>& names) {
  if (path.ends_with(kSafeTensors)) return {path};
  if (!path.ends_with(kNpy)) throw InputError(fmt::format("{}: the name must end in .npy or .safetensors", path));
  const std::string stem = path.substr(0, path.size() - std::string_view(kNpy).size());
  std::vector<std::string> paths = {path};
  for (size_t i = 1; i < names.size(); ++i) paths.push_back(fmt::format("{}.{}{}", stem, names[i], kNpy));
  return paths;
}

std::vector<std::string> save_tensors(const std::string& path,
                                      const std::vector<std::pair<std::string, const Array*>>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, array] : tensors) names.push_back(name);
  const std::vector<std::string> paths = output_paths(path, names);
  std::vector<std::unique_ptr<common::AtomicFile>> files;
  const auto begin = [&](const std::string& header) {
    files.push_back(std::make_unique<common::AtomicFile>(paths[files.size()]));
    files.back()->write(header);
  };
  const auto data = [](const Array& a) { return std::span(a.data(), static_cast<size_t>(a.bytes())); };
  if (path.ends_with(kSafeTensors)) {
    auto order = tensors;  // widest elements first, so that each tensor is aligned to its own
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(-bytes_of(a.second->dtype()), a.first) < std::pair(-bytes_of(b.second->dtype()), b.first);
    });
    begin(safetensors_header(order));
    for (const auto& [name, array] : order) files.back()->write(data(*array));
  } else {
    for (const auto& [name, array] : tensors) {
      begin(npy_header(path, *array));
      files.back()->write(data(*array));
    }
  }
  for (const auto& file : files) file->sync();
  for (const auto& file : files) file->commit();
  return paths;
}

}  // namespace rapt::cli
