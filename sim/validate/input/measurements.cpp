#include "sim/validate/input/measurements.hpp"

#include "sim/validate/input/csv.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

namespace rapt::sim::validate {
namespace {

template <typename T>
bool read(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) throw InputError("cannot read '" + path + "'");
  return text;
}

}  // namespace

std::string Measurement::part() const { return std::string(name(arch)) + "/" + std::to_string(compute_units); }

std::vector<Measurement> read_measurements(const std::string& path) {
  const CsvTable table(contents(path), path);
  const std::size_t arch = table.column("arch"), cus = table.column("cus"), kind = table.column("kind"),
                    kernel = table.column("kernel"), shape = table.column("shape"), us = table.column("us"),
                    code_object = table.column("code_object");
  std::vector<Measurement> rows;
  for (const CsvTable::Record& record : table.records()) {
    const auto& field = record.fields;
    const auto need = [&](bool good, const char* column, std::size_t index, const char* allowed) {
      if (!good) table.fail(record.line, std::string(column) + " is '" + field[index] + "', but must be " + allowed);
    };
    const auto parsed = parse_arch(field[arch]);
    need(parsed.has_value(), "arch", arch, "an architecture of the simulator");
    Measurement row{record.line, *parsed, 0, field[kind], field[kernel], field[shape], 0, field[code_object]};
    need(read(field[cus], row.compute_units) && row.compute_units > 0, "cus", cus, "a number from 1 on");
    need(read(field[us], row.microseconds) && std::isfinite(row.microseconds) && row.microseconds > 0, "us", us,
         "a positive number of microseconds");
    need(!row.kernel.empty(), "kernel", kernel, "a symbol");
    need(!row.code_object.empty(), "code_object", code_object, "a file");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw InputError("'" + path + "' has a header and no rows");
  return rows;
}

}  // namespace rapt::sim::validate
