// Pictures in folders or list files. Nothing is kept in memory but their names: a batch is read and decoded when it is wanted, by
// several threads, each picture on its own; so the result does not depend on their number.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/core/plan_view.h"
#include "runtime/core/thread_pool.h"
#include "runtime/engine/core_status.h"
#include "runtime/io/bind.h"
#include "runtime/io/frame.h"
#include "runtime/io/hold_out.h"
#include "runtime/io/picture_list.h"
#include "runtime/io/read_file.h"
#include "runtime/io/sources.h"
#include "runtime/io/table.h"

namespace mxc::io {
namespace {

using plan::DType;

constexpr int64_t kLargestSide = 1 << 15;
const std::vector<std::string> kOptions = {"root", "size", "resize", "crop",    "pad",     "flip",
                                           "mean", "std",  "scale",  "threads", "holdout", "holdout_seed"};

// What is done to each picture.
struct Treatment {
  Framing framing;
  int channels = 3;
  double scale = 255;
  double mean[3] = {0, 0, 0}, std[3] = {1, 1, 1};  // a number is (pixel / scale - mean) / std
  int threads = 0;                                 // 0: one per CPU
};

// ---- the address -----------------------------------------------------------------------------------------------------------------

absl::Status wrong(const Uri& uri, const std::string& key, const std::string& expected) {
  return absl::InvalidArgumentError(absl::StrCat(uri.text, ": ", key, " must be ", expected, ", not '", *uri.find(key), "'"));
}

// A whole number; `out` is left as it is if the parameter is absent.
absl::Status read_whole(const Uri& uri, const std::string& key, int64_t least, int64_t* out) {
  const std::string* text = uri.find(key);
  if (text == nullptr || (absl::SimpleAtoi(*text, out) && *out >= least && *out <= kLargestSide)) return absl::OkStatus();
  return wrong(uri, key, absl::StrCat("a whole number from ", least, " to ", kLargestSide));
}

absl::Status read_channels(const Uri& uri, const std::string& key, bool positive, int channels, double* out) {
  const std::string* text = uri.find(key);
  if (text == nullptr) return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(*text, ',');
  bool good = parts.size() == 1 || static_cast<int>(parts.size()) == channels;
  for (int c = 0; good && c < channels; ++c) {
    good = absl::SimpleAtod(parts[parts.size() == 1 ? 0 : c], &out[c]) && std::isfinite(out[c]) && (!positive || out[c] > 0);
  }
  if (good) return absl::OkStatus();
  return wrong(uri, key, absl::StrCat("one ", positive ? "positive " : "", "number or one for each channel (", channels, ")"));
}

absl::Status read_framing(const Uri& uri, Framing* framing) {
  using Crop = Framing::Crop;
  if (const std::string* text = uri.find("resize")) {
    if (*text == "stretch") {
      framing->resize = Framing::Resize::stretch;
    } else if (*text != "cover") {
      framing->resize = Framing::Resize::shorter_side;
      if (!absl::SimpleAtoi(*text, &framing->shorter_side) || framing->shorter_side < 1 || framing->shorter_side > kLargestSide) {
        return wrong(uri, "resize", "cover, stretch or the shorter side in pixels");
      }
      if (framing->shorter_side < std::max(framing->width, framing->height)) {
        return wrong(uri, "resize", absl::StrCat("at least the size of the picture, ", framing->height, "x", framing->width));
      }
    }
  }
  if (const std::string* text = uri.find("crop")) {
    if (*text != "center" && *text != "random" && *text != "area") return wrong(uri, "crop", "center, random or area");
    framing->crop = *text == "random" ? Crop::random : *text == "area" ? Crop::area : Crop::centre;
  }
  if (const std::string* text = uri.find("flip")) {
    if (*text != "yes" && *text != "no") return wrong(uri, "flip", "yes or no");
    framing->flip = *text == "yes";
  }
  if (absl::Status status = read_whole(uri, "pad", 0, &framing->pad); !status.ok()) return status;
  if (framing->pad > 0 && framing->crop != Crop::random) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": pad goes with crop=random"));
  }
  return absl::OkStatus();
}

