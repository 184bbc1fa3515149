// mxc-stage: the process that a model is staged in. It loads the model's shared object, whose calls of the DSL are answered by
// this program, calls mxc_stage_<name> and writes the symbol JSON.
//
//   mxc-stage MODEL.so NAME RESULT PROGRESS [DIM=SIZE ...]
//
// RESULT gets the JSON, RESULT.loaded the paths of the files that the model has loaded, and the exit code is 0; or, with exit code 1, a description of what was thrown:
//   {"error": message, "at": [file, line, column], "word": operation there, "frames": [...], "note": text, "note_at": [file, line, column]}
// where "at" is null if the place is not known, and frames are return addresses in MODEL.so, innermost first.
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <typeinfo>

#include "frontend/dsl/json.h"
#include "frontend/stage/missing_call.h"
#include "frontend/stage/progress.h"

namespace {

using mxc::Here;
using mxc::ModelError;
using mxc::detail::jsonString;
using mxc::detail::Session;
using mxc::frontend::Progress;

// Keeps the last operation's place in the shared page.
class PageWatcher : public mxc::detail::Watcher {
 public:
  explicit PageWatcher(Progress& page) : page_(page) {}
  void at(const std::string& op, Here where) override {
    page_.line = 0;
    std::snprintf(page_.op, sizeof page_.op, "%s", op.c_str());
    std::snprintf(page_.file, sizeof page_.file, "%s", where.file_name());
    page_.column = where.column();
    page_.line = where.line();
  }

 private:
  Progress& page_;
};

Progress* mapProgress(const char* path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* page = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return page == MAP_FAILED ? nullptr : static_cast<Progress*>(page);
}

// Load address and end of the object that `address` lies in.
std::pair<uintptr_t, uintptr_t> rangeOf(const void* address) {
  struct Search {
    uintptr_t wanted;
    std::pair<uintptr_t, uintptr_t> found;
  } search{reinterpret_cast<uintptr_t>(address), {0, 0}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        uintptr_t end = info->dlpi_addr;
        bool inside = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          end = std::max(end, begin + segment.p_memsz);
          inside |= search.wanted >= begin && search.wanted < begin + segment.p_memsz;
        }
        if (inside) search.found = {info->dlpi_addr, end};
        return inside ? 1 : 0;
      },
      &search);
  return search.found;
}

std::string place(const char* file, unsigned line, unsigned column) {
  return "[" + jsonString(file) + ", " + std::to_string(line) + ", " + std::to_string(column) + "]";
}
std::string place(Here here) { return place(here.file_name(), here.line(), here.column()); }

void write(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
}

int writeError(const char* result, const std::string& message, const std::string& at, const std::string& rest = "") {
  write(result, "{\"error\": " + jsonString(message) + ", \"at\": " + at + rest + "}\n");
  return 1;
}

// What runtimeIsMissing needs, set before any of the file's code runs.
struct Output {
  const char* result;
  const Progress* page;
} output;

// Runs in the place of each function that the file calls and only a program has.
void runtimeIsMissing() {
  constexpr int kDepth = 128;
  void* stack[kDepth];
  const auto [begin, end] = rangeOf(__builtin_return_address(0));
  std::string frames;
  for (int i = 0, count = backtrace(stack, kDepth); i < count; ++i) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(stack[i]);
    if (address > begin && address <= end) frames += (frames.empty() ? "" : ", ") + std::to_string(address - begin);
  }
  const char* message = output.page->phase == Progress::loading
                            ? "a global variable needs the runtime, which only a program has: make it in main, or as a static variable of "
                              "a function that main calls"
                            : "a model's code cannot use the runtime, which only a program has: arrays and executors are for main and what "
                              "it calls";
  _exit(writeError(output.result, message, "null", ", \"frames\": [" + frames + "]"));
}

// The name of the exception that is being handled, as C++ writes it.
std::string exceptionName() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (!type) return "an unknown exception";
  int status = 0;
  char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string text = status == 0 && name ? name : type->name();
  std::free(name);
  return text;
}

// "; it has batch"
std::string listed(const std::map<std::string, int64_t>& dims) {
  std::string text;
  for (const auto& [name, size] : dims) text += (text.empty() ? "; it has " : ", ") + name;
  return text;
}

// Calls the model's function and writes what came of it.
int describe(void (*function)(), Session& session, const char* result, Progress& page) {
  auto last = [&] { return page.line ? place(page.file, page.line, page.column) : std::string("null"); };
  auto word = [&] {
    std::string frames;
    for (uintptr_t frame : session.callers) frames += (frames.empty() ? "" : ", ") + std::to_string(frame);
    return ", \"word\": " + jsonString(page.op) + ", \"frames\": [" + frames + "]";
  };
  try {
    mxc::detail::SessionScope scope(session);
    function();
    for (const auto& [name, size] : session.dims)
      if (!session.used_dims.contains(name))
        return writeError(result, "--dim " + name + ": the model has no dimension of that name" + listed(session.used_dims), "null");
  } catch (const ModelError& error) {
    std::string note =
        error.note.empty() ? "" : ", \"note\": " + jsonString(error.note) + ", \"note_at\": " + place(error.note_where);
    if (error.where.line() == page.line && error.where.column() == page.column) note += word();  // a line can hold several
    return writeError(result, error.what(), place(error.where), note);
  } catch (const std::exception& error) {
    return writeError(result, "staging threw " + exceptionName() + ": " + error.what(), last(), word());
  } catch (...) {
    return writeError(result, "staging threw " + exceptionName(), last(), word());
  }
  write(result, mxc::detail::writeModel(session));
  std::string loaded;
  for (const std::string& path : session.loaded) loaded += path + "\n";
  write((result + std::string(".loaded")).c_str(), loaded);
  page.phase = Progress::done;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: mxc-stage MODEL.so NAME RESULT PROGRESS [DIM=SIZE ...]\n", stderr);
    return 2;
  }
  const char* result = argv[3];
  Progress* page = mapProgress(argv[4]);
  if (!page) return writeError(result, "cannot share memory with mxc", "null");

  output = {result, page};
  mxc::frontend::onMissingCall(runtimeIsMissing);
  void* object = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
  if (!object) return writeError(result, std::string("the model cannot be loaded: ") + dlerror(), "null");
  std::string name = argv[2];
  auto function = reinterpret_cast<void (*)()>(dlsym(object, ("mxc_stage_" + name).c_str()));
  auto info = static_cast<const mxc::detail::ModelInfo*>(dlsym(object, ("mxc_model_" + name).c_str()));
  if (!function || !info) return writeError(result, "there is no model '" + name + "'", "null");

  PageWatcher watcher(*page);
  Session session;
  session.model = name;
  session.place.file = info->file;
  session.place.line = info->line;
  session.place.column = 1;
  session.watcher = &watcher;
  session.code = rangeOf(reinterpret_cast<const void*>(function));
  for (int i = 5; i < argc; ++i) {
    std::string dim = argv[i];
    size_t equals = dim.find('=');
    session.dims[dim.substr(0, equals)] = std::atoll(dim.c_str() + equals + 1);
  }
  page->phase = Progress::describing;
  return describe(function, session, result, *page);
}
