// See library.h. The library is one object: codegen/library.h makes the module, here are the files around it.
#include "driver/library.h"

#include "codegen/library.h"
#include "driver/aligned_plan.h"
#include "driver/archive.h"
#include "driver/c_names.h"
#include "driver/library_fields.h"
#include "driver/library_header.h"
#include "driver/link.h"
#include "driver/target.h"
#include "driver/weights.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

// What runtime/embed's functions look like from outside; part of every library's build number.
constexpr const char* kInterface = "3";

// The parts of runtime/embed that a library has.
std::vector<std::string> partsOf(const HeaderFacts& facts, const Target& target, bool multiversion) {
  std::vector<std::string> parts = {"open", "run", "sets", "exports"};
  auto add = [&](bool wanted, std::initializer_list<const char*> more) {
    if (wanted) parts.insert(parts.end(), more.begin(), more.end());
  };
  add(facts.hosted, {"create", "exports_hosted"});
  add(facts.sets.size() > 1, {"exports_sets"});
  add(!facts.trains(), {"no_training"});
  add(facts.trains(), {"train", "state", "exports_train"});
  add(facts.trains() && facts.sets.size() > 1, {"exports_train_sets"});
  add(facts.weights_beside || facts.trains(), {"weights"});
  add(facts.weights_beside, {"exports_weights"});
  add(facts.hosted && facts.weights_beside, {"weights_file", "exports_weights_hosted"});
  add(!target.fused, {"soft_fma"});
  add(!target.rounded, {"soft_floor"});
  add(!multiversion, {"choose_one"});
  add(multiversion, {"choose_x86", "x86_level"});
  return parts;
}

// Their bitcode for a target. Nothing after an error, which has been printed.
std::optional<std::vector<std::string>> readBitcode(const Target& target, const HeaderFacts& facts, bool multiversion,
                                                    DiagnosticPrinter& printer) {
  std::string folder = installRoot() + "/lib/mxc/embed/" + target.name;
  std::vector<std::string> bitcode;
  for (const std::string& part : partsOf(facts, target, multiversion)) {
    auto bytes = readWholeFile(folder + "/" + part + ".bc");
    if (!bytes) return printer.error(Fault::internal, "runtime/embed is not installed: " + llvm::toString(bytes.takeError())), std::nullopt;
    bitcode.push_back(std::move(*bytes));
  }
  return bitcode;
}

// "lenet" for out/liblenet.a.
std::string headerName(llvm::StringRef output) {
  llvm::StringRef stem = llvm::sys::path::stem(output);
  stem.consume_front("lib");
  return stem.empty() ? "library" : stem.str();
}

std::string beside(const std::string& output, const std::string& name) {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(output));
  llvm::sys::path::append(path, name);
  return path.str().str();
}

// Plans that can be looked at.
std::vector<AlignedPlan> plansOf(const std::vector<LibrarySet>& sets) {
  std::vector<AlignedPlan> plans;
  for (const LibrarySet& set : sets) plans.emplace_back(set.program.plan);
  return plans;
}

// What a context takes; `whole`: would take if all layers were trained.
uint64_t bytesOf(const std::vector<LibrarySet>& sets, bool whole) {
  std::vector<AlignedPlan> plans;
  for (const LibrarySet& set : sets) plans.emplace_back(whole && !set.all_trained.empty() ? set.all_trained : set.program.plan);
  std::vector<core::PlanView> views;
  for (const AlignedPlan& plan : plans) views.push_back(plan.view());
  return contextBytes(views);
}

// How many blocks lie in each other, at most, in this one among them.
uint64_t nestingOf(const core::PlanView& view, const plan::Block& block) {
  uint64_t within = 0;
  for (const plan::Item& item : view.items(block))
    if (item.kind == plan::ItemKind::block) within = std::max(within, nestingOf(view, view.block(item.index)));
  return 1 + within;
}

uint64_t nestingOf(const std::vector<AlignedPlan>& plans) {
  uint64_t most = 1;
  for (const AlignedPlan& plan : plans)
    for (const plan::Graph& graph : plan.view().graphs()) most = std::max(most, nestingOf(plan.view(), plan.view().block(graph.block)));
  return most;
}

