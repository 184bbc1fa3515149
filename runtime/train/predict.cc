// See predict.h.
#include "runtime/train/predict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "runtime/io/atomic_file.h"
#include "runtime/io/npz.h"
#include "runtime/io/sources.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/picture.h"
#include "runtime/io/samples.h"

namespace mxc::train {
namespace {

constexpr int64_t kMostShown = 8;  // numbers of an output that is no set of classes

// The values of one output over all chosen samples.
struct Answer {
  std::string name;
  plan::DType dtype;
  std::vector<int64_t> shape;  // of a sample
  std::string bytes;

  int64_t elements() const { return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<int64_t>()); }
  double at(int64_t index) const { return core::read_scalar(dtype, bytes.data() + index * core::dtype_bytes(dtype)); }
  std::vector<double> sample(int64_t s) const {
    std::vector<double> values(elements());
    for (int64_t i = 0; i < elements(); ++i) values[i] = at(s * elements() + i);
    return values;
  }
};

// The samples asked for, checked.
absl::StatusOr<std::vector<int64_t>> choose_samples(const Options& options, const io::Dataset& dataset) {
  std::vector<int64_t> rows = options.samples;
  if (rows.empty()) {
    rows.resize(std::min(options.count, dataset.count()));
    std::iota(rows.begin(), rows.end(), int64_t{0});
  }
  for (int64_t row : rows) {
    if (row >= dataset.count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--samples ", row, ": ", options.data, " has samples 0 to ", dataset.count() - 1));
    }
  }
  return rows;
}

absl::StatusOr<std::vector<Answer>> infer(Model* model, GraphRunner* runner, const io::Dataset& dataset,
                                          const std::vector<int64_t>& rows, int64_t batch) {
  const core::PlanView& view = model->view();
  std::vector<Answer> answers;
  std::vector<uint32_t> buffers;
  for (const plan::Binding& binding : view.outputs(runner->graph())) {
    const plan::Buffer& buffer = view.buffer(binding.buffer);
    if (binding.kind != plan::OutputKind::output || buffer.batch_axis < 0) continue;
    answers.push_back({view.text(binding.name), buffer.dtype, io::sample_shape(buffer), ""});
    buffers.push_back(binding.buffer);
  }
  if (answers.empty()) return absl::UnimplementedError("this program's infer graph has no output with a batch axis");
  if (absl::Status status = runner->attach(dataset); !status.ok()) return status;
  io::BatchLoader loader(dataset, batch, model->engine());
  loader.start(rows);
  while (true) {
    auto next = loader.next();
    if (!next.ok()) return next.status();
    if (*next == nullptr) return answers;
    if (absl::Status status = runner->run(**next); !status.ok()) return status;
    for (size_t i = 0; i < answers.size(); ++i) {
      const std::vector<char> values = runner->read(buffers[i], (*next)->n);
      answers[i].bytes.append(values.data(), values.size());
    }
  }
}

// "7 (99.2 %)" for probabilities over classes, else the numbers.
std::string answer_text(const Answer& answer, int64_t sample) {
  const std::vector<double> values = answer.sample(sample);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  const bool positive = std::all_of(values.begin(), values.end(), [](double v) { return v >= 0; });
  if (answer.shape.size() == 1 && values.size() > 1 && io::is_floating(answer.dtype)) {
    const int64_t best = std::max_element(values.begin(), values.end()) - values.begin();
    if (positive && std::fabs(sum - 1) < 1e-3) return absl::StrFormat("%d (%.1f %%)", best, values[best] * 100);
    if (static_cast<int64_t>(values.size()) > kMostShown) return absl::StrFormat("largest %d (%.6g)", best, values[best]);
  }
  std::string text;
  for (size_t i = 0; i < values.size() && i < kMostShown; ++i)
    absl::StrAppend(&text, i == 0 ? "" : " ", absl::StrFormat("%.6g", values[i]));
  return values.size() > kMostShown ? text + " ..." : text;
}

// Two blocks of lines beside each other.
void print_beside(FILE* out, const std::vector<std::string>& left, const std::vector<std::string>& right) {
  size_t width = 0;
  for (const std::string& line : left) width = std::max(width, line.size());
  const size_t first = left.size() > right.size() ? (left.size() - right.size()) / 2 : 0;  // centred
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    std::string line = i < left.size() ? left[i] : "";
    if (i >= first && i - first < right.size())
      line += std::string(width - line.size() + (width > 0 ? 3 : 0), ' ') + right[i - first];
    line.erase(line.find_last_not_of(' ') + 1);
    std::fprintf(out, "%s\n", line.c_str());
  }
}

