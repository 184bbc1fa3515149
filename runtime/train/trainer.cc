// See trainer.h.
#include "runtime/train/trainer.h"

#include <poll.h>

#include <exception>
#include <string>

#include "runtime/engine/core_status.h"
#include "runtime/io/printable.h"
#include "runtime/train/evaluate.h"
#include "runtime/train/exit_code.h"
#include "runtime/train/ignored_signal.h"
#include "runtime/train/info.h"
#include "runtime/train/model.h"
#include "runtime/train/options.h"
#include "runtime/train/predict.h"
#include "runtime/train/training.h"

namespace mxc::train {
namespace {

int run_verb(const plan::Program& program, const core::PlanView& view, const Options& options, FILE* out, absl::Status* status) {
  if (options.verb == Verb::info) {
    std::fputs((options.json ? info_json(view) : info_text(view)).c_str(), out);
    return kExitOk;
  }
  auto model = Model::open(program, options.threads, options.naive);
  if (!model.ok()) {
    *status = model.status();
    return exit_code(*status);
  }
  if (options.verb == Verb::train) {
    auto interrupted = run_train(model->get(), options, out);
    *status = interrupted.status();
    return interrupted.ok() && *interrupted ? kExitInterrupted : exit_code(*status);
  }
  *status = options.verb == Verb::eval ? run_eval(model->get(), options, out) : run_predict(model->get(), options, out);
  return exit_code(*status);
}

bool reader_has_left(FILE* out) {
  pollfd end = {fileno(out), POLLOUT, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

// Output that could not be written is an error. A training's is a display: if its reader has left (`train | head`), nothing is lost.
bool output_is_lost(FILE* out, Verb verb) {
  const bool whole = std::fflush(out) == 0 && std::ferror(out) == 0;
  return !whole && !(verb == Verb::train && reader_has_left(out));
}

int run(int argc, char** argv, const plan::Program& program, FILE* out, std::string* name, std::string* error) {
  core::PlanView view;
  if (absl::Status status = engine::from_core(core::PlanView::open(program, &view)); !status.ok()) {
    *error = std::string(status.message());
    return exit_code(status);
  }
  if (const char* model = view.find_fact("model")) *name = model;
  Options options;
  std::string said;
  const int code = parse_options(argc, argv, view, &said, error, &options);
  std::fputs(said.c_str(), out);
  absl::Status status;
  const int result = code >= 0 ? code : run_verb(program, view, options, out, &status);
  if (!status.ok()) *error = std::string(status.message());
  if (status.code() == absl::StatusCode::kUnimplemented) *error = "unsupported: " + *error;
  if (result != kExitOk || !output_is_lost(out, options.verb)) return result;
  *error = "the output could not be written";
  return kExitUserError;
}

}  // namespace

int trainer_main(int argc, char** argv, const plan::Program& program, FILE* out, FILE* err) {
  const IgnoredSignal too_large(SIGXFSZ);  // writes beyond the limit of a file's size fail instead
  std::string name = "model", error;
  int code = kExitInternal;
  try {
    code = run(argc, argv, program, out, &name, &error);
  } catch (const std::bad_alloc&) {
    error = "out of memory";
    code = kExitUserError;
  } catch (const std::exception& fault) {
    error = std::string("internal error: ") + fault.what();
  }
  if (!error.empty()) std::fprintf(err, "%s: error: %s\n", name.c_str(), io::printable(error).c_str());
  return code;
}

}  // namespace mxc::train
