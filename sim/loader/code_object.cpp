#include "sim/loader/code_object.hpp"

#include "sim/loader/image.hpp"
#include "sim/loader/metadata.hpp"
#include "sim/loader/target.hpp"

#include <algorithm>
#include <unordered_map>

namespace rapt::sim {

namespace {

constexpr std::uint16_t property_wave32 = 1U << 10;
constexpr std::uint64_t entry_alignment = 256;

void check_arch(const Elf64_Ehdr& header, Arch arch) {
  const Target target = elf_target(header);
  if (fitness(target, arch) == 0)
    throw LoadError(LoadError::Kind::wrong_arch,
                    "code object for " + to_string(target) + ", the device is a " + std::string(name(arch)));
}

using SymbolIndex = std::unordered_map<std::string_view, const DynamicSymbol*>;

Kernel make_kernel(KernelMetadata metadata, const SymbolIndex& symbols, const Image& image, Arch arch) {
  Kernel kernel = std::move(metadata.kernel);
  const std::string where = "kernel " + kernel.name + ": ";
  const auto found = symbols.find(metadata.descriptor_name);
  if (found == symbols.end() || !found->second->defined) broken(where + "no descriptor " + metadata.descriptor_name);
  const std::uint64_t address = found->second->address;
  if (address % 64 != 0) broken(where + "the descriptor is not aligned to 64 bytes");
  KernelDescriptor& descriptor = kernel.descriptor;
  if (!image.holds(address, sizeof(descriptor))) broken(where + "the descriptor is outside the segments");
  std::memcpy(&descriptor, reinterpret_cast<const void*>(address), sizeof(descriptor));

  const bool wave32 = (descriptor.kernel_code_properties & property_wave32) != 0;
  if (wave32 && is_cdna(arch)) broken(where + "waves of 32 lanes, which the device does not have");
  if (kernel.lanes != (wave32 ? 32U : 64U)) broken(where + "descriptor and metadata differ in the size of a wave");

  kernel.entry = address + static_cast<std::uint64_t>(descriptor.kernel_code_entry_byte_offset);
  if (image.executable(kernel.entry).empty()) broken(where + "the entry is outside the executable segment");
  if (kernel.entry % entry_alignment != 0) broken(where + "the entry is not aligned to 256 bytes");

  // Older compilers left some of these fields empty in the descriptor.
  descriptor.kernarg_size = std::max(descriptor.kernarg_size, metadata.kernarg_size);
  descriptor.group_segment_fixed_size = std::max(descriptor.group_segment_fixed_size, metadata.group_segment_size);
  descriptor.private_segment_fixed_size =
      std::max(descriptor.private_segment_fixed_size, metadata.private_segment_size);
  return kernel;
}

}  // namespace

std::unique_ptr<CodeObject> CodeObject::load(std::span<const std::byte> bytes, Arch arch, int device) {
  const Elf64_Ehdr header = elf::header(bytes);
  check_arch(header, arch);
  std::unique_ptr<CodeObject> object(new CodeObject);
  arch = instructions_of(arch);
  object->arch_ = arch;
  object->file_.assign(bytes.begin(), bytes.end());
  object->image_ = std::make_unique<Image>(object->file_, header, device);
  const Image& image = *object->image_;
  object->text_ = image.first_executable();

  SymbolIndex symbols;
  for (const auto& symbol : image.symbols()) symbols.emplace(symbol.name, &symbol);
  std::unordered_map<std::string, bool> descriptors;
  for (auto& metadata : read_metadata(image.notes())) {
    if (!descriptors.emplace(metadata.descriptor_name, true).second)
      broken("kernel " + metadata.kernel.name + " is there twice");
    object->kernels_.push_back(make_kernel(std::move(metadata), symbols, image, arch));
  }
  for (const auto& symbol : image.symbols())
    if (symbol.defined && symbol.object && symbol.size != 0 &&
        descriptors.find(std::string(symbol.name)) == descriptors.end())
      object->variables_.push_back({std::string(symbol.name), symbol.address, symbol.size});
  return object;
}

CodeObject::CodeObject() = default;
CodeObject::~CodeObject() = default;

}  // namespace rapt::sim
