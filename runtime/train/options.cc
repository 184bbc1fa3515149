// See options.h. Parsing is CLI11's.
#include "runtime/train/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "runtime/train/exit_code.h"

namespace mxc::train {
namespace {

constexpr char kDataHelp[] =
    "where the data come from: images:DIR, mnist:DIR, cifar10:DIR, cifar100:DIR, csv:FILE?label=64, npz:FILE, text:FILE, "
    "random:COUNT; parameters after '?', for all of them: "
    "INPUT=FIELD, holdout=F, holdout_seed=K (docs/training.md has those of each kind)";

std::string model_name(const core::PlanView& view) {
  const char* name = view.find_fact("model");
  return name == nullptr ? "model" : name;
}

std::string flag_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void add_threads(CLI::App* verb, Options* options) {
  verb->add_option("--threads", options->threads, "threads to compute with (default: one per CPU); the results do not depend on it")
      ->check(CLI::Range(1, 4096));
  verb->add_option_function<std::string>(
          "--engine", [options](const std::string& kind) { options->naive = kind == "naive"; },
          "threaded (default): batches load while steps run; or naive: one operation after the other")
      ->check(CLI::IsMember({"threaded", "naive"}))
      ->type_name("KIND");
}

void add_hypers(CLI::App* verb, const core::PlanView& view, Options* options) {
  for (const plan::Hyper& hyper : view.hypers()) {
    const std::string name = view.text(hyper.name);
    if (is_internal_hyper(name)) continue;
    std::ostringstream help;
    help << "hyper-parameter (default " << hyper.default_value << ")";
    verb->add_option_function<double>(
            flag_of(name), [options, name](const double& value) { options->hypers[name] = value; }, help.str())
        ->type_name("NUMBER");
  }
}

void add_train(CLI::App* app, const core::PlanView& view, Options* options) {
  CLI::App* verb = app->add_subcommand("train", "train the model and save it");
  verb->callback([options] { options->verb = Verb::train; });
  verb->add_option("--data", options->data, kDataHelp)->required()->type_name("SOURCE");
  verb->add_option("--test-data", options->test_data, "data to test on after each epoch (default: the test part of --data)")
      ->type_name("SOURCE");
  verb->add_option("--epochs", options->epochs, "passes over the data, in the whole training (default 10)")
      ->check(CLI::PositiveNumber);
  verb->add_option("--steps", options->steps, "stop after this many steps of the whole training")->check(CLI::PositiveNumber);
  verb->add_option("--batch", options->batch, "samples in a step, at most what the model was compiled for (the default)")
      ->check(CLI::PositiveNumber);
  verb->add_option("--seed", options->seed, "of the initial parameters, the order of the samples and random operators (default 0)");
  verb->add_option(
      "--schedule", options->schedule,
      "of the learning rate: constant, step:EVERY:FACTOR (EVERY in epochs), exp:FACTOR (per epoch), cosine[:FLOOR], poly[:POWER]");
  verb->add_option("--warmup", options->warmup, "steps over which the learning rate rises linearly (default 0)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--optimizer", options->optimizer, "must be the one that the model was compiled with");
  add_hypers(verb, view, options);
  add_threads(verb, options);
  verb->add_option("--log", options->log, "write what happens as lines of JSON")->type_name("FILE");
  verb->add_option("--trace", options->trace, "write what ran when, in the format of chrome://tracing")->type_name("FILE");
  verb->add_option("--save", options->save, "where the trained model goes (default " + model_name(view) + ".safetensors)")
      ->type_name("FILE");
  verb->add_option("--checkpoint-dir", options->checkpoint_dir, "also keep a checkpoint of every epoch here")->type_name("DIR");
  verb->add_option("--resume", options->resume, "go on from a checkpoint, bit for bit as if never interrupted")->type_name("FILE");
}

void add_load(CLI::App* verb, const core::PlanView& view, Options* options) {
  verb->add_option("--load", options->load, "the trained model")->default_str(model_name(view) + ".safetensors")->type_name("FILE");
  verb->add_option("--data", options->data, kDataHelp)->required()->type_name("SOURCE");
  verb->add_option("--batch", options->batch, "samples in a run")->check(CLI::PositiveNumber);
  add_threads(verb, options);
}

void add_predict(CLI::App* app, const core::PlanView& view, Options* options) {
  CLI::App* verb =
      app->add_subcommand("predict", "show the answers for some samples (of the test part of the data, if there is one)");
  verb->callback([options] { options->verb = Verb::predict; });
  add_load(verb, view, options);
  CLI::Option* samples = verb->add_option("--samples", options->samples, "which ones, by number from 0")
                             ->delimiter(',')
                             ->check(CLI::NonNegativeNumber);
  verb->add_option("--count", options->count, "the first so many (default 5)")->check(CLI::PositiveNumber)->excludes(samples);
  verb->add_option("--output", options->output, "write the outputs to FILE.npz or FILE.csv instead of showing them")
      ->type_name("FILE");
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

bool is_internal_hyper(const std::string& name) { return name == "step" || name == "seed"; }

int parse_options(int argc, const char* const* argv, const core::PlanView& view, std::string* out, std::string* error,
                  Options* options) {
  const std::string name = model_name(view);
  CLI::App app(name + ": a model compiled by mxc", name);
  const char* version = view.find_fact("compiler");
  app.set_version_flag("--version", name + " (compiled by " + (version == nullptr ? "mxc" : version) + ")");
  app.require_subcommand(1);
  add_train(&app, view, options);
  CLI::App* eval = app.add_subcommand("eval", "loss and metrics over the test part of the data (or all of it, if there is none)");
  eval->callback([options] { options->verb = Verb::eval; });
  add_load(eval, view, options);
  add_predict(&app, view, options);
  CLI::App* info = app.add_subcommand("info", "what the program holds");
  info->callback([options] { options->verb = Verb::info; });
  info->add_flag("--json", options->json, "as JSON");
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
  if (options->load.empty()) options->load = name + ".safetensors";
  if (options->save.empty()) options->save = name + ".safetensors";
  return -1;
}

}  // namespace mxc::train
