// The one exception type inside the library; src/api turns it into a status and a message at the C boundary.
#pragma once

#include <stdexcept>
#include <string>

#include "rapt/rapt.h"

namespace rapt {

class Error : public std::runtime_error {
 public:
  Error(rapt_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  rapt_status status() const { return status_; }

 private:
  rapt_status status_;
};

// Collects every violation, so that one error reports them all.
class Violations {
 public:
  void add(const std::string& sentence) { text_ += text_.empty() ? sentence : "; " + sentence; }
  bool empty() const { return text_.empty(); }
  void throw_if_any() const {
    if (!text_.empty()) throw Error(RAPT_INVALID_ARGUMENT, text_);
  }

 private:
  std::string text_;
};

}  // namespace rapt
