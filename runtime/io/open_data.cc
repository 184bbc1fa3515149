// See sources.h: the table of schemes.
#include "absl/strings/str_cat.h"
#include "runtime/io/sources.h"

namespace mxc::io {
namespace {

struct Scheme {
  const char* name;
  absl::StatusOr<DataSplits> (*open)(const Uri&, const std::vector<Field>&);
};

constexpr Scheme kSchemes[] = {
    {"mnist", open_mnist}, {"cifar10", open_cifar}, {"cifar100", open_cifar}, {"csv", open_csv},
    {"npz", open_npz},     {"images", open_images}, {"random", open_random},  {"text", open_text},
};

}  // namespace

absl::StatusOr<DataSplits> open_data(const std::string& address, const std::vector<Field>& inputs) {
  auto uri = parse_uri(address);
  if (!uri.ok()) return uri.status();
  std::string known;
  for (const Scheme& scheme : kSchemes) {
    if (uri->scheme == scheme.name) return scheme.open(*uri, inputs);
    absl::StrAppend(&known, known.empty() ? "" : ", ", scheme.name);
  }
  return absl::InvalidArgumentError(absl::StrCat(address, ": unknown kind of data '", uri->scheme, "'; known: ", known));
}

}  // namespace mxc::io
