// See plan_text.h. Everything is printed in the Plan's own order, so that equal Plans give equal text.
#include "driver/plan_text.h"

#include "driver/exchange_steps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/core/storage.h"
#include "runtime/train/key_updates.h"

namespace mxc::driver {

namespace {

using core::PlanView;

const char* name(plan::DeviceKind kind) { return kind == plan::DeviceKind::cpu ? "cpu" : "cuda"; }
const char* name(plan::Space space) {
  static constexpr const char* kNames[] = {"arena", "persistent", "io"};
  return kNames[static_cast<int>(space)];
}
const char* name(plan::GraphKind kind) {
  static constexpr const char* kNames[] = {"init", "train", "eval", "infer", "update", "user"};
  return kNames[static_cast<int>(kind)];
}
const char* name(plan::OutputKind kind) {
  static constexpr const char* kNames[] = {"loss", "metric", "output", "parameter", "state", "gradient"};
  return kNames[static_cast<int>(kind)];
}
const char* name(plan::StepKind kind) {
  static constexpr const char* kNames[] = {"cpu kernel", "gpu kernel", "library call", "copy", "communication"};
  return kNames[static_cast<int>(kind)];
}
const char* name(plan::Access access) {
  static constexpr const char* kNames[] = {"reads", "writes", "updates"};
  return kNames[static_cast<int>(access)];
}

// "f32 [n<=64, 1, 28, 28]", with the layout if it is not row-major.
std::string typeText(const plan::Buffer& buffer) {
  std::string text = std::string(core::dtype_name(buffer.dtype)) + " [";
  for (int axis = 0; axis < buffer.rank; ++axis) {
    std::string size = std::to_string(buffer.dims[axis]);
    text += (axis ? ", " : "") + (axis == buffer.batch_axis ? "n<=" + size : size);
  }
  text += "]";
  bool plain = buffer.block_axis < 0;
  for (int i = 0; i < buffer.rank; ++i) plain &= buffer.order[i] == i;
  if (plain) return text;
  text += " order";
  for (int i = 0; i < buffer.rank; ++i) text += " " + std::to_string(buffer.order[i]);
  if (buffer.block_axis >= 0)
    text += ", axis " + std::to_string(buffer.block_axis) + " in blocks of " + std::to_string(buffer.block);
  return text;
}

// By output, what shards exchange of it: ", needed by step 12, ready behind step 40". Of other graphs empty.
std::vector<std::string> exchangeTexts(const PlanView& plan, const plan::Graph& graph) {
  std::vector<std::string> texts(plan.outputs(graph).size());
  if (!plan.is_of_shards(graph) || graph.backward_item == plan::kNone) return texts;
  const auto keys = train::KeyUpdates::keys_of(plan);
  if (!keys.ok()) return texts;
  const std::vector<const plan::Step*> steps = stepsInOrder(plan, graph);
  const auto number = [&](size_t step) { return std::to_string(steps[step] - plan.steps().data()); };
  for (const train::SharedKey& key : *keys) {
    for (size_t i = 0; i < texts.size(); ++i) {
      const plan::Binding& output = plan.outputs(graph)[i];
      if (key.contribution != output.buffer) continue;
      const ExchangeSteps found = exchangeSteps(plan, steps, plan.buffer(key.buffer), plan.buffer(key.contribution));
      if (found.needed) texts[i] += ", needed by step " + number(*found.needed);
      if (found.ready) texts[i] += ", ready behind step " + number(*found.ready);
    }
  }
  return texts;
}

class Text {
 public:
  Text(const PlanView& plan, const PlanTextOptions& options) : plan_(plan), options_(options), out_(text_) {}

  std::string write() {
    for (const plan::Fact& fact : plan_.facts()) row("", plan_.text(fact.key), plan_.text(fact.value));
    out_ << "\nmemory\n";
    for (uint16_t i = 0; i < plan_.devices().size(); ++i) memory(i);
    if (!plan_.hypers().empty()) out_ << "\nhyper-parameters\n";
    for (const plan::Hyper& hyper : plan_.hypers()) {
      std::string value;
      llvm::raw_string_ostream(value) << llvm::format("%g", hyper.default_value);
      row("  ", plan_.text(hyper.name), value);
    }
    parameters();
    for (const plan::Graph& graph : plan_.graphs()) writeGraph(graph);
    if (options_.buffers) buffers();
    return std::move(text_);
  }

 private:
  void row(llvm::StringRef indent, llvm::StringRef key, llvm::StringRef value) {
    out_ << indent << key;
    out_.indent(key.size() < 28 ? 28 - key.size() : 1) << value << "\n";
  }

  void memory(uint16_t index) {
    const plan::Device& device = plan_.devices()[index];
    const core::AreaBytes alone = core::area_bytes(plan_, index, core::Graphs::alone), all = core::area_bytes(plan_, index, core::Graphs::all);
    out_ << "  " << name(device.kind) << " " << device.index << ": arena " << alone.arena << " bytes, persistent " << alone.persistent
         << " bytes, inputs and outputs " << alone.io << " bytes\n";
    if (all.io > alone.io) out_ << "    with several shards: arena " << all.arena << " bytes, inputs and outputs " << all.io << " bytes\n";
  }

