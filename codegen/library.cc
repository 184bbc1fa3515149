// makeLibrary: what changes in the module.
//   1. `mxc_embed_library`, a plan::Library, takes the place of the plan::Program; so it is for each set of sizes and each processor, and these
//      modules are linked into the first. `mxc_embed_sets` lists the sets.
//   2. The weights are a label in assembly with room for the file's bytes behind it, which writeLibraryObject copies there.
//   3. Where there is no instruction for a * b + c rounded once, or for floor, it is a call of runtime/embed's.
//   4. runtime/embed is linked in.
//   5. Its functions get the library's prefix; all else becomes internal, and what is not used goes.
#include "codegen/library.h"

#include <fstream>

#include "codegen/stack_need.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "runtime/core/plan.h"

using namespace mlir;

namespace mxc::codegen {
namespace {

constexpr StringRef kPublic = "mxc_embed_", kLibrary = "mxc_embed_library", kSets = "mxc_embed_sets", kWeights = "mxc_embed_weights";
constexpr StringRef kWeightsSection = ".rodata.weights";
constexpr size_t kPiece = 1 << 20;  // of a file that is copied, at a time

// Quoted, as assemblers read it.
std::string assemblerString(StringRef text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// The weights' label. An object for wasm is written from one piece of memory: there the assembler may as well read the file.
void addWeights(llvm::Module& module, const LibraryParts& parts) {
  std::string name = kWeights.str();
  bool wasm = llvm::Triple(module.getTargetTriple()).isWasm();
  std::string bytes = wasm ? ".incbin " + assemblerString(parts.weightsFile) : ".zero " + std::to_string(parts.weightsBytes);
  std::string section = wasm ? "\"\",@" : "\"a\",%progbits", object = wasm ? "@object" : "%object";
  module.appendModuleInlineAsm(".section " + kWeightsSection.str() + "," + section + "\n.type " + name + "," + object + "\n.p2align " +
                               std::to_string(llvm::Log2_64(plan::kAlign)) + "\n" + name + ":\n" + bytes + "\n.size " + name + ", " +
                               std::to_string(parts.weightsBytes) + (wasm ? "" : "\n.text"));
}

// What refers to the weights from outside the assembly; null without weights.
llvm::Constant* weightsOf(llvm::Module& module, const LibraryParts& parts) {
  llvm::LLVMContext& context = module.getContext();
  if (parts.weightsFile.empty()) return llvm::ConstantPointerNull::get(llvm::PointerType::get(context, 0));
  auto* weights =
      new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(context), true, llvm::GlobalValue::ExternalLinkage, nullptr, kWeights);
  weights->setDSOLocal(true);
  return weights;
}

void addLibrary(llvm::Module& module, StringRef programSymbol, StringRef symbol, const LibraryParts& parts) {
  auto* i64 = llvm::Type::getInt64Ty(module.getContext());
  llvm::GlobalVariable* program = module.getNamedGlobal(programSymbol);
  SmallVector<llvm::Constant*> fields;
  for (llvm::Use& field : program->getInitializer()->operands()) fields.push_back(cast<llvm::Constant>(field.get()));
  fields.push_back(weightsOf(module, parts));
  fields.push_back(llvm::ConstantInt::get(i64, parts.weightsLayout));
  fields.push_back(llvm::ConstantInt::get(i64, parts.build));
  program->eraseFromParent();
  llvm::Constant* value = llvm::ConstantStruct::getAnon(fields);
  auto* library = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, symbol);
  library->setAlignment(llvm::Align(alignof(uint64_t)));
}

// The list of sets, with a null behind it.
void addSets(llvm::Module& module, const std::vector<std::string>& libraries, const std::string& symbol) {
  auto* pointer = llvm::PointerType::get(module.getContext(), 0);
  SmallVector<llvm::Constant*> entries;
  for (const std::string& library : libraries) entries.push_back(module.getNamedGlobal(library));
  entries.push_back(llvm::ConstantPointerNull::get(pointer));
  auto* type = llvm::ArrayType::get(pointer, entries.size());
  new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::ExternalLinkage, llvm::ConstantArray::get(type, entries), symbol);
}

// A module by itself, to be linked into one that lives in another context.
std::string bitcodeOf(const llvm::Module& module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  return bytes;
}

llvm::Error link(llvm::Module& module, StringRef bitcode) {
  auto part = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "runtime/embed"), module.getContext());
  if (!part) return part.takeError();
  if ((*part)->getDataLayout() != module.getDataLayout()) return llvm::createStringError("runtime/embed is for another target");
  (*part)->setTargetTriple(module.getTargetTriple());  // one target may be spelled in several ways
  if (llvm::Linker::linkModules(module, std::move(*part))) return llvm::createStringError("runtime/embed does not link");
  return llvm::Error::success();
}

