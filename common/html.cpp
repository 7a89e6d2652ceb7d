#include "common/html.hpp"

#include <cmath>
#include <iterator>

namespace rapt::common::html {

namespace {

constexpr std::string_view kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:80em;padding:0 1em;color:#1b1f24}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}h3{font-size:1em}"
    "table{border-collapse:collapse;font-size:13px}"
    "th,td{padding:.2em .6em;text-align:right;border-bottom:1px solid #dde1e6;white-space:nowrap}"
    ".t{text-align:left}.wide{overflow-x:auto}svg{width:100%;height:auto;font:12px system-ui,sans-serif}"
    "p.note{color:#57606a}";

std::string join(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

std::string page(std::string_view title, std::string_view body) {
  const std::string name = escape(title);
  return join({"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>", name, "</title><style>",
               kStyle, "</style></head>\n<body>\n<h1>", name, "</h1>\n", body, "</body></html>\n"});
}

std::string svg(double width, double height, std::string_view label, std::string_view body) {
  return join({"<svg viewBox=\"0 0 ", std::to_string(std::lround(width)), " ", std::to_string(std::lround(height)),
               "\" role=\"img\" aria-label=\"", escape(label), "\">", body, "</svg>\n"});
}

std::string legend(const std::vector<std::string>& names) {
  std::string out = "<p>";
  for (size_t i = 0; i < names.size(); ++i)
    out += join({"<span style=\"color:", colour(i), "\">&#9632;</span> ", escape(names[i]), " &#160; "});
  return out + "</p>\n";
}

const char* colour(size_t index) {
  constexpr const char* kColours[] = {"#2563a8", "#c2703d", "#3c8d5a", "#8b5fb0",
                                      "#a33c4c", "#5f6b76", "#b08a2e", "#4aa3a3"};
  return kColours[index % std::size(kColours)];
}

}  // namespace rapt::common::html
