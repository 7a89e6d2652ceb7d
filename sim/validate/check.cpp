#include "sim/validate/check.hpp"

#include "sim/device/device.hpp"
#include "sim/validate/input/input_error.hpp"

#include <set>

namespace rapt::sim::validate {
namespace {

Shape small_shape(const Measurement& row) {
  return family_of(row.kernel).small({row.arch, row.compute_units, row.kernel}, Shape(row.shape));
}

}  // namespace

Check check(Objects& objects, const Measurement& row) {
  Check check{row.kernel, row.shape, {}, {}};
  try {
    const Shape shape = small_shape(row);
    check.shape = shape.text();
    const BoundLaunch bound = objects.bind(row, shape);
    run(bound.launch(), 0);
    check.result = bound.compare();
  } catch (const std::runtime_error& failure) {  // InputError, or the machine's Fault
    check.failure = failure.what();
  }
  return check;
}

std::vector<const Measurement*> distinct_checks(const std::vector<const Measurement*>& rows) {
  std::vector<const Measurement*> distinct;
  std::set<std::string> seen;
  for (const Measurement* row : rows) {
    std::string problem = row->shape;  // of a row that cannot be checked: check() says why
    try {
      problem = small_shape(*row).text();
    } catch (const InputError&) {
    }
    if (seen.insert(std::string(name(row->arch)) + row->kernel + problem).second) distinct.push_back(row);
  }
  return distinct;
}

}  // namespace rapt::sim::validate
