#include "sim/validate/input/shape.hpp"

#include "sim/validate/input/input_error.hpp"

#include <charconv>

namespace rapt::sim::validate {

Shape::Shape(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      throw InputError("shape '" + std::string(text) + "': '" + std::string(word) + "' is not name=value");
    const bool fresh = words_.emplace(word.substr(0, equals), word.substr(equals + 1)).second;
    if (!fresh)
      throw InputError("shape '" + std::string(text) + "' has " + std::string(word.substr(0, equals)) + " twice");
  }
}

std::uint32_t Shape::number(const std::string& name) const {
  const std::string& text = word(name);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0)
    throw InputError("shape '" + this->text() + "': " + name + " must be a number from 1 on");
  return value;
}

const std::string& Shape::word(const std::string& name) const {
  static const std::string missing;
  const auto found = words_.find(name);
  return found == words_.end() ? missing : found->second;
}

void Shape::set(const std::string& name, std::uint32_t number) { words_[name] = std::to_string(number); }

std::string Shape::text() const { return text_without(""); }

std::string Shape::text_without(const std::string& name) const {
  std::string text;
  for (const auto& [word, value] : words_)
    if (word != name) text += (text.empty() ? "" : " ") + word + "=" + value;
  return text;
}

}  // namespace rapt::sim::validate