// What an f32 intrinsic computes, for one number each, by a function of runtime/embed: where code generation would call the C library.
void callInstead(llvm::Module& module, llvm::Intrinsic::ID intrinsic, StringRef name) {
  llvm::Type* f32 = llvm::Type::getFloatTy(module.getContext());
  SmallVector<llvm::IntrinsicInst*> calls;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && call->getIntrinsicID() == intrinsic)
        if (call->getType()->getScalarType() == f32) calls.push_back(call);
  if (calls.empty()) return;
  SmallVector<llvm::Type*> types(calls[0]->arg_size(), f32);
  llvm::FunctionCallee soft = module.getOrInsertFunction(name, llvm::FunctionType::get(f32, types, false));
  for (llvm::IntrinsicInst* call : calls) {
    llvm::IRBuilder<> b(call);
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(call->getType());
    auto of = [&](unsigned lane) {
      SmallVector<llvm::Value*> arguments;
      for (llvm::Value* argument : call->args()) arguments.push_back(vector ? b.CreateExtractElement(argument, lane) : argument);
      return b.CreateCall(soft, arguments);
    };
    llvm::Value* result = vector ? llvm::PoisonValue::get(vector) : static_cast<llvm::Value*>(of(0));
    for (unsigned lane = 0; vector && lane < vector->getNumElements(); ++lane) result = b.CreateInsertElement(result, of(lane), lane);
    call->replaceAllUsesWith(result);
    call->eraseFromParent();
  }
}

// The functions of runtime/embed under the library's own names.
void rename(llvm::Module& module, StringRef prefix, llvm::StringSet<>& shown) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || !function.getName().starts_with(kPublic)) continue;
    function.setName(prefix + "_" + function.getName().drop_front(kPublic.size()));
    shown.insert(function.getName());
  }
}

void hideTheRest(llvm::Module& module, const llvm::StringSet<>& shown) {
  llvm::internalizeModule(module, [&](const llvm::GlobalValue& value) { return shown.contains(value.getName()); });
  llvm::ModuleAnalysisManager analyses;
  llvm::PassBuilder().registerModuleAnalyses(analyses);
  llvm::GlobalDCEPass().run(module, analyses);
}

// Where the weights' section begins in an object, in bytes.
llvm::Expected<uint64_t> placeOfWeights(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return llvm::errorCodeToError(buffer.getError());
  auto object = llvm::object::ObjectFile::createObjectFile((*buffer)->getMemBufferRef());
  if (!object) return object.takeError();
  for (const llvm::object::SectionRef& section : (*object)->sections()) {
    llvm::Expected<StringRef> name = section.getName();
    if (!name) return name.takeError();
    llvm::Expected<StringRef> contents = section.getContents();
    if (*name == kWeightsSection && contents) return contents->data() - (*buffer)->getBufferStart();
    if (!contents) llvm::consumeError(contents.takeError());
  }
  return llvm::createStringError("the object has no weights");
}

// Writes the file `from` over the bytes of `to` that begin at `place`.
llvm::Error copyInto(const std::string& to, uint64_t place, const std::string& from) {
  std::ifstream source(from, std::ios::binary);
  std::fstream target(to, std::ios::binary | std::ios::in | std::ios::out);
  target.seekp(static_cast<std::streamoff>(place));
  std::string piece(kPiece, '\0');
  while (source.read(piece.data(), kPiece), source.gcount() > 0) target.write(piece.data(), source.gcount());
  target.flush();
  if (source.eof() && target.good()) return llvm::Error::success();
  return llvm::createStringError("the weights cannot be copied into the object");
}

}  // namespace

llvm::Error makeLibrary(const std::vector<LibraryVersion>& versions, const LibraryParts& parts) {
  llvm::Module& module = *versions[0].sets[0]->module;
  for (const LibraryVersion& version : versions) {
    std::vector<std::string> symbols;
    for (auto [i, program] : llvm::enumerate(version.sets)) {
      symbols.push_back(kLibrary.str() + version.suffix + "_" + std::to_string(i));
      addLibrary(*program->module, program->symbol, symbols.back(), parts);
      if (program->module.get() == &module) continue;
      if (llvm::Error error = link(module, bitcodeOf(*program->module))) return error;
    }
    addSets(module, symbols, kSets.str() + version.suffix);
  }
  if (!parts.weightsFile.empty()) addWeights(module, parts);
  if (!parts.fused) callInstead(module, llvm::Intrinsic::fma, "mxc_soft_fmaf");
  if (!parts.rounded) callInstead(module, llvm::Intrinsic::floor, "mxc_soft_floorf");
  for (const std::string& bitcode : parts.bitcode)
    if (llvm::Error error = link(module, bitcode)) return error;
  llvm::StringSet<> shown;
  rename(module, parts.prefix, shown);
  hideTheRest(module, shown);
  return llvm::Error::success();
}

llvm::Expected<uint64_t> writeLibraryObject(CompiledProgram& program, const LibraryParts& parts, const std::string& object) {
  auto failed = [&](const std::string& path, std::error_code code) { return llvm::createStringError(code, "%s: %s", path.c_str(), code.message().c_str()); };
  const std::string frames = object + ".su";
  program.target->Options.StackUsageOutput = frames;
  std::error_code code;
  llvm::raw_fd_ostream stream(object, code);
  if (code) return failed(object, code);
  emit(*program.module, *program.target, Format::object, stream);
  program.target->Options.StackUsageOutput.clear();
  stream.flush();
  code = stream.error();
  stream.clear_error();
  if (code) return failed(object, code);
  llvm::Expected<uint64_t> stack = stackNeed(*program.module, frames, parts.nesting);
  if (!stack || parts.weightsFile.empty() || llvm::Triple(program.module->getTargetTriple()).isWasm()) return stack;
  llvm::Expected<uint64_t> place = placeOfWeights(object);
  if (!place) return place.takeError();
  if (llvm::Error error = copyInto(object, *place, parts.weightsFile)) return error;
  return stack;
}

}  // namespace mxc::codegen
