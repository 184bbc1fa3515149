// Which pictures a folder or a list file holds, and their labels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mxc::io {

struct PictureList {
  std::vector<std::string> paths;
  std::vector<double> labels;        // of each path; empty: pictures without labels
  std::vector<std::string> places;   // where each label stands ("list.txt:7"), for messages; of a folder: the path itself
  std::vector<std::string> classes;  // names of the class folders, by label; empty if there are none
};

// Class folders: each folder in `folder` is a class, its pictures are its samples; labels count the folders' names in the order of
// their bytes. A folder that holds pictures and no folders gives these, without labels. Names that begin with a dot are skipped.
// With `known` not empty (the classes of the training part), labels are positions there.
// Error: no such folder; no pictures; a class folder without any; a name that does not end in .jpg, .jpeg or .png, in any case of
// letters; folders and pictures mixed; a folder in a class folder; a class that is not `known`.
absl::StatusOr<PictureList> list_folder(const std::string& folder, const std::vector<std::string>& known);

// A text file of lines `PATH LABEL`, separated by blanks, a tab or a comma (the last one of the line); paths are relative to `root`.
// Empty lines are skipped. Error, with the line: a line without a label, a label that is no number, an unknown kind of name, no such
// file; or no pictures at all.
absl::StatusOr<PictureList> read_list(const std::string& path, const std::string& root);

// True if `folder` holds the folder `part` with class folders in it: the layout `train/CLASS/NAME.jpg`.
bool has_part(const std::string& folder, const std::string& part);

}  // namespace mxc::io
