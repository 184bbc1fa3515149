// See library.h. The library is one object: codegen/library.h makes the module, here are the files around it.
#include "driver/library.h"

#include "codegen/library.h"
#include "driver/aligned_plan.h"
#include "driver/library_fields.h"
#include "driver/library_header.h"
#include "driver/link.h"
#include "driver/target.h"
#include "driver/weights.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mxc::driver {

using frontend::Fault;

namespace {

// What runtime/embed's functions look like from outside; part of every library's build number.
constexpr const char* kInterface = "2";

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

// One object as a static library. The same object gives the same bytes: no time, no user.
std::string archiveOf(const std::string& object, const std::string& name, DiagnosticPrinter& printer) {
  llvm::NewArchiveMember member(llvm::MemoryBufferRef(object, name));
  auto archive = llvm::writeArchiveToBuffer(member, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                            /*Deterministic=*/true, /*Thin=*/false);
  if (archive) return (*archive)->getBuffer().str();
  return printer.error(Fault::internal, "the archive cannot be made: " + llvm::toString(archive.takeError())), "";
}

// "lenet" for out/liblenet.a.
std::string headerName(const std::string& output) {
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

HeaderFacts headerFacts(const std::vector<AlignedPlan>& plans, const std::vector<LibrarySet>& sets, const Target& target,
                        const CompileOptions& options, const std::string& output) {
  HeaderFacts facts;
  facts.prefix = cIdentifier(plans[0].view().find_fact("model"));
  facts.file = headerName(output);
  facts.library = llvm::sys::path::filename(output).str();
  facts.weights_beside = options.weights_beside;
  facts.hosted = target.hosted;
  std::string text = kInterface + std::string(options.weights_beside ? "file" : "embed");
  for (size_t i = 0; i < sets.size(); ++i) {
    facts.sets.push_back({plans[i].view(), sets[i].dims});
    text += sets[i].program.plan;
  }
  facts.build = hashOf(text);
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
  if ((options.emit == Emit::library || options.emit == Emit::shared) && options.params.empty())
    return fail("a library has trained parameters: name their file with --params");
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
  if (library && options.output == "-" && options.emit != Emit::header)
    return fail("a library comes with headers beside it: it cannot go to standard output");
  return true;
}

namespace {

// The library itself as --emit says it. Empty after an error, which has been printed.
std::string emitted(codegen::CompiledProgram& program, const HeaderFacts& facts, const CompileOptions& options, const WorkDirectory& work,
                    DiagnosticPrinter& printer) {
  std::string object = program.emit(codegen::Format::object);
  if (options.emit == Emit::object) return object;
  if (options.emit == Emit::library) return archiveOf(object, facts.prefix + ".o", printer);
  std::string file = work.file("library.o");
  writeOutput(file, object, printer);
  return printer.failed() ? "" : linkShared(file, facts.library, options, work, printer);
}

}  // namespace

void writeLibrary(std::vector<LibrarySet>& sets, const CompileOptions& options, const std::string& output, const WorkDirectory& work,
                  DiagnosticPrinter& printer) {
  const std::vector<AlignedPlan> plans = plansOf(sets);
  const Target* target = findTarget(options.target);
  if (!target) return printer.error(Fault::unsupported, "there are no embedded libraries for this machine; see --target");
  const HeaderFacts facts = headerFacts(plans, sets, *target, options, output);
  if (!checkSets(facts, printer)) return;
  if (options.emit == Emit::header) return writeOutput(output, libraryHeader(facts), printer);
  auto image = weightImage(facts.plan(), options.params, printer);
  auto bitcode = image ? readBitcode(*target, facts, options.multiversion, printer) : std::nullopt;
  if (!bitcode) return;
  codegen::LibraryParts parts;
  parts.prefix = facts.prefix;
  parts.bitcode = std::move(*bitcode);
  parts.weightsBytes = image->size();
  parts.weightsLayout = weightLayout(facts.plan());
  parts.build = facts.build;
  parts.fused = target->fused;
  parts.rounded = target->rounded;
  if (!facts.weights_beside) {
    parts.weightsFile = work.file("weights");
    writeOutput(parts.weightsFile, *image, printer);
    if (printer.failed()) return;
  }
  if (llvm::Error error = codegen::makeLibrary(versionsOf(sets), parts)) return printer.error(Fault::internal, llvm::toString(std::move(error)));
  std::string bytes = emitted(sets[0].program, facts, options, work, printer);
  if (printer.failed()) return;
  std::vector<std::pair<std::string, std::string>> files = {{beside(output, facts.file + ".h"), libraryHeader(facts)},
                                                            {beside(output, facts.file + ".hpp"), libraryWrapper(facts)},
                                                            {output, std::move(bytes)}};
  if (facts.weights_beside) files.insert(files.begin(), {beside(output, facts.file + ".weights"), weightFile(*image, parts.weightsLayout)});
  for (const auto& [path, content] : files)
    if (!printer.failed()) writeOutput(path, content, printer);
}

}  // namespace mxc::driver
