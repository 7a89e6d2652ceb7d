#include "cli/io/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "cli/inputs/dtype.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDimensions = 8;

struct TypeName {
  std::string_view descr;
  rapt_dtype dtype;
};
constexpr TypeName kTypes[] = {{"<f2", kFp16},  {"<f4", kFp32}, {"<f8", kFp64},
                               {"<i4", kInt32}, {"|b1", kBool}, {"|u1", kUint8}};

struct Header {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// The header is a Python dict literal with exactly three keys: strings, True or False, and a tuple of integers.
class HeaderParser {
 public:
  HeaderParser(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  Header run() {
    Header header;
    expect('{');
    while (!accept('}')) {
      entry(header);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    if (skip_blanks(); at_ != text_.size()) fail("text follows the dict");
    if (!header.descr || !header.fortran_order || !header.shape)
      fail("it needs the keys descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw InputError(fmt::format("{}: damaged .npy header at byte {}: {}", name_, at_, what));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found ? 1 : 0;
    return found;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}'", c));
  }

  std::string_view string() {
    const char quote = accept('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string does not end");
    const std::string_view value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    fail("expected True or False");
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      int64_t value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) fail("a dimension is not an integer from 0 to 2^63 - 1");
      at_ = static_cast<size_t>(end - text_.data());
      values.push_back(value);
      if (values.size() > kMostDimensions) fail(fmt::format("more than {} dimensions", kMostDimensions));
      if (accept(',')) continue;
      expect(')');
      break;
    }
    return values;
  }

  void entry(Header& header) {
    const std::string_view key = string();
    expect(':');
    const auto once = [&](auto& slot, auto value) {
      if (slot) fail(fmt::format("the key {} comes twice", key));
      slot = std::move(value);
    };
    if (key == "descr") {
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == '[') fail("a structured type is not a tensor");
      once(header.descr, string());
    } else if (key == "fortran_order") {
      once(header.fortran_order, boolean());
    } else if (key == "shape") {
      once(header.shape, tuple());
    } else {
      fail("a key other than descr, fortran_order and shape");
    }
  }

  const std::string& name_;
  std::string_view text_;
  size_t at_ = 0;
};

rapt_dtype dtype_of(const std::string& name, std::string_view descr) {
  for (const TypeName& type : kTypes)
    if (type.descr == descr) return type.dtype;
  std::string shown;
  for (const char c : descr.substr(0, 16)) shown += c >= 32 && c < 127 ? c : '?';
  std::string hint;
  if (descr.starts_with('>')) hint = " (big endian)";
  if (descr.find('V') != std::string_view::npos) hint = " (raw bytes: store bf16 as .safetensors)";
  throw InputError(
      fmt::format("{}: element type '{}'{} is not supported; use float16, float32, float64, int32, bool or "
                  "uint8, little endian",
                  name, shown, hint));
}

}  // namespace

Array read_npy(const std::string& name, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) throw InputError(fmt::format("{}: not a .npy file: wrong first bytes", name));
  if (text.size() < 10) throw InputError(fmt::format("{}: truncated in the .npy header", name));
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    throw InputError(fmt::format("{}: .npy version {} is unknown; versions 1 to 3 are read", name, version));
  const size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) throw InputError(fmt::format("{}: truncated in the .npy header", name));
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start)
    throw InputError(
        fmt::format("{}: the .npy header claims {} bytes, {} are left", name, length, text.size() - start));
  const Header header = HeaderParser(name, text.substr(start, length)).run();
  const rapt_dtype dtype = dtype_of(name, *header.descr);
  if (*header.fortran_order && header.shape->size() > 1)
    throw InputError(fmt::format("{}: Fortran order is not supported; save numpy.ascontiguousarray(...)", name));
  int64_t expected = bytes_of(dtype);
  bool overflow = false;
  for (const int64_t d : *header.shape) overflow |= __builtin_mul_overflow(expected, d, &expected);
  if (overflow) throw InputError(fmt::format("{}: shape {} exceeds 64 bits", name, shape_text(*header.shape)));
  const size_t present = text.size() - start - length;
  if (static_cast<size_t>(expected) != present)
    throw InputError(fmt::format("{}: shape {} of {} needs {} bytes, {} follow the header", name,
                                 shape_text(*header.shape), dtype_name(dtype), expected, present));
  Array array(dtype, *header.shape);
  if (present > 0) std::memcpy(array.data(), text.data() + start + length, present);
  return array;
}

std::string npy_header(const std::string& name, const Array& array) {
  std::string_view descr;
  for (const TypeName& type : kTypes)
    if (same(type.dtype, array.dtype())) descr = type.descr;
  if (descr.empty())
    throw InputError(fmt::format("{}: .npy has no {}; write .safetensors", name, dtype_name(array.dtype())));
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                 fmt::join(array.shape(), ", "), array.shape().size() == 1 ? "," : "");
  constexpr size_t kStart = 10, kAlignment = 64;
  dict.append(kAlignment - (kStart + dict.size() + 1) % kAlignment, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(dict.size() & 255), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

}  // namespace rapt::cli
