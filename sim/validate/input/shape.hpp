// The text that says how large a measured problem was: "M=256 N=1536 K=5120 splitK=1 bias=False".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rapt::sim::validate {

class Shape {
 public:
  explicit Shape(std::string_view text);  // InputError unless it is words of the form name=value, each name once

  std::uint32_t number(const std::string& name) const;     // at least 1; InputError if it is missing or anything else
  const std::string& word(const std::string& name) const;  // "" if it is missing
  void set(const std::string& name, std::uint32_t number);

  std::string text() const;  // in the order of names
  // The problem alone, without `name`, which says how a kernel divides the work.
  std::string text_without(const std::string& name) const;

 private:
  std::map<std::string, std::string> words_;
};

}  // namespace rapt::sim::validate
