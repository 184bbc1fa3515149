// A correct plan reads back; each way of being corrupt is refused with a text that names the field.
#include "runtime/core/plan_view.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/runtime/plan_builder.h"

namespace mxc::core {
namespace {

using namespace mxc::test;
using plan::Space;

void nothing(void* const*, int64_t, int64_t, int64_t) {}

// Two inputs, one parameter, a loop, a copy, everything that the checks look at.
BuiltPlan sample() {
  PlanBuilder b;
  b.fact("model", "lenet");
  uint32_t weight = b.parameter({.name = "w", .dims = {20, 5}, .order = {1, 0}, .block_axis = 0, .block = 16});
  b.optimizer_slot({.name = "w/momentum", .dims = {20, 5}, .order = {1, 0}, .block_axis = 0, .block = 16});
  b.hyper("lr", 0.5);
  uint32_t x = b.buffer({.name = "x", .dims = {8, 3}, .space = Space::io, .role = plan::Role::input, .batch_axis = 0});
  uint32_t loss = b.buffer({.name = "loss", .dims = {}, .space = Space::io, .role = plan::Role::output});
  uint32_t trips = b.buffer({.name = "trips", .dims = {}, .dtype = plan::DType::i64});
  uint32_t state = b.buffer({.name = "state", .dims = {}}), next = b.buffer({.name = "next", .dims = {}});
  b.begin_graph("train", plan::GraphKind::train, 8);
  uint32_t first = b.step({.name = "first", .kernel = nothing, .args = {in(x), in(weight), out(state)}, .batch_unit = 1});
  b.step({.name = "second", .kernel = nothing, .args = {in(state), out(loss)}, .deps = {first}});
  b.begin_loop(0, trips);
  b.step({.name = "copied", .args = {in(state), out(next)}});
  b.carry(next, state);
  b.end_block();
  b.input(x);
  b.output(loss, plan::OutputKind::loss);
  b.end_graph();
  return b.build();
}

TEST(PlanView, ReadsBack) {
  BuiltPlan built = sample();
  PlanView view;
  Status status = PlanView::open(built.program(), &view);
  ASSERT_TRUE(status.ok()) << status.text;
  EXPECT_STREQ(view.find_fact("model"), "lenet");
  EXPECT_EQ(view.find_fact("none"), nullptr);
  const plan::Graph& graph = view.graph(view.find_graph(plan::GraphKind::train));
  EXPECT_STREQ(view.text(graph.name), "train");
  EXPECT_EQ(view.find_graph("train"), 0u);
  EXPECT_EQ(view.find_graph("eval"), plan::kNone);
  EXPECT_EQ(view.find_graph(plan::GraphKind::init), plan::kNone);
  EXPECT_EQ(view.find_input(graph, "x"), 0u);
  EXPECT_EQ(view.find_input(graph, "y"), plan::kNone);
  EXPECT_EQ(view.find_output(graph, "loss"), 0u);
  EXPECT_EQ(view.find_hyper("lr"), 0u);
  EXPECT_EQ(view.parameters()[0], view.find_buffer("w"));
  EXPECT_STREQ(view.text(view.optimizer_slots()[0].name), "w/momentum");
  EXPECT_EQ(view.deps(view.step(1))[0], 0u);
  const plan::Buffer& x = view.buffer(view.find_buffer("x"));
  EXPECT_EQ(batch_capacity(x), 8);
  EXPECT_EQ(elements(x, 5), 15);
  EXPECT_EQ(elements(x), 24);
  EXPECT_EQ(extent(x, 0, 5), 5);
  EXPECT_EQ(extent(x, 1, 5), 3);
  EXPECT_EQ(used_bytes(x, 5), 60u);
  EXPECT_EQ(view.buffer(0).bytes, 2u * 16 * 5 * 4);
  EXPECT_EQ(elements(view.buffer(0)), 100);
}

TEST(PlanView, AnEmptyViewHasNothing) {
  PlanView view;
  EXPECT_EQ(view.graphs().size(), 0u);
  EXPECT_EQ(view.find_buffer("x"), plan::kNone);
  EXPECT_STREQ(view.text(0), "");
}

TEST(PlanView, WithoutKernelsTheirIndicesAreNotChecked) {
  BuiltPlan built = sample();
  PlanView view;
  EXPECT_TRUE(PlanView::open(built.bytes(), built.header().bytes, &view).ok());
  EXPECT_EQ(view.steps().size(), 3u);
}

struct Corruption {
  std::function<void(BuiltPlan&)> damage;
  std::string text;
};

template <typename T>
Corruption damage(plan::Table plan::Header::* table, uint32_t index, std::function<void(T&)> change, std::string text) {
  return {[=](BuiltPlan& built) { change(built.records<T>(built.header().*table)[index]); }, std::move(text)};
}
Corruption header(std::function<void(plan::Header&)> change, std::string text) {
  return {[=](BuiltPlan& built) { change(built.header()); }, std::move(text)};
}
Corruption buffer(uint32_t index, std::function<void(plan::Buffer&)> change, std::string text) {
  return damage<plan::Buffer>(&plan::Header::buffers, index, std::move(change), std::move(text));
}
Corruption step(uint32_t index, std::function<void(plan::Step&)> change, std::string text) {
  return damage<plan::Step>(&plan::Header::steps, index, std::move(change), std::move(text));
}
Corruption block(uint32_t index, std::function<void(plan::Block&)> change, std::string text) {
  return damage<plan::Block>(&plan::Header::blocks, index, std::move(change), std::move(text));
}
Corruption graph(std::function<void(plan::Graph&)> change, std::string text) {
  return damage<plan::Graph>(&plan::Header::graphs, 0, std::move(change), std::move(text));
}

TEST(PlanView, NamesWhatIsCorrupt) {
  using plan::Header;
  // Buffers: 0 w, 1 w/momentum, 2 lr, 3 x, 4 loss, 5 trips, 6 state, 7 next. Blocks: 0 the loop, 1 the root.
  const Corruption kCases[] = {
      header([](Header& h) { h.magic = 1; }, "plan: magic is 00000001"),
      header([](Header& h) { h.version = 7; }, "plan: version is 7, expected 2"),
      header([](Header& h) { h.strings.count = 0; }, "plan: strings do not start and end with NUL"),
      header([](Header& h) { h.strings.count -= 1; }, "plan: strings do not start and end with NUL"),
      header([](Header& h) { h.steps.offset += 4; }, "plan: table 'steps' is not aligned to 8 bytes"),
      header([](Header& h) { h.trainable_count = 2; }, "plan: trainable_count exceeds the parameters"),
      damage<plan::Fact>(&Header::facts, 0, [](plan::Fact& f) { f.value = 1u << 30; }, "plan: fact 0: value is outside the strings"),
      damage<plan::Device>(&Header::devices, 0, [](plan::Device& d) { d.kind = plan::DeviceKind(9); }, "plan: device 0: unknown kind"),
      damage<plan::Device>(&Header::devices, 0, [](plan::Device& d) { d.io_bytes = ~0ull; }, "plan: device 0: an area is larger than 2^48 bytes"),
      buffer(3, [](plan::Buffer& b) { b.name = 1u << 30; }, "plan: buffer 3: name is outside the strings"),
      buffer(3, [](plan::Buffer& b) { b.location = 1u << 30; }, "plan: buffer 3 'x': location is outside the strings"),
      buffer(3, [](plan::Buffer& b) { b.role = plan::Role(40); }, "plan: buffer 3 'x': unknown role"),
      buffer(3, [](plan::Buffer& b) { b.dtype = plan::DType(40); }, "plan: buffer 3 'x': unknown dtype"),
      buffer(3, [](plan::Buffer& b) { b.space = Space(40); }, "plan: buffer 3 'x': unknown space"),
      buffer(3, [](plan::Buffer& b) { b.rank = 9; }, "plan: buffer 3 'x': rank exceeds 8"),
      buffer(3, [](plan::Buffer& b) { b.batch_axis = 2; }, "plan: buffer 3 'x': batch_axis is no axis"),
      buffer(3, [](plan::Buffer& b) { b.block_axis = 2; }, "plan: buffer 3 'x': block_axis is no axis"),
      buffer(3, [](plan::Buffer& b) { b.block = 16; }, "plan: buffer 3 'x': block does not fit block_axis"),
      buffer(0, [](plan::Buffer& b) { b.block = -16; }, "plan: buffer 0 'w': block does not fit block_axis"),
      buffer(3, [](plan::Buffer& b) { b.device = 1; }, "plan: buffer 3 'x': device is out of range"),
      buffer(3, [](plan::Buffer& b) { b.order[1] = 0; }, "plan: buffer 3 'x': order is no permutation of the axes"),
      buffer(3, [](plan::Buffer& b) { b.order[1] = -1; }, "plan: buffer 3 'x': order is no permutation of the axes"),
      buffer(3, [](plan::Buffer& b) { b.dims[1] = -3; }, "plan: buffer 3 'x': dims has a negative extent"),
      buffer(3, [](plan::Buffer& b) { b.dims[1] = INT64_MAX; }, "plan: buffer 3 'x': bytes differ from the product of the extents"),
      buffer(3, [](plan::Buffer& b) { b.bytes += 64; }, "plan: buffer 3 'x': bytes differ from the product of the extents"),
      buffer(3, [](plan::Buffer& b) { b.batch_unit = 0; }, "plan: buffer 3 'x': batch_unit or the batch extent is not positive"),
      buffer(3, [](plan::Buffer& b) { b.batch_unit = 3; }, "plan: buffer 3 'x': the batch extent is no multiple of batch_unit"),
      buffer(0, [](plan::Buffer& b) { b.batch_unit = 1; }, "plan: buffer 0 'w': batch_unit without a batch axis"),
      buffer(3, [](plan::Buffer& b) { b.offset = 4; }, "plan: buffer 3 'x': offset is not aligned"),
      buffer(3, [](plan::Buffer& b) { b.offset = 1u << 20; }, "plan: buffer 3 'x': lies outside its space"),
      buffer(3, [](plan::Buffer& b) { b.upper_bound = -1; }, "plan: buffer 3 'x': upper_bound is negative"),
      damage<plan::Hyper>(&Header::hypers, 0, [](plan::Hyper& h) { h.buffer = 99; }, "plan: hyper 'lr': buffer is out of range"),
      damage<plan::Hyper>(&Header::hypers, 0, [](plan::Hyper& h) { h.buffer = 3; }, "plan: hyper 'lr': its buffer is no scalar of a host type"),
      damage<plan::Arg>(&Header::args, 2, [](plan::Arg& a) { a.buffer = 8; }, "plan: arg 2: buffer is out of range"),
      damage<plan::Arg>(&Header::args, 2, [](plan::Arg& a) { a.access = plan::Access(3); }, "plan: arg 2: unknown access"),
      step(1, [](plan::Step& s) { s.name = 1u << 30; }, "plan: step 1: name is outside the strings"),
      step(1, [](plan::Step& s) { s.location = 1u << 30; }, "plan: step 1 'second': location is outside the strings"),
      step(1, [](plan::Step& s) { s.kind = plan::StepKind(9); }, "plan: step 1 'second': unknown kind"),
      step(1, [](plan::Step& s) { s.lane = plan::Lane(9); }, "plan: step 1 'second': unknown lane"),
      step(1, [](plan::Step& s) { s.device = 1; }, "plan: step 1 'second': device is out of range"),
      step(1, [](plan::Step& s) { s.kernel = 2; }, "plan: step 1 'second': kernel is out of range"),
      step(1, [](plan::Step& s) { s.arg_count = 99; }, "plan: step 1 'second': args are out of range"),
      step(1, [](plan::Step& s) { s.first_dep = 99; }, "plan: step 1 'second': deps are out of range"),
      step(1, [](plan::Step& s) { s.grid_cells = -1; }, "plan: step 1 'second': the grid is negative"),
      step(0, [](plan::Step& s) { s.grid_batch_tile = 0; }, "plan: step 0 'first': grid_batch_tile is not positive"),
      step(2, [](plan::Step& s) { s.kernel = 0; }, "plan: step 2 'copied': a copy has a kernel"),
      step(2, [](plan::Step& s) { s.arg_count = 1; }, "plan: step 2 'copied': a copy has not two args"),
      step(2, [](plan::Step& s) { s.first_arg = 0; }, "plan: step 2 'copied': a copy between buffers of different bytes"),
      damage<uint32_t>(&Header::deps, 0, [](uint32_t& d) { d = 3; }, "plan: step 1 'second': a dep is out of range"),
      damage<uint32_t>(&Header::deps, 0, [](uint32_t& d) { d = 2; }, "plan: step 1 'second': a dep is in another block"),
      damage<uint32_t>(&Header::deps, 0, [](uint32_t& d) { d = 1; }, "plan: step 1 'second': a dep does not come before the step"),
      damage<plan::Item>(&Header::items, 0, [](plan::Item& i) { i.kind = plan::ItemKind(2); }, "plan: block 0: an item has an unknown kind"),
      damage<plan::Item>(&Header::items, 0, [](plan::Item& i) { i.index = 3; }, "plan: block 0: an item is out of range"),
      damage<plan::Item>(&Header::items, 1, [](plan::Item& i) { i.index = 2; }, "plan: block 1: a step occurs twice"),
      damage<plan::Item>(&Header::items, 0, [](plan::Item& i) { i = {plan::ItemKind::block, 0}; }, "plan: block 1: a block occurs twice"),
      damage<plan::Item>(&Header::items, 0, [](plan::Item& i) { i = {plan::ItemKind::block, 1}; }, "plan: graph 0 'train': the root block occurs elsewhere"),
      block(1, [](plan::Block& b) { b.kind = plan::BlockKind(2); }, "plan: block 1: unknown kind"),
      block(1, [](plan::Block& b) { b.item_count = 9; }, "plan: block 1: items are out of range"),
      block(0, [](plan::Block& b) { b.carried_count = 2; }, "plan: block 0: carried is out of range"),
      block(0, [](plan::Block& b) { b.kind = plan::BlockKind::sequence; }, "plan: block 0: a sequence carries buffers"),
      block(0, [](plan::Block& b) { b.trip_buffer = 99; }, "plan: block 0: trip_buffer is out of range"),
      block(0, [](plan::Block& b) { b.trip_buffer = 6; }, "plan: block 0: trip_buffer is no i64 scalar"),
      block(0, [](plan::Block& b) { b.trip_buffer = plan::kNone, b.trip_count = -1; }, "plan: block 0: trip_count is negative"),
      damage<plan::Carried>(&Header::carried, 0, [](plan::Carried& c) { c.to = 99; }, "plan: block 0: a carried buffer is out of range"),
      damage<plan::Carried>(&Header::carried, 0, [](plan::Carried& c) { c.to = 3; }, "plan: block 0: a carried pair differs in bytes or device"),
      damage<plan::Binding>(&Header::bindings, 0, [](plan::Binding& b) { b.buffer = 99; }, "plan: binding 'x': buffer is out of range"),
      damage<plan::Binding>(&Header::bindings, 0, [](plan::Binding& b) { b.kind = plan::OutputKind(9); }, "plan: binding 'x': unknown kind"),
      damage<plan::Binding>(&Header::optimizer_slots, 0, [](plan::Binding& b) { b.name = ~0u; }, "plan: optimizer slot 0: name is outside the strings"),
      graph([](plan::Graph& g) { g.name = ~0u; }, "plan: graph 0: name is outside the strings"),
      graph([](plan::Graph& g) { g.kind = plan::GraphKind(9); }, "plan: graph 0 'train': unknown kind"),
      graph([](plan::Graph& g) { g.block = 2; }, "plan: graph 0 'train': block is out of range"),
      graph([](plan::Graph& g) { g.block = 0; }, "plan: graph 0 'train': the root block is no sequence"),
      graph([](plan::Graph& g) { g.input_count = 3; }, "plan: graph 0 'train': inputs are out of range"),
      graph([](plan::Graph& g) { g.first_output = 9; }, "plan: graph 0 'train': outputs are out of range"),
      graph([](plan::Graph& g) { g.batch = -1; }, "plan: graph 0 'train': batch is negative"),
      graph([](plan::Graph& g) { g.batch = 4; }, "plan: graph 0 'train': an input's batch differs from the graph's"),
      graph([](plan::Graph& g) { g.backward_item = 9; }, "plan: graph 0 'train': backward_item is out of range"),
      damage<plan::Binding>(&Header::bindings, 1, [](plan::Binding& b) { b.kind = plan::OutputKind::gradient; },
                            "plan: graph 0 'train': a gradient without a backward part"),
      damage<plan::Binding>(&Header::bindings, 1, [](plan::Binding& b) { b.kind = plan::OutputKind(6); }, "plan: binding 'loss': unknown kind"),
      graph([](plan::Graph& g) { g.arena_bytes = 1 << 20; }, "plan: graph 0 'train': arena_bytes exceed the device's arena"),
      damage<plan::Binding>(&Header::bindings, 1, [](plan::Binding& b) { b.buffer = 3; }, "plan: graph 0 'train': a loss or metric is no scalar"),
      damage<uint32_t>(&Header::parameters, 0, [](uint32_t& p) { p = 99; }, "plan: parameter 0: buffer is out of range"),
      damage<uint32_t>(&Header::parameters, 0, [](uint32_t& p) { p = 3; }, "plan: parameter 'x': not persistent, or has a batch axis"),
  };
  for (const Corruption& corruption : kCases) {
    BuiltPlan built = sample();
    plan::Program program = built.program();
    corruption.damage(built);
    PlanView view;
    Status status = PlanView::open(program, &view);
    EXPECT_EQ(status.code, Code::corrupt_plan);
    EXPECT_EQ(std::string(status.text), corruption.text);
    EXPECT_EQ(view.graphs().size(), 0u);
  }
}

TEST(PlanView, RefusesShortAndMisplacedBlobs) {
  BuiltPlan built = sample();
  plan::Program program = built.program();
  PlanView view;
  EXPECT_STREQ(PlanView::open(nullptr, 0, &view).text, "plan: 0 bytes are too short for a header");
  EXPECT_STREQ(PlanView::open(program.plan, 40, &view).text, "plan: 40 bytes are too short for a header");
  EXPECT_STREQ(PlanView::open(built.bytes() + 8, program.plan_bytes - 8, &view).text, "plan: not aligned to 64 bytes");
  EXPECT_EQ(PlanView::open(program.plan, program.plan_bytes - 8, &view).code, Code::corrupt_plan);
  built.header().buffers.count = uint64_t{1} << 60;  // times the record size, it would wrap around
  EXPECT_EQ(PlanView::open(program, &view).code, Code::corrupt_plan);
}

// Whatever single byte is wrong, `open` answers (and reads nothing outside: the sanitizers watch).
TEST(PlanView, SurvivesAnyDamagedByte) {
  BuiltPlan built = sample();
  plan::Program program = built.program();
  for (uint64_t i = 0; i < program.plan_bytes; ++i) {
    for (unsigned char value : {0x01, 0x80, 0xff}) {
      built.bytes()[i] ^= value;
      PlanView view;
      Status status = PlanView::open(program, &view);
      EXPECT_TRUE(status.ok() || status.code == Code::corrupt_plan);
      built.bytes()[i] ^= value;
    }
  }
}

}  // namespace
}  // namespace mxc::core
