// fmt's functions, compiled once: in its header-only mode every source that formats compiles them again, for two
// seconds. A static part of the command, which then runs where no fmt is installed.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE

namespace detail {

// The templates that fmt/format.h declares and leaves to fmt's library.
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template locale_ref::locale_ref(const std::locale&);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

}  // namespace detail

FMT_END_NAMESPACE
