#include "sim/validate/launch/arguments.hpp"

#include "sim/validate/input/input_error.hpp"

#include <bit>
#include <cstring>

namespace rapt::sim::validate {
namespace {

constexpr std::size_t slot = 16;

// Some metadata describes a pointer as two arguments of four bytes.
bool has_bytes(const Kernel& kernel, std::size_t offset, unsigned size) {
  unsigned found = 0;
  for (const Argument& argument : kernel.arguments)
    if (is_explicit(argument) && argument.offset == offset + found && found < size) found += argument.size;
  return found == size;
}

}  // namespace

Arguments& Arguments::number(float value) { return number(std::bit_cast<std::uint32_t>(value)); }

Arguments& Arguments::put(std::uint64_t value, unsigned size) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + slot);
  std::memcpy(&bytes_[at], &value, size);
  sizes_.push_back(size);
  return *this;
}

void Arguments::check(const Kernel& kernel, std::uint32_t segment) const {
  const std::uint32_t has = kernel.descriptor.kernarg_size;
  if (has != segment)
    throw InputError(kernel.name + " has " + std::to_string(has) + " bytes of arguments, not the " +
                     std::to_string(segment) + " of its family");
  for (std::size_t n = 0; n < sizes_.size() && n * slot < segment; ++n) {
    if (!has_bytes(kernel, n * slot, sizes_[n]))
      throw InputError(kernel.name + " has no argument of " + std::to_string(sizes_[n]) + " bytes at " +
                       std::to_string(n * slot));
  }
}

}  // namespace rapt::sim::validate
