// See options.h. Parsing is CLI11's.
#include "runtime/train/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <sstream>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/io/hyper_range.h"
#include "runtime/io/printable.h"
#include "runtime/io/program_tensors.h"
#include "runtime/kv/compression.h"
#include "runtime/kv/data_transport.h"
#include "runtime/kv/kind.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/exit_code.h"
#include "runtime/train/schedule.h"

namespace mxc::train {
namespace {

constexpr char kDataHelp[] =
    "where the data come from: images:DIR, mnist:DIR, cifar10:DIR, cifar100:DIR, csv:FILE?label=64, npz:FILE, text:FILE, "
    "random:COUNT; parameters after '?', for all of them: "
    "INPUT=FIELD, holdout=F, holdout_seed=K (docs/training.md has those of each kind)";

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

constexpr int64_t kMost = 1'000'000'000'000'000;  // of a count without a limit of its own

// Reads a whole number from `least` to `most`. CLI11's own reading stops at the ends of the type without a word.
template <typename T>
T read_integer(const std::string& flag, const std::string& text, T least, T most) {
  T value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return value;
  throw CLI::ValidationError(
      flag, absl::StrCat("expected a whole number from ", least, " to ", most, ", not '", io::printable(text, io::kMostShown), "'"));
}

template <typename T, typename Place>
void add_integer(CLI::App* verb, const std::string& flag, T least, T most, Place* place, const std::string& help) {
  verb->add_option_function<std::string>(
          flag, [=](const std::string& text) { *place = read_integer<T>(flag, text, least, most); }, help)
      ->type_name("NUMBER");
}

// An option that names something: it cannot be empty.
CLI::Option* add_name(CLI::App* verb, const std::string& flag, std::string* place, const std::string& help) {
  return verb->add_option_function<std::string>(
      flag,
      [=](const std::string& text) {
        if (text.empty()) throw CLI::ValidationError(flag, "expected a name, not ''");
        *place = text;
      },
      help);
}

void add_threads(CLI::App* verb, Options* options) {
  add_integer<int>(verb, "--threads", 1, 4096, &options->threads,
                   "threads to compute with (default: one per CPU); the results do not depend on it");
  verb->add_option_function<std::string>(
          "--engine", [options](const std::string& kind) { options->naive = kind == "naive"; },
          "threaded (default): batches load while steps run; or naive: one operation after the other")
      ->check(CLI::IsMember({"threaded", "naive"}))
      ->type_name("KIND");
}

void add_hypers(CLI::App* verb, const core::PlanView& view, Options* options) {
  for (const plan::Hyper& hyper : view.hypers()) {
    const std::string name = view.text(hyper.name);
    if (io::is_internal_hyper(name)) continue;
    std::ostringstream help;
    help << "hyper-parameter (default " << hyper.default_value << ")";
    const auto take = [options, name, dtype = view.buffer(hyper.buffer).dtype, compiled = hyper.default_value](const double& value) {
      if (const std::string fault = io::hyper_fault(name, dtype, compiled, value); !fault.empty()) {
        throw CLI::ValidationError(flag_of(name), fault);
      }
      options->hypers[name] = value;
    };
    verb->add_option_function<double>(flag_of(name), take, help.str())->type_name("NUMBER");
  }
}

void add_train(CLI::App* app, const core::PlanView& view, Options* options) {
  CLI::App* verb = app->add_subcommand("train", "train the model and save it");
  verb->callback([options] { options->verb = Verb::train; });
  add_name(verb, "--data", &options->data, kDataHelp)->required()->type_name("SOURCE");
  add_name(verb, "--test-data", &options->test_data, "data to test on after each epoch (default: the test part of --data)")
      ->type_name("SOURCE");
  add_integer<int64_t>(verb, "--epochs", 1, kMostEpochs, &options->epochs, "passes over the data, in the whole training (default 10)");
  add_integer<int64_t>(verb, "--steps", 1, kMost, &options->steps, "stop after this many steps of the whole training");
  add_integer<int64_t>(verb, "--batch", 1, kMost, &options->batch,
                       "samples in a step, at most what the model was compiled for (the default)");
  add_integer<int64_t>(verb, "--shards", 1, kMostShards, &options->shards,
                       "of a step, each with a batch of its own; they decide the result, however many processes they are spread over (default: one a "
                       "process)");
  verb->add_option_function<std::string>(
          "--kvstore",
          [options](const std::string& kind) {
            if (auto parsed = kv::parse_kind(kind); !parsed.ok()) throw CLI::ValidationError("--kvstore", std::string(parsed.status().message()));
            options->kvstore = kind;
          },
          "how the processes of a job, started by mxc launch or another launcher, train together: dist_sync, dist_bounded:STEPS or dist_async; or "
          "local, for one alone")
      ->type_name("KIND");
  verb->add_option_function<std::string>(
          "--kvstore-local", [options](const std::string& model) { options->local = model; },
          "what becomes of the gradients of a process's shards: sync (the default) adds them up before they leave; async, with --kvstore dist_async, makes "
          "each an update of its own")
      ->check(CLI::IsMember({"sync", "async"}).description(""))
      ->type_name("sync|async");
  add_integer<int64_t>(verb, "--servers", 1, kMostShards, &options->servers,
                       "how many of the job's processes hold parameters and update them; the results do not depend on it (default: all)");
  verb->add_option_function<std::string>(
          "--compress",
          [options](const std::string& text) {
            if (auto parsed = kv::parse_compression(text); !parsed.ok()) throw CLI::ValidationError("--compress", std::string(parsed.status().message()));
            options->compress = text;
          },
          "fewer bytes between processes: fp16, bf16, 2bit, or topk:PART, the largest of each shard's gradients; what is left out is added to the next step's")
      ->type_name("METHOD");
  verb->add_option_function<std::string>(
          "--transport",
          [options](const std::string& name) {
            if (absl::Status status = kv::check_data_transport(name); !status.ok()) throw CLI::ValidationError("--transport", std::string(status.message()));
            options->transport = name;
          },
          "what carries gradients and parameters between processes: zeromq (the default); tcp, which is quicker and never encrypted; or mpi, where mpirun or srun has started them "
          "(mpi:FILE: by that plug-in)")
      ->type_name("NAME");
  verb->add_option_function<std::string>(
          "--shared-memory", [options](const std::string& word) { options->shared_memory = word == "on"; },
          "whether arrays between processes of one machine go through its memory: on (the default) or off")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->type_name("on|off");
  verb->add_option_function<std::string>(
          "--machine-sums", [options](const std::string& word) { options->machine_sums = word; },
          "whether the processes of a machine add up their gradients before these leave it, and bring values once for all of them: auto (the default), where the "
          "job can; on, or end with an error; or off")
      ->check(CLI::IsMember({"auto", "on", "off"}).description(""))
      ->type_name("auto|on|off");
  add_integer<uint64_t>(verb, "--seed", 0, std::numeric_limits<uint64_t>::max(), &options->seed,
                        "of the initial parameters, the order of the samples and random operators (default 0)");
  verb->add_option(
      "--schedule", options->schedule,
      "of the learning rate: constant, step:EVERY:FACTOR (EVERY in epochs), exp:FACTOR (per epoch), cosine[:FLOOR], poly[:POWER]");
  add_integer<int64_t>(verb, "--warmup", 0, kMost, &options->warmup,
                       "steps over which the learning rate rises linearly (default 0)");
  add_name(verb, "--optimizer", &options->optimizer, "must be the one that the model was compiled with");
  add_hypers(verb, view, options);
  add_threads(verb, options);
  verb->add_flag("--check-finite", options->check_finite,
                 "end the training when a tensor is NaN or infinite, and name it; slower, and free when not asked for");
  add_name(verb, "--log", &options->log, "write what happens as lines of JSON")->type_name("FILE");
  add_name(verb, "--trace", &options->trace, "write what ran when, in the format of chrome://tracing")->type_name("FILE");
  add_name(verb, "--save", &options->save, "where the trained model goes (default " + io::program_name(view) + ".safetensors)")
      ->type_name("FILE");
  add_name(verb, "--checkpoint-dir", &options->checkpoint_dir, "also keep a checkpoint of every epoch here")->type_name("DIR");
  add_name(verb, "--resume", &options->resume, "go on from a checkpoint, bit for bit as if never interrupted")->type_name("FILE");
}

void add_load(CLI::App* verb, const core::PlanView& view, Options* options) {
  add_name(verb, "--load", &options->load, "the trained model")->default_str(io::program_name(view) + ".safetensors")->type_name("FILE");
  add_name(verb, "--data", &options->data, kDataHelp)->required()->type_name("SOURCE");
  add_integer<int64_t>(verb, "--batch", 1, kMost, &options->batch, "samples in a run");
  add_threads(verb, options);
}

void add_predict(CLI::App* app, const core::PlanView& view, Options* options) {
  CLI::App* verb =
      app->add_subcommand("predict", "show the answers for some samples (of the test part of the data, if there is one)");
  verb->callback([options] { options->verb = Verb::predict; });
  add_load(verb, view, options);
  const auto take = [options](const std::vector<std::string>& numbers) {
    for (const std::string& text : numbers) options->samples.push_back(read_integer<int64_t>("--samples", text, 0, kMost));
  };
  CLI::Option* samples = verb->add_option_function<std::vector<std::string>>("--samples", take, "which ones, by number from 0")
                             ->delimiter(',')
                             ->type_name("NUMBER,...");
  add_integer<int64_t>(verb, "--count", 1, kMost, &options->count, "the first so many (default 5)");
  verb->get_option("--count")->excludes(samples);
  add_name(verb, "--output", &options->output, "write the outputs to FILE.npz or FILE.csv instead of showing them")
      ->type_name("FILE");
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// How many letters must be put in, taken out or replaced to make `b` of `a`.
size_t letters_apart(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t before = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = before + (a[i] == b[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({replaced, before + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

// The error for a first word that is no verb; empty if it is one, or a flag.
std::string fault_of_verb(const std::string& word) {
  const std::vector<std::string> verbs = {"train", "eval", "predict", "info"};
  if (word.empty() || word[0] == '-' || absl::c_linear_search(verbs, word)) return "";
  std::string nearest;
  size_t least = 4;  // further apart is no slip
  for (const std::string& verb : verbs) {
    const size_t apart = absl::StartsWith(word, verb) ? 1 : letters_apart(word, verb);
    if (apart < least) nearest = verb;
    least = std::min(least, apart);
  }
  return absl::StrCat("there is no verb '", word, "'", nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
                      "; verbs: ", absl::StrJoin(verbs, ", "));
}

// The error for values that this program cannot take, whatever the data: empty if there is none.
std::string fault_of_values(const core::PlanView& view, const Options& options) {
  if (options.verb == Verb::info) return "";
  const plan::GraphKind kinds[] = {plan::GraphKind::train, plan::GraphKind::eval, plan::GraphKind::infer};
  const uint32_t graph = view.find_graph(kinds[static_cast<int>(options.verb)]);
  const int64_t most = graph == plan::kNone ? 0 : view.graph(graph).batch;
  if (options.batch.has_value() && most > 0 && *options.batch > most) {
    return absl::StrCat("--batch ", *options.batch, ": the model was compiled for at most ", most);
  }
  const std::string compiled = io::program_fact(view, "optimizer");
  if (!options.optimizer.empty() && options.optimizer != compiled) {
    return absl::StrCat("--optimizer ", options.optimizer, ": this program was compiled with '", compiled, "'; recompile: ",
                        io::recompile_command(view, options.optimizer));
  }
  if (options.schedule.has_value()) {
    if (auto schedule = parse_schedule(*options.schedule); !schedule.ok()) {
      return absl::StrCat("--schedule ", *options.schedule, ": ", schedule.status().message());
    }
  }
  if (!options.output.empty() && !absl::EndsWith(options.output, ".npz") && !absl::EndsWith(options.output, ".csv")) {
    return absl::StrCat("--output ", options.output, ": the name must end in .npz or .csv");
  }
  return "";
}

}  // namespace

int parse_options(int argc, const char* const* argv, const core::PlanView& view, std::string* out, std::string* error,
                  Options* options) {
  const std::string name = io::program_name(view);
  CLI::App app(name + ": a model compiled by mxc", name);
  app.set_version_flag("--version", name + " (compiled by " + io::program_fact(view, "compiler", "mxc") + ")");
  app.require_subcommand(1);
  add_train(&app, view, options);
  CLI::App* eval = app.add_subcommand("eval", "loss and metrics over the test part of the data (or all of it, if there is none)");
  eval->callback([options] { options->verb = Verb::eval; });
  add_load(eval, view, options);
  add_predict(&app, view, options);
  CLI::App* info = app.add_subcommand("info", "what the program holds");
  info->callback([options] { options->verb = Verb::info; });
  info->add_flag("--json", options->json, "as JSON");
  if (argc > 1 && !(*error = fault_of_verb(argv[1])).empty()) return kExitCommandLine;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    std::ostringstream said, complaint;
    if (app.exit(fault, said, complaint) == 0) {
      *out = said.str();
      return kExitOk;
    }
    *error = one_line(fault.what()) + "; see " + name + " --help";
    return kExitCommandLine;
  }
  if (!(*error = fault_of_values(view, *options)).empty()) return kExitCommandLine;
  if (options->load.empty()) options->load = name + ".safetensors";
  if (options->save.empty()) options->save = name + ".safetensors";
  return -1;
}

}  // namespace mxc::train