HeaderFacts headerFacts(const std::vector<AlignedPlan>& plans, const std::vector<LibrarySet>& sets, const Target& target,
                        const CompileOptions& options, const std::string& output) {
  HeaderFacts facts;
  facts.prefix = libraryPrefix(plans[0].view().find_fact("model"));
  facts.file = output == "-" ? facts.prefix : headerName(output);
  facts.library = options.emit == Emit::header ? "lib" + facts.file + ".a" : llvm::sys::path::filename(output).str();
  facts.weights_beside = options.weights_beside;
  facts.hosted = target.hosted;
  std::vector<core::PlanView> views;
  for (size_t i = 0; i < sets.size(); ++i) {
    facts.sets.push_back({plans[i].view(), sets[i].dims});
    views.push_back(plans[i].view());
  }
  facts.build = buildNumber(views, options.weights_beside);
  facts.arena_bytes = bytesOf(sets, /*whole=*/false);
  facts.all_trained_bytes = bytesOf(sets, /*whole=*/true);
  return facts;
}

// The processors' programs, all sets of each.
std::vector<codegen::LibraryVersion> versionsOf(std::vector<LibrarySet>& sets) {
  std::vector<codegen::LibraryVersion> versions(1 + sets[0].variants.size());
  for (size_t v = 0; v < versions.size(); ++v) {
    versions[v].suffix = v == 0 ? "" : "_v" + std::to_string(2 + v);
    for (LibrarySet& set : sets) versions[v].sets.push_back(v == 0 ? &set.program : &set.variants[v - 1]);
  }
  return versions;
}

