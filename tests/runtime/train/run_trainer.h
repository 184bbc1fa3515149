// The trainer in process: a command line in, exit code and what it wrote out.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/train/trainer.h"
#include "tests/runtime/train/softmax_model.h"

namespace mxc::test {

struct Ran {
  int code;
  std::string out, err;
};

inline Ran run_trainer(const BuiltPlan& plan, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "softmax");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  char *out_text = nullptr, *err_text = nullptr;
  size_t out_bytes = 0, err_bytes = 0;
  FILE *out = open_memstream(&out_text, &out_bytes), *err = open_memstream(&err_text, &err_bytes);
  const plan::Program program = plan.program();
  Ran ran{train::trainer_main(static_cast<int>(arguments.size()), argv.data(), program, out, err), "", ""};
  std::fclose(out);
  std::fclose(err);
  ran.out.assign(out_text, out_bytes);
  ran.err.assign(err_text, err_bytes);
  std::free(out_text);
  std::free(err_text);
  return ran;
}

}  // namespace mxc::test
