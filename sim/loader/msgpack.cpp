#include "sim/loader/msgpack.hpp"

#include "sim/loader/bytes.hpp"

#include <set>

namespace rapt::sim {

namespace {

using nlohmann::json;

// Checks the bytes before a value is made of them, because the parser itself recurses without a limit.
class Checker final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return begin(); }
  bool end_array() override { return end(); }
  bool start_object(std::size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) broken("metadata: " + key + " is there twice");
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const json::exception& error) override {
    broken("metadata: byte " + std::to_string(at) + ": " + error.what());
  }

 private:
  bool begin() {
    if (keys_.size() == 32) broken("metadata is nested too deep");
    keys_.emplace_back();
    return true;
  }
  bool end() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // of the open maps; empty for a list
};

}  // namespace

json parse_msgpack(std::span<const std::byte> bytes) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  Checker checker;
  json::sax_parse(begin, begin + bytes.size(), &checker, json::input_format_t::msgpack);
  return json::from_msgpack(begin, begin + bytes.size());
}

}  // namespace rapt::sim