// Weights are there once: all sets want the same.
bool checkSets(const HeaderFacts& facts, DiagnosticPrinter& printer) {
  for (const SizeSet& set : facts.sets) {
    if (weightLayout(set.view) == weightLayout(facts.plan())) continue;
    std::string named;
    for (const auto& [name, size] : set.dims) named += (named.empty() ? "" : ",") + name + "=" + std::to_string(size);
    return printer.error(Fault::input, "--dims " + named + ": the model has other parameters with these sizes than with those of the first set"), false;
  }
  return true;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> libraryFacts(const CompileOptions& options, const std::map<std::string, int64_t>& dims) {
  std::string flags = "-O" + std::to_string(options.level), sizes;
  auto add = [&](bool given, const std::string& flag) { flags += given ? " " + flag : ""; };
  add(!options.target.empty(), "--target=" + options.target);
  add(!options.multiversion, "-mcpu=" + options.cpu);
  add(options.multiversion, "--multiversion");
  add(options.weights_beside, "--weights=file");
  add(options.train, options.trained.empty() ? "--train" : "--train=" + llvm::join(options.trained, ","));
  add(options.f64, "--dtype=f64");
  add(!options.optimizer.empty(), "--optimizer=" + options.optimizer);
  add(options.memory_limit_bytes > 0, "--memory-limit=" + std::to_string(options.memory_limit_bytes));
  for (const auto& [name, size] : options.dims) add(true, "--dim " + name + "=" + std::to_string(size));
  for (const std::string& define : options.defines) add(true, "-D" + define);
  for (const auto& [name, size] : dims)
    if (name != "batch") sizes += (sizes.empty() ? "" : ",") + name + "=" + std::to_string(size);
  std::vector<std::pair<std::string, std::string>> facts = {{"weights", options.weights_beside ? "file" : "embed"}, {"flags", flags}};
  if (!sizes.empty()) facts.push_back({"sizes", sizes});
  return facts;
}

uint64_t buildNumber(const std::vector<core::PlanView>& sets, bool weights_beside) {
  std::string text = kInterface + std::string(weights_beside ? "file" : "embed");
  for (const core::PlanView& set : sets) text.append(reinterpret_cast<const char*>(&set.header()), set.header().bytes);
  return hashOf(text);
}

std::vector<NamedFile> libraryFiles(const CompileOptions& options, const std::string& output) {
  if (!isLibrary(options)) return {};
  if (options.emit == Emit::header) return {{"the header", output}};
  std::vector<NamedFile> files = {{"the library", output},
                                  {"the header", beside(output, headerName(output) + ".h")},
                                  {"the C++ header", beside(output, headerName(output) + ".hpp")}};
  if (options.weights_beside) files.push_back({"the library's weights", beside(output, headerName(output) + ".weights")});
  return files;
}

bool isLibrary(const CompileOptions& options) {
  switch (options.emit) {
    case Emit::header:
    case Emit::library:
    case Emit::shared: return true;
    case Emit::object: return !options.params.empty();
    default: return false;
  }
}

bool checkLibraryOptions(const CompileOptions& options, DiagnosticPrinter& printer) {
  auto fail = [&](const std::string& message) { return printer.error(Fault::usage, message), false; };
  bool library = isLibrary(options);
  if (!options.params.empty() && (options.emit == Emit::header || !library)) return fail("--params goes with --emit=lib, shared and obj alone");
  if (options.weights_beside && !library) return fail("--weights=file goes with libraries alone: --emit=lib, shared, header, or obj with --params");
  bool between = options.emit == Emit::llvm || options.emit == Emit::assembly;
  if (!options.target.empty() && !library && !between) return fail("--target goes with libraries, and with --emit=llvm and asm");
  if (!options.target.empty() && options.emit == Emit::shared)
    return fail("--emit=shared links with this machine's compiler: make --emit=lib for " + options.target + " and link it with that target's");
  if (options.train && !library) return fail("--train goes with libraries alone: --emit=lib, shared, header, or obj with --params");
  if (!options.sets.empty() && !library) return fail("--dims goes with libraries alone, which can hold several sets of sizes; --dim changes a program's");
  if (options.multiversion && !library) return fail("--multiversion goes with libraries alone");
  const Target* target = findTarget(options.target);
  if (options.multiversion && (options.cpu != "native" || !target || std::string_view(target->name) != "x86_64-linux-gnu"))
    return fail("--multiversion is of x86-64 alone and chooses the processors itself: it goes with no -mcpu and no other --target");
  if (library && options.check_finite) return fail("--check-finite is a matter of the standard trainer, which a library does not have");
  llvm::sys::fs::file_status status;
  bool device = !options.output.empty() && !llvm::sys::fs::status(options.output, status) && llvm::sys::fs::is_other(status);
  if (library && (options.output == "-" || device) && options.emit != Emit::header)
    return fail("a library comes with headers beside it: it cannot go to " + std::string(device ? "a device" : "standard output"));
  if (library && options.output.find_first_of("\"\\\n") != std::string::npos)
    return fail("-o " + options.output + ": the library's headers include each other by a name in which '\"', '\\' and ends of lines have no place");
  return true;
}

namespace {

// The library itself as --emit says it, from its object: a file in `work`. Nothing after an error, which has been printed.
std::optional<Content> emitted(const std::string& object, const HeaderFacts& facts, const CompileOptions& options, const WorkDirectory& work,
                               DiagnosticPrinter& printer) {
  if (options.emit == Emit::library) return archiveOf(object, facts.prefix.substr(0, 13) + ".o", printer);
  std::string file = options.emit == Emit::shared ? linkShared(object, facts.library, options, work, printer) : object;
  if (file.empty()) return std::nullopt;
  Content content;
  content.addFile(file);
  return content;
}

}  // namespace

void addLibrary(std::vector<LibrarySet>& sets, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                OutputSet& outputs, DiagnosticPrinter& printer) {
  const std::vector<AlignedPlan> plans = plansOf(sets);
  const Target* target = findTarget(options.target);
  if (!target) return printer.error(Fault::unsupported, "there are no embedded libraries for this machine; see --target");
  HeaderFacts facts = headerFacts(plans, sets, *target, options, output);
  if (!checkSets(facts, printer)) return;
  const bool header_alone = options.emit == Emit::header;
  const std::string image = work.file("weights"), object = work.file("library.o");
  auto bytes = header_alone ? std::optional<uint64_t>(0) : writeWeightImage(facts.plan(), options.params, image, printer);
  auto bitcode = bytes ? readBitcode(*target, facts, options.multiversion, printer) : std::nullopt;
  if (!bitcode) return;
  codegen::LibraryParts parts;
  parts.prefix = facts.prefix;
  parts.bitcode = std::move(*bitcode);
  parts.weightsBytes = *bytes;
  parts.weightsLayout = weightLayout(facts.plan());
  parts.build = facts.build;
  parts.fused = target->fused;
  parts.rounded = target->rounded;
  parts.nesting = nestingOf(plans);
  if (!facts.weights_beside && !header_alone) parts.weightsFile = image;
  if (llvm::Error error = codegen::makeLibrary(versionsOf(sets), parts)) return printer.error(Fault::internal, llvm::toString(std::move(error)));
  auto stack = codegen::writeLibraryObject(sets[0].program, parts, object);
  if (!stack) return printer.error(Fault::input, llvm::toString(stack.takeError()));
  facts.stack_bytes = *stack;
  if (header_alone) return outputs.add(output, libraryHeader(facts));
  auto library = emitted(object, facts, options, work, printer);
  if (!library) return;
  outputs.add(beside(output, facts.file + ".h"), libraryHeader(facts));
  outputs.add(beside(output, facts.file + ".hpp"), libraryWrapper(facts));
  if (facts.weights_beside) {
    auto weights = weightFile(image, parts.weightsLayout, printer);
    if (weights) outputs.add(beside(output, facts.file + ".weights"), std::move(*weights));
  }
  outputs.add(output, std::move(*library));
}

}  // namespace mxc::driver
