// See array_files.h.
#include "driver/array_files.h"

#include "runtime/io/npz.h"
#include "runtime/io/read_file.h"

namespace mxc::driver {

using frontend::Fault;

std::optional<std::pair<std::string, std::string>> readAssignment(const std::string& flag, const std::string& text, DiagnosticPrinter& printer) {
  size_t equals = text.find('=');
  if (equals != 0 && equals != std::string::npos && equals + 1 < text.size()) return std::pair{text.substr(0, equals), text.substr(equals + 1)};
  printer.error(Fault::usage, flag + " " + text + ": NAME=FILE.npy is expected");
  return std::nullopt;
}

std::optional<Arrays> readArrays(const std::string& flag, const std::vector<std::string>& assignments, DiagnosticPrinter& printer) {
  Arrays arrays;
  for (const std::string& text : assignments) {
    auto assignment = readAssignment(flag, text, printer);
    if (!assignment) return std::nullopt;
    auto bytes = io::read_file(assignment->second);
    auto array = bytes.ok() ? io::parse_npy(*bytes, assignment->second) : bytes.status();
    if (!array.ok()) return printer.error(array.status()), std::nullopt;
    if (!arrays.emplace(assignment->first, std::move(*array)).second)
      return printer.error(Fault::usage, flag + " " + text + ": there is an array for '" + assignment->first + "' already"), std::nullopt;
  }
  return arrays;
}

std::optional<Arrays> readArchive(const std::string& path, DiagnosticPrinter& printer) {
  auto entries = io::read_npz(path);
  if (!entries.ok()) return printer.error(entries.status()), std::nullopt;
  if (entries->empty()) return printer.error(Fault::input, path + ": there is no array in this archive"), std::nullopt;
  Arrays arrays;
  for (auto& [name, array] : *entries) arrays[name] = std::move(array);
  return arrays;
}

}  // namespace mxc::driver
