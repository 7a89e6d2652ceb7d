// Reports as one self-contained HTML page: no scripts, links or network access; charts are inline SVG.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::common::html {

std::string escape(std::string_view text);  // for content and attributes
std::string page(std::string_view title, std::string_view body);
std::string svg(double width, double height, std::string_view label, std::string_view body);
std::string legend(const std::vector<std::string>& names);  // in the order of their colours
const char* colour(size_t index);

}  // namespace rapt::common::html