// The number of channels if `shape` is that of a picture, else 0.
int64_t channels_of(const std::vector<int64_t>& shape) {
  return shape.size() == 3 && (shape[0] == 1 || shape[0] == 3) ? shape[0] : 0;
}

// The shape [channels, height, width] that the model wants of a picture: that of the input that the address maps to `image`, else of
// the one of this name, else of the first that is shaped like a picture. `size` says it where that input is flat.
absl::StatusOr<std::vector<int64_t>> picture_shape(const Uri& uri, const std::vector<Field>& inputs) {
  const Field* chosen = nullptr;
  for (const Field& input : inputs) {
    const std::string* asked = uri.find(input.name);
    if (asked != nullptr && *asked == "image") chosen = &input;
    if (asked == nullptr && input.name == "image" && chosen == nullptr) chosen = &input;
  }
  for (const Field& input : inputs) {
    if (chosen == nullptr && uri.find(input.name) == nullptr && channels_of(input.shape) > 0) chosen = &input;
  }
  if (chosen == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(uri.text,
                     ": no input of the model is shaped like a picture (1 or 3 channels x height x width); name one with "
                     "INPUT=image and, if it is flat, size=HEIGHTxWIDTH"));
  }
  std::vector<int64_t> shape = chosen->shape;
  if (const std::string* text = uri.find("size")) {
    const std::vector<std::string> parts = absl::StrSplit(*text, 'x');
    shape.assign(3, 0);
    const bool good = parts.size() == 2 && absl::SimpleAtoi(parts[0], &shape[1]) && absl::SimpleAtoi(parts[1], &shape[2]) &&
                      shape[1] > 0 && shape[2] > 0 && shape[1] <= kLargestSide && shape[2] <= kLargestSide;
    if (!good) return wrong(uri, "size", "HEIGHTxWIDTH in pixels");
    shape[0] = chosen->elements() / (shape[1] * shape[2]);
    if (!shapes_agree(shape, chosen->shape)) shape[0] = 0;
  } else if (shape.size() == 2) {
    shape.insert(shape.begin(), 1);
  }
  if (channels_of(shape) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(uri.text, ": the model's input '", chosen->name, "' is ", shape_text(chosen->shape),
                     "; pictures have 1 or 3 channels x height x width",
                     uri.find("size") == nullptr ? "" : absl::StrCat(", here with size=", *uri.find("size"))));
  }
  return shape;
}

absl::StatusOr<Treatment> read_treatment(const Uri& uri, const std::vector<int64_t>& shape) {
  Treatment treatment;
  treatment.channels = static_cast<int>(shape[0]);
  treatment.framing.height = shape[1];
  treatment.framing.width = shape[2];
  auto scale = scale_of(uri, 255);
  if (!scale.ok()) return scale.status();
  treatment.scale = *scale;
  int64_t threads = 0;
  absl::Status status = read_framing(uri, &treatment.framing);
  if (status.ok()) status = read_channels(uri, "mean", false, treatment.channels, treatment.mean);
  if (status.ok()) status = read_channels(uri, "std", true, treatment.channels, treatment.std);
  if (status.ok()) status = read_whole(uri, "threads", 1, &threads);
  if (!status.ok()) return status;
  treatment.threads = static_cast<int>(threads);
  return treatment;
}

// ---- the data set ----------------------------------------------------------------------------------------------------------------

class Pictures : public Dataset {
 public:
  // `labels` has the fields that are no pictures; null if all are. of_labels[f]: which of them field f is, or -1 for a picture.
  Pictures(std::vector<Field> fields, std::vector<std::string> paths, const Treatment& treatment, std::unique_ptr<Dataset> labels,
           std::vector<int> of_labels)
      : fields_(std::move(fields)),
        paths_(std::move(paths)),
        treatment_(treatment),
        labels_(std::move(labels)),
        of_labels_(std::move(of_labels)) {}