std::vector<double> read_values(const io::Dataset& dataset, int field, int64_t row) {
  const io::Field& kind = dataset.fields()[field];
  const int64_t size = core::dtype_bytes(kind.dtype);
  std::vector<char> bytes(kind.elements() * size);
  std::vector<double> values;
  if (!dataset.read(field, &row, 1, bytes.data()).ok()) return values;
  for (int64_t i = 0; i < kind.elements(); ++i) values.push_back(core::read_scalar(kind.dtype, bytes.data() + i * size));
  return values;
}

void show(FILE* out, const io::Dataset& dataset, const std::vector<Answer>& answers, const std::vector<int64_t>& rows,
          size_t inputs) {
  for (size_t s = 0; s < rows.size(); ++s) {
    std::vector<std::string> picture, text = {absl::StrCat("sample ", rows[s])};
    for (const Answer& answer : answers)
      text.push_back(absl::StrCat(answer.name, ": ", answer_text(answer, static_cast<int64_t>(s))));
    for (size_t f = 0; f < dataset.fields().size(); ++f) {
      const io::Field& field = dataset.fields()[f];
      if (picture.empty() && is_picture(field.shape)) {
        picture = draw_picture(field.shape, read_values(dataset, static_cast<int>(f), rows[s]));
      }
      if (f >= inputs && field.elements() == 1) {
        text.push_back(absl::StrFormat("%s: %.6g", field.name, read_values(dataset, static_cast<int>(f), rows[s])[0]));
      }
    }
    print_beside(out, picture, text);
    if (!picture.empty() && s + 1 < rows.size()) std::fprintf(out, "\n");
  }
}

// A column's head; in quotes where it would end early.
std::string csv_head(const std::string& name) {
  if (name.find_first_of(",\"") == std::string::npos) return name;
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

std::string csv_text(const std::vector<Answer>& answers, const std::vector<int64_t>& rows) {
  std::string text = "sample";
  for (const Answer& answer : answers) {
    for (int64_t i = 0; i < answer.elements(); ++i) {
      absl::StrAppend(&text, ",", csv_head(answer.elements() == 1 ? answer.name : absl::StrCat(answer.name, "[", i, "]")));
    }
  }
  for (size_t s = 0; s < rows.size(); ++s) {
    absl::StrAppend(&text, "\n", rows[s]);
    for (const Answer& answer : answers) {
      for (double value : answer.sample(static_cast<int64_t>(s))) {
        absl::StrAppend(&text, ",", absl::StrFormat("%.*g", answer.dtype == plan::DType::f64 ? 17 : 9, value));
      }
    }
  }
  return text + "\n";
}

absl::Status write_answers(const std::string& path, const std::vector<Answer>& answers, const std::vector<int64_t>& rows) {
  std::string bytes;
  if (absl::EndsWith(path, ".csv")) {
    bytes = csv_text(answers, rows);
  } else {
    std::vector<std::pair<std::string, io::NpyArray>> arrays;
    for (const Answer& answer : answers) {
      io::NpyArray array{answer.dtype, {static_cast<int64_t>(rows.size())}, answer.bytes};
      array.shape.insert(array.shape.end(), answer.shape.begin(), answer.shape.end());
      arrays.emplace_back(answer.name, std::move(array));
    }
    auto archive = io::npz_bytes(arrays, path);
    if (!archive.ok()) return archive.status();
    bytes = *std::move(archive);
  }
  return io::write_file_atomically(path, {{bytes.data(), bytes.size()}});
}

}  // namespace

absl::Status run_predict(Model* model, const Options& options, FILE* out) {
  if (!options.output.empty()) {
    if (absl::Status status = io::check_writable(options.output); !status.ok()) return status;
  }
  auto runner = GraphRunner::create(model, plan::GraphKind::infer);
  if (!runner.ok()) return runner.status();
  auto batch = choose_batch(**runner, options.batch);
  if (!batch.ok()) return batch.status();
  if (absl::Status status = load_trained(*model, options.load); !status.ok()) return status;
  // What only the eval graph reads is the truth to compare with, if the data have it.
  auto data =
      io::open_data(options.data, with_inputs_of(model->view(), plan::GraphKind::eval, (*runner)->inputs(), /*optional=*/true));
  if (!data.ok()) return data.status();
  const io::Dataset& dataset = data->test != nullptr ? *data->test : *data->train;
  auto rows = choose_samples(options, dataset);
  if (!rows.ok()) return rows.status();
  auto answers = infer(model, runner->get(), dataset, *rows, *batch);
  if (!answers.ok()) return answers.status();
  if (!options.output.empty()) return write_answers(options.output, *answers, *rows);
  show(out, dataset, *answers, *rows, (*runner)->inputs().size());
  return absl::OkStatus();
}

}  // namespace mxc::train
