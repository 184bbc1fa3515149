// See picture_list.h.
#include "runtime/io/picture_list.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/io/read_file.h"

namespace mxc::io {
namespace {

namespace fs = std::filesystem;

bool is_picture_name(const std::string& name) {
  return absl::EndsWithIgnoreCase(name, ".jpg") || absl::EndsWithIgnoreCase(name, ".jpeg") ||
         absl::EndsWithIgnoreCase(name, ".png");
}

absl::Status unknown_kind(const std::string& place) {
  return absl::InvalidArgumentError(absl::StrCat(place, ": not the name of a picture; known are .jpg, .jpeg and .png"));
}

// What a folder holds, each sorted by bytes; hidden names left out.
struct Entries {
  std::vector<std::string> folders, files;
};

absl::StatusOr<Entries> entries_of(const std::string& folder) {
  Entries entries;
  std::error_code fault;
  for (fs::directory_iterator at(folder, fault), end; !fault && at != end; at.increment(fault)) {
    const std::string name = at->path().filename().string();
    if (name[0] == '.') continue;
    std::error_code ignored;
    (at->is_directory(ignored) ? entries.folders : entries.files).push_back(name);
  }
  if (fault) return absl::InvalidArgumentError(absl::StrCat(folder, ": ", fault.message()));
  std::sort(entries.folders.begin(), entries.folders.end());
  std::sort(entries.files.begin(), entries.files.end());
  return entries;
}

absl::Status add_pictures(const std::string& folder, const std::vector<std::string>& names, PictureList* list) {
  for (const std::string& name : names) {
    std::string path = absl::StrCat(folder, "/", name);
    if (!is_picture_name(name)) return unknown_kind(path);
    list->places.push_back(path);
    list->paths.push_back(std::move(path));
  }
  return absl::OkStatus();
}

absl::Status add_class(const std::string& folder, double label, PictureList* list) {
  auto entries = entries_of(folder);
  if (!entries.ok()) return entries.status();
  if (!entries->folders.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, "/", entries->folders[0], ": a folder in a class folder"));
  }
  if (entries->files.empty()) return absl::InvalidArgumentError(absl::StrCat(folder, ": a class folder without pictures"));
  list->labels.resize(list->labels.size() + entries->files.size(), label);
  return add_pictures(folder, entries->files, list);
}

// One line of a list file, taken apart.
absl::Status add_line(const std::string& place, const std::string& line, const std::string& root, PictureList* list) {
  const size_t cut = line.find_last_of(" \t,");
  if (cut == std::string::npos) return absl::InvalidArgumentError(absl::StrCat(place, ": expected PATH LABEL, got '", line, "'"));
  const std::string name(absl::StripAsciiWhitespace(line.substr(0, cut)));
  const std::string label = line.substr(cut + 1);
  double number = 0;
  if (!absl::SimpleAtod(label, &number) || !std::isfinite(number)) {
    return absl::InvalidArgumentError(absl::StrCat(place, ": the label '", label, "' is not a number"));
  }
  if (!is_picture_name(name)) return unknown_kind(absl::StrCat(place, ": ", name));
  std::string path = name[0] == '/' || root.empty() ? name : absl::StrCat(root, "/", name);
  if (!file_exists(path)) return absl::InvalidArgumentError(absl::StrCat(place, ": ", path, ": no such file"));
  list->paths.push_back(std::move(path));
  list->labels.push_back(number);
  list->places.push_back(place);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PictureList> list_folder(const std::string& folder, const std::vector<std::string>& known) {
  auto entries = entries_of(folder);
  if (!entries.ok()) return entries.status();
  PictureList list;
  if (entries->folders.empty()) {
    if (entries->files.empty()) return absl::InvalidArgumentError(absl::StrCat(folder, ": there are no pictures"));
    if (absl::Status status = add_pictures(folder, entries->files, &list); !status.ok()) return status;
    return list;
  }
  if (!entries->files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, "/", entries->files[0], ": a file beside class folders"));
  }
  list.classes = known.empty() ? entries->folders : known;
  for (const std::string& name : entries->folders) {
    const auto at = std::find(list.classes.begin(), list.classes.end(), name);
    if (at == list.classes.end()) {
      return absl::InvalidArgumentError(absl::StrCat(folder, "/", name, ": the training part has no class of this name"));
    }
    const double label = static_cast<double>(at - list.classes.begin());
    if (absl::Status status = add_class(absl::StrCat(folder, "/", name), label, &list); !status.ok()) return status;
  }
  return list;
}

absl::StatusOr<PictureList> read_list(const std::string& path, const std::string& root) {
  auto text = read_file_unpacked(path);
  if (!text.ok()) return text.status();
  PictureList list;
  int64_t number = 0;
  for (absl::string_view part : absl::StrSplit(*text, '\n')) {
    ++number;
    const std::string line(absl::StripAsciiWhitespace(part));
    if (line.empty()) continue;
    if (absl::Status status = add_line(absl::StrCat(path, ":", number), line, root, &list); !status.ok()) return status;
  }
  if (list.paths.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": there are no pictures"));
  return list;
}

bool has_part(const std::string& folder, const std::string& part) {
  std::error_code ignored;
  for (fs::directory_iterator at(absl::StrCat(folder, "/", part), ignored), end; !ignored && at != end; at.increment(ignored)) {
    std::error_code fault;
    if (at->is_directory(fault)) return true;
  }
  return false;
}

}  // namespace mxc::io
