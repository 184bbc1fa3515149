// The Plan as JSON: see plan_text.h.
#include "driver/plan_text.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace mxc::driver {

namespace {

using core::PlanView;

class Writer {
 public:
  explicit Writer(const PlanView& plan) : plan_(plan), stream_(text_), json_(stream_, 1) {}

  std::string write() {
    json_.object([&] {
      json_.attributeObject("facts", [&] {
        for (const plan::Fact& fact : plan_.facts()) json_.attribute(plan_.text(fact.key), plan_.text(fact.value));
      });
      list("devices", plan_.devices(), [&](const plan::Device& d) { device(d); });
      list("buffers", plan_.buffers(), [&](const plan::Buffer& b) { buffer(b); });
      list("hypers", plan_.hypers(), [&](const plan::Hyper& h) {
        json_.attribute("name", plan_.text(h.name));
        json_.attribute("buffer", h.buffer);
        json_.attribute("default", h.default_value);
      });
      json_.attributeArray("parameters", [&] {
        for (uint32_t id : plan_.parameters()) json_.value(id);
      });
      json_.attribute("trainable", static_cast<int64_t>(plan_.header().trainable_count));
      list("optimizer_slots", plan_.optimizer_slots(), [&](const plan::Binding& b) { binding(b, false); });
      list("graphs", plan_.graphs(), [&](const plan::Graph& g) { graph(g); });
    });
    return text_ + "\n";
  }

 private:
  template <class Span, class Body>
  void list(llvm::StringRef key, Span items, Body body) {
    json_.attributeArray(key, [&] {
      for (const auto& item : items) json_.object([&] { body(item); });
    });
  }

  void device(const plan::Device& device) {
    json_.attribute("kind", device.kind == plan::DeviceKind::cpu ? "cpu" : "cuda");
    json_.attribute("index", device.index);
    json_.attribute("arena_bytes", static_cast<int64_t>(device.arena_bytes));
    json_.attribute("persistent_bytes", static_cast<int64_t>(device.persistent_bytes));
    json_.attribute("io_bytes", static_cast<int64_t>(device.io_bytes));
  }

  void buffer(const plan::Buffer& buffer) {
    static constexpr const char* kSpaces[] = {"arena", "persistent", "io"};
    json_.attribute("name", plan_.text(buffer.name));
    json_.attribute("at", plan_.text(buffer.location));
    json_.attribute("role", roleName(buffer.role));
    json_.attribute("dtype", core::dtype_name(buffer.dtype));
    json_.attribute("space", kSpaces[static_cast<int>(buffer.space)]);
    json_.attribute("device", buffer.device);
    json_.attributeArray("dims", [&] {
      for (int i = 0; i < buffer.rank; ++i) json_.value(buffer.dims[i]);
    });
    json_.attribute("batch_axis", buffer.batch_axis);
    json_.attribute("batch_unit", buffer.batch_unit);
    json_.attributeArray("order", [&] {
      for (int i = 0; i < buffer.rank; ++i) json_.value(buffer.order[i]);
    });
    json_.attribute("block_axis", buffer.block_axis);
    json_.attribute("block", buffer.block);
    json_.attribute("offset", static_cast<int64_t>(buffer.offset));
    json_.attribute("bytes", static_cast<int64_t>(buffer.bytes));
  }

  void binding(const plan::Binding& binding, bool output) {
    static constexpr const char* kKinds[] = {"loss", "metric", "output", "parameter", "state", "gradient"};
    json_.attribute("name", plan_.text(binding.name));
    json_.attribute("buffer", binding.buffer);
    if (output) json_.attribute("kind", kKinds[static_cast<int>(binding.kind)]);
  }

  void graph(const plan::Graph& graph) {
    static constexpr const char* kKinds[] = {"init", "train", "eval", "infer", "update", "user"};
    json_.attribute("name", plan_.text(graph.name));
    json_.attribute("kind", kKinds[static_cast<int>(graph.kind)]);
    json_.attribute("batch", graph.batch);
    json_.attribute("arena_bytes", static_cast<int64_t>(graph.arena_bytes));
    if (graph.backward_item != plan::kNone) json_.attribute("backward_item", graph.backward_item);
    list("inputs", plan_.inputs(graph), [&](const plan::Binding& b) { binding(b, false); });
    list("outputs", plan_.outputs(graph), [&](const plan::Binding& b) { binding(b, true); });
    json_.attributeObject("block", [&] { block(plan_.block(graph.block)); });
  }

  void block(const plan::Block& block) {
    if (block.kind == plan::BlockKind::loop) {
      if (block.trip_buffer == plan::kNone) json_.attribute("trips", block.trip_count);
      else json_.attribute("trip_buffer", block.trip_buffer);
      list("carried", plan_.carried(block), [&](const plan::Carried& c) {
        json_.attribute("from", c.from);
        json_.attribute("to", c.to);
      });
    }
    list("items", plan_.items(block), [&](const plan::Item& item) {
      if (item.kind == plan::ItemKind::block) this->block(plan_.block(item.index));
      else step(plan_.step(item.index), item.index);
    });
  }

  void step(const plan::Step& step, uint32_t index) {
    static constexpr const char* kKinds[] = {"cpu_kernel", "gpu_kernel", "library_call", "copy", "communication"};
    static constexpr const char* kLanes[] = {"compute", "copy", "network", "io"};
    static constexpr const char* kAccesses[] = {"read", "write", "read_write"};
    json_.attribute("step", index);
    json_.attribute("name", plan_.text(step.name));
    json_.attribute("at", plan_.text(step.location));
    json_.attribute("kind", kKinds[static_cast<int>(step.kind)]);
    json_.attribute("lane", kLanes[static_cast<int>(step.lane)]);
    json_.attribute("device", step.device);
    json_.attribute("priority", step.priority);
    if (step.kernel != plan::kNone) json_.attribute("kernel", step.kernel);
    json_.attribute("grid_cells", step.grid_cells);
    json_.attribute("grid_batch_unit", step.grid_batch_unit);
    json_.attribute("grid_batch_tile", step.grid_batch_tile);
    json_.attribute("flops", step.flops);
    list("args", plan_.args(step), [&](const plan::Arg& arg) {
      json_.attribute("buffer", arg.buffer);
      json_.attribute("access", kAccesses[static_cast<int>(arg.access)]);
      if (arg.stride) json_.attribute("stride", arg.stride);
    });
    json_.attributeArray("after", [&] {
      for (uint32_t dep : plan_.deps(step)) json_.value(dep);
    });
  }

  const PlanView& plan_;
  std::string text_;
  llvm::raw_string_ostream stream_;
  llvm::json::OStream json_;
};

}  // namespace

std::string planJson(const PlanView& plan) { return Writer(plan).write(); }

}  // namespace mxc::driver