  absl::Status start_threads() { return engine::from_core(core::ThreadPool::create(treatment_.threads, &pool_)); }

  int64_t count() const override { return static_cast<int64_t>(paths_.size()); }
  const std::vector<Field>& fields() const override { return fields_; }
  absl::Status read(int field, const int64_t* rows, int64_t n, void* out) const override {
    return read_with(field, rows, n, nullptr, out);
  }
  absl::Status read_varied(int field, const int64_t* rows, int64_t n, const Variation& variation, void* out) const override {
    return read_with(field, rows, n, &variation, out);
  }

 private:
  absl::Status read_with(int field, const int64_t* rows, int64_t n, const Variation* variation, void* out) const {
    if (of_labels_[field] >= 0) return labels_->read(of_labels_[field], rows, n, out);
    const DType dtype = fields_[field].dtype;
    const int64_t bytes = fields_[field].elements() * core::dtype_bytes(dtype);
    std::vector<absl::Status> faults(n);
    pool_.parallel(n, [&](int64_t begin, int64_t end) {
      std::vector<float> pixels(fields_[field].elements());
      for (int64_t i = begin; i < end; ++i) {
        faults[i] = read_picture(rows[i], variation, &pixels);
        if (faults[i].ok()) write(pixels, dtype, static_cast<char*>(out) + i * bytes);
      }
    });
    for (const absl::Status& fault : faults) {
      if (!fault.ok()) return fault;
    }
    return absl::OkStatus();
  }

  absl::Status read_picture(int64_t row, const Variation* variation, std::vector<float>* pixels) const {
    auto bytes = read_file(paths_[row]);
    if (!bytes.ok()) return bytes.status();
    auto picture = decode_picture(*bytes, paths_[row], treatment_.channels);
    if (!picture.ok()) return picture.status();
    const Framing& framing = treatment_.framing;
    const Window window = choose_window(framing, picture->width, picture->height, variation, row);
    resample(*picture, window, framing.width, framing.height, pixels->data());
    return absl::OkStatus();
  }

  // From 0 .. 255 to the numbers of an input: normalised if it is floating, else rounded.
  void write(const std::vector<float>& pixels, DType dtype, char* out) const {
    const int64_t plane = treatment_.framing.width * treatment_.framing.height;
    for (int c = 0; c < treatment_.channels; ++c) {
      for (int64_t i = c * plane; i < (c + 1) * plane; ++i) {
        const double value = (static_cast<double>(pixels[i]) / treatment_.scale - treatment_.mean[c]) / treatment_.std[c];
        if (dtype == DType::f32) reinterpret_cast<float*>(out)[i] = static_cast<float>(value);
        if (dtype == DType::f64) reinterpret_cast<double*>(out)[i] = value;
        if (dtype == DType::u8) reinterpret_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(pixels[i] + 0.5f);
      }
    }
  }

  std::vector<Field> fields_;
  std::vector<std::string> paths_;
  Treatment treatment_;
  std::unique_ptr<Dataset> labels_;
  std::vector<int> of_labels_;
  mutable core::ThreadPool pool_;  // callable from any thread
};

// The labels as a column: of integers, if they all are.
Column label_column(const PictureList& list, const std::string& name) {
  bool whole = true;
  for (double label : list.labels) whole &= label == std::floor(label) && std::fabs(label) < 9e15;
  Column column;
  column.name = name;
  column.stored = whole ? DType::i64 : DType::f64;
  for (double label : list.labels) {
    const int64_t integer = whole ? static_cast<int64_t>(label) : 0;
    const void* from = whole ? static_cast<const void*>(&integer) : &label;
    column.bytes.append(static_cast<const char*>(from), sizeof label);
  }
  column.place = [places = list.places](int64_t row, int64_t) { return places[row]; };
  return column;
}