  void parameters() {
    out_ << "\nparameters\n";
    uint64_t index = 0, elements = 0;
    for (uint32_t id : plan_.parameters()) {
      const plan::Buffer& buffer = plan_.buffer(id);
      bool trainable = index++ < plan_.header().trainable_count;
      if (trainable) elements += core::elements(buffer);
      row("  ", plan_.text(buffer.name),
          typeText(buffer) + ", " + std::to_string(buffer.bytes) + " bytes" + (trainable ? "" : ", not trained"));
    }
    out_ << "  " << elements << " trainable numbers\n";
  }

  void writeGraph(const plan::Graph& graph) {
    out_ << "\ngraph " << plan_.text(graph.name) << " (" << name(graph.kind) << ")";
    if (graph.batch) out_ << ", up to " << graph.batch << " samples";
    out_ << ", arena " << graph.arena_bytes << " bytes";
    if (graph.backward_item != plan::kNone)
      out_ << ", backward from item " << graph.backward_item << " of " << plan_.block(graph.block).item_count;
    out_ << "\n";
    for (const plan::Binding& input : plan_.inputs(graph)) binding("input", input);
    const std::vector<std::string> exchanged = exchangeTexts(plan_, graph);
    for (size_t i = 0; i < plan_.outputs(graph).size(); ++i) binding(name(plan_.outputs(graph)[i].kind), plan_.outputs(graph)[i], exchanged[i]);
    if (options_.steps) block(plan_.block(graph.block), 1);
  }

  void binding(llvm::StringRef kind, const plan::Binding& binding, const std::string& more = "") {
    row("  ", (kind + " " + plan_.text(binding.name)).str(), typeText(plan_.buffer(binding.buffer)) + more);
  }

  void block(const plan::Block& block, int depth) {
    std::string indent(depth * 2, ' ');
    if (block.kind == plan::BlockKind::loop) {
      out_ << indent << "loop ";
      if (block.trip_buffer == plan::kNone) out_ << block.trip_count << " times\n";
      else out_ << "as often as " << plan_.text(plan_.buffer(block.trip_buffer).name) << " says\n";
    }
    for (const plan::Item& item : plan_.items(block)) {
      if (item.kind == plan::ItemKind::block) this->block(plan_.block(item.index), depth + 1);
      else step(plan_.step(item.index), item.index, indent);
    }
  }

  void step(const plan::Step& step, uint32_t index, const std::string& indent) {
    out_ << indent << "step " << index << " " << plan_.text(step.name) << ": " << name(step.kind);
    if (step.kernel != plan::kNone) out_ << " " << step.kernel;
    out_ << ", grid " << gridText(step);
    if (step.flops) out_ << ", " << step.flops << " flops";
    out_ << "\n";
    for (const plan::Arg& arg : plan_.args(step))
      out_ << indent << "  " << name(arg.access) << " " << arg.buffer << " " << plan_.text(plan_.buffer(arg.buffer).name)
           << (arg.stride ? " stride " + std::to_string(arg.stride) : "") << "\n";
    if (!plan_.deps(step).empty()) {
      out_ << indent << "  after";
      for (uint32_t dep : plan_.deps(step)) out_ << " " << dep;
      out_ << "\n";
    }
  }

  // "12", or "3 x n", "3 x (n * 49 / 16 rounded up)": plan.h's grid(n).
  static std::string gridText(const plan::Step& step) {
    std::string cells = std::to_string(step.grid_cells);
    if (!step.grid_batch_unit) return cells;
    std::string samples = step.grid_batch_unit == 1 ? "n" : "n * " + std::to_string(step.grid_batch_unit);
    if (step.grid_batch_tile != 1) samples = "(" + samples + " / " + std::to_string(step.grid_batch_tile) + " rounded up)";
    else if (step.grid_batch_unit != 1) samples = "(" + samples + ")";
    return step.grid_cells == 1 ? samples : cells + " x " + samples;
  }

  void buffers() {
    out_ << "\nbuffers\n";
    uint32_t index = 0;
    for (const plan::Buffer& buffer : plan_.buffers()) {
      out_ << "  " << index++ << " " << plan_.text(buffer.name) << ": " << typeText(buffer) << ", " << roleName(buffer.role) << ", "
           << name(buffer.space) << " " << buffer.offset << " + " << buffer.bytes << "\n";
    }
  }

  const PlanView& plan_;
  const PlanTextOptions& options_;
  std::string text_;
  llvm::raw_string_ostream out_;
};

}  // namespace

const char* roleName(plan::Role role) {
  static constexpr const char* kNames[] = {"parameter", "gradient", "state", "hyper", "input", "output", "activation", "scratch"};
  return kNames[static_cast<int>(role)];
}

std::string planText(const PlanView& plan, const PlanTextOptions& options) { return Text(plan, options).write(); }

}  // namespace mxc::driver