absl::Status check_type(const Uri& uri, const Field& input) {
  if (input.dtype != DType::f32 && input.dtype != DType::f64 && input.dtype != DType::u8) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": pictures are f32, f64 or u8, the model's input '", input.name,
                                                   "' is ", core::dtype_name(input.dtype)));
  }
  for (const char* key : {"mean", "std", "scale"}) {
    if (input.dtype != DType::u8 || uri.find(key) == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": ", key, " is for floating inputs, '", input.name, "' is u8"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Dataset>> make_pictures(const Uri& uri, const std::vector<Field>& inputs, const PictureList& list) {
  if (absl::Status status = check_parameters(uri, kOptions, inputs); !status.ok()) return status;
  auto shape = picture_shape(uri, inputs);
  if (!shape.ok()) return shape.status();
  auto treatment = read_treatment(uri, *shape);
  if (!treatment.ok()) return treatment.status();

  std::vector<Field> offered = {{"image", DType::u8, *shape}};
  std::vector<Column> columns = {label_column(list, "label")};
  if (!list.labels.empty()) offered.push_back({"label", columns[0].stored, {}});
  auto bound = bind_fields(uri, inputs, offered);
  if (!bound.ok()) return bound.status();

  std::vector<Field> fields, label_fields;
  std::vector<Column> label_columns;
  std::vector<int> of_labels;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if ((*bound)[i] < 0) continue;
    fields.push_back(inputs[i]);
    of_labels.push_back((*bound)[i] == 0 ? -1 : static_cast<int>(label_fields.size()));
    if (absl::Status status = (*bound)[i] == 0 ? check_type(uri, inputs[i]) : absl::OkStatus(); !status.ok()) return status;
    if ((*bound)[i] == 0) continue;
    label_fields.push_back(inputs[i]);
    label_columns.push_back(columns[0]);
    label_columns.back().name = inputs[i].name;
  }
  std::unique_ptr<Dataset> labels;
  if (!label_fields.empty()) {
    Uri plain = uri;
    plain.parameters.clear();
    auto table = make_table(plain, {}, label_fields, std::move(label_columns));
    if (!table.ok()) return table.status();
    labels = *std::move(table);
  }
  auto pictures = std::make_unique<Pictures>(std::move(fields), list.paths, *treatment, std::move(labels), std::move(of_labels));
  if (absl::Status status = pictures->start_threads(); !status.ok()) return status;
  return pictures;
}

absl::StatusOr<PictureList> list_pictures(const Uri& uri, const std::string& part, const std::vector<std::string>& known) {
  if (!std::filesystem::is_directory(uri.path) && file_exists(uri.path)) {
    const std::string* root = uri.find("root");
    return read_list(uri.path, root != nullptr ? *root : std::filesystem::path(uri.path).parent_path().string());
  }
  if (uri.find("root") != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(uri.text, ": root goes with a list file, ", uri.path, " is none"));
  }
  return list_folder(part.empty() ? uri.path : absl::StrCat(uri.path, "/", part), known);
}

}  // namespace

absl::StatusOr<DataSplits> open_images(const Uri& uri, const std::vector<Field>& inputs) {
  const bool parts = has_part(uri.path, "train");
  auto list = list_pictures(uri, parts ? "train" : "", {});
  if (!list.ok()) return list.status();
  auto train = make_pictures(uri, inputs, *list);
  if (!train.ok()) return train.status();
  auto splits = hold_out(uri, *std::move(train));
  if (!splits.ok() || splits->test != nullptr || !parts || !has_part(uri.path, "test")) return splits;
  auto test_list = list_pictures(uri, "test", list->classes);
  if (!test_list.ok()) return test_list.status();
  auto test = make_pictures(uri, inputs, *test_list);
  if (!test.ok()) return test.status();
  splits->test = *std::move(test);
  return splits;
}

}  // namespace mxc::io
