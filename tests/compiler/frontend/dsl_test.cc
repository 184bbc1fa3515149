// Symbols, names, scopes, groups and JSON, without a compiler: the DSL is called in a session of the test's own.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "frontend/dsl/json.h"
#include "mxc/mxc.h"

namespace {

using namespace mxc;
using mxc::detail::Session;
using mxc::detail::SessionScope;

class Dsl : public testing::Test {
 protected:
  // The message of the ModelError that `body` throws, and its line; "" if it throws none.
  template <class Body>
  std::string errorOf(Body body) {
    try {
      body();
    } catch (const ModelError& error) {
      line_ = error.where.line();
      note_line_ = error.note.empty() ? 0 : error.note_where.line();
      return error.what();
    }
    return "";
  }

  Session session_;
  SessionScope scope_{session_};
  unsigned line_ = 0, note_line_ = 0;
};

TEST_F(Dsl, NamesAreCountedByOperation) {
  Symbol x = input("x", {batch(2), 3});
  EXPECT_EQ(dense(x, {.units = 4}).name(), "dense0");
  Symbol y = dense(x, {.units = 4});
  EXPECT_EQ(y.name(), "dense1");
  EXPECT_EQ(tanh(y).name(), "tanh0");
  EXPECT_EQ(dense(x, {.units = 4, .name = "last"}).name(), "last");
  EXPECT_EQ(session_.graph->names.count("last.weight"), 1u);
}

TEST_F(Dsl, AutomaticNamesAvoidTakenOnes) {
  Symbol x = input("tanh0", {3});
  EXPECT_EQ(tanh(x).name(), "tanh1");
}

TEST_F(Dsl, ScopesNest) {
  Symbol x = input("x", {3});
  {
    Scope outer("encoder");
    Scope inner("block");
    EXPECT_EQ(tanh(x).name(), "encoder.block.tanh0");
  }
  EXPECT_EQ(tanh(x).name(), "tanh0");
}

TEST_F(Dsl, TakenNameIsAnErrorAtItsLineWithTheFirst) {
  unsigned first = __LINE__ + 1;
  input("x", {3});
  unsigned second = __LINE__ + 1;
  EXPECT_EQ(errorOf([] { input("x", {4}); }), "the name 'x' is already taken");
  EXPECT_EQ(line_, second);
  EXPECT_EQ(note_line_, first);
}

TEST_F(Dsl, BadNamesShapesAndBatches) {
  EXPECT_EQ(errorOf([] { input("a b", {3}); }), "'a b' is not a name: letters, digits and _ . - / are allowed");
  EXPECT_EQ(errorOf([] { input("x", {3, 0}); }), "'x' has size 0 on axis 1: sizes are positive");
  EXPECT_EQ(errorOf([] { input("x", {batch(2), batch(2)}); }), "'x' has two batch axes");
  EXPECT_EQ(errorOf([] { parameter("w", {batch(2)}); }), "parameter 'w' has a batch axis");
  input("y", {batch(2)});
  EXPECT_EQ(errorOf([] { input("z", {batch(3)}); }), "'z' has batch 3, but 'y' has 2");
}

TEST_F(Dsl, MissingAttributeAndEmptySymbol) {
  Symbol x = input("x", {3});
  unsigned here = __LINE__ + 1;
  EXPECT_EQ(errorOf([&] { dense(x); }), "dense needs the attribute 'units': write {.units = ...}");
  EXPECT_EQ(line_, here);
  EXPECT_EQ(errorOf([] { tanh(Symbol()); }), "tanh is given an empty symbol as 'input'");
}

TEST_F(Dsl, SymbolsOfAnotherModelAreRefused) {
  Symbol x = input("x", {3});
  Session other;
  SessionScope scope(other);
  EXPECT_EQ(errorOf([&] { tanh(x); }), "tanh is given a symbol of another model as 'input'");
}

TEST_F(Dsl, TerminalsAndOptimizerAreNamedOnce) {
  Symbol x = input("x", {3});
  report("r", x);
  EXPECT_EQ(errorOf([&] { report("r", x); }), "there are two reports of the name 'r'");
  optimizer(sgd{.lr = 0.1});
  EXPECT_EQ(errorOf([] { optimizer(adam{}); }), "the model has two optimizers");
  EXPECT_EQ(errorOf([] { minimize(1.0); }), "minimize is given a number");
}

TEST_F(Dsl, ParametersAreSharedConfiguredOrLeftOut) {
  Symbol x = input("x", {batch(2), 3});
  Symbol w = parameter("w", {3, 3}, normal(0, 0.5));
  Symbol y = dense(x, {.units = 3, .weight = w, .bias = false});
  EXPECT_EQ(to_string({y}),
            "x = input() {shape = [2, 3], batch_axis = 0, dtype = \"f32\"}\n"
            "w = parameter() {shape = [3, 3], init = \"normal\", init_args = [0, 0.5], trainable = true, lr_mult = 1, wd_mult = 1, "
            "gradient = \"write\"}\n"
            "dense0 = dense(x, w) {units = 3}\n");
  dense(x, {.units = 3, .weight = {.lr_mult = 2, .gradient = GradientRequest::none}, .bias = Param{.init = ones()}, .name = "d"});
  std::string json = detail::writeModel(session_);
  EXPECT_NE(
      json.find(
          "\"name\": \"d.weight\", \"attributes\": {\"init\": \"xavier\", \"init_args\": [], \"trainable\": true, \"lr_mult\": 2, "
          "\"wd_mult\": 1, \"gradient\": \"none\"}"),
      std::string::npos);
  EXPECT_NE(json.find("\"name\": \"d.bias\", \"attributes\": {\"init\": \"ones\""), std::string::npos);
}

TEST_F(Dsl, ParametersThatBeginWithAFile) {
  Symbol x = input("x", {batch(2), 3});
  Symbol w = parameter("w", {3, 3}, from_file("w.npy"));
  dense(x, {.units = 3, .weight = w, .bias = from_file("all.npz", "b"), .name = "d"});
  EXPECT_EQ(to_string({w}),
            "w = parameter() {shape = [3, 3], init = \"file\", init_args = [], init_file = \"w.npy\", trainable = true, lr_mult = 1, "
            "wd_mult = 1, gradient = \"write\"}\n");
  EXPECT_NE(detail::writeModel(session_).find("{\"init\": \"file\", \"init_args\": [], \"init_file\": \"all.npz\", \"init_tensor\": \"b\", "
                                              "\"trainable\": true"),
            std::string::npos);
}

// Each Recompute has a number, the innermost counts, and what is loaded gets numbers of its own.
TEST_F(Dsl, OperationsOfARecompute) {
  std::string path = testing::TempDir() + "/recompute.json";
  Symbol x = input("x", {batch(2), 3}), y;
  auto marks = [](const Session& session) {
    std::map<std::string, int64_t> found;
    for (const detail::Node& node : session.graph->nodes)
      if (node.recompute) found[node.name] = *node.recompute;
    return found;
  };
  {
    Recompute outer;
    Symbol a = tanh(x), b;
    {
      Recompute inner;
      b = relu(a);
    }
    y = exp(b);
  }
  {
    Recompute another;
    y = relu(y);
  }
  y = tanh(y);
  using Marks = std::map<std::string, int64_t>;
  EXPECT_EQ(marks(session_), (Marks{{"tanh0", 0}, {"relu0", 1}, {"exp0", 0}, {"relu1", 2}}));
  EXPECT_NE(detail::writeModel(session_).find("\"inputs\": {\"input\": [1, 0]}, \"recompute\": 1, \"at\""), std::string::npos);
  save(path, y);
  Session other;
  SessionScope scope(other);
  Symbol i = input("i", {3});
  {
    Recompute own;
    sqrt(i);
  }
  load(path);
  EXPECT_EQ(marks(other), (Marks{{"sqrt0", 0}, {"tanh0", 1}, {"relu0", 2}, {"exp0", 1}, {"relu1", 3}}));
}

TEST_F(Dsl, ExpressionsOfSymbolsAndNumbers) {
  Symbol x = input("x", {3});
  Symbol y = 2 * -x / 4.5 - x + 1;
  EXPECT_EQ(to_string({y}),
            "x = input() {shape = [3], batch_axis = -1, dtype = \"f32\"}\n"
            "neg0 = neg(x)\n"
            "constant0 = constant() {value = 2}\n"
            "mul0 = mul(constant0, neg0)\n"
            "constant1 = constant() {value = 4.5}\n"
            "div0 = div(mul0, constant1)\n"
            "sub0 = sub(div0, x)\n"
            "constant2 = constant() {value = 1}\n"
            "add0 = add(sub0, constant2)\n");
}

TEST_F(Dsl, SeveralResults) {
  Symbol x = input("x", {batch(2), 6});
  std::vector<Symbol> parts = split(x, {.parts = 3});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].result(), 2);
  auto best = topk(parts[0], {.k = 1});
  EXPECT_EQ(best.places.result(), 1);
  unsigned here = __LINE__ + 1;
  EXPECT_EQ(errorOf([&] { split(x, {.parts = 0}); }), "split has parts = 0: at least 1 and at most 4096 are possible");
  EXPECT_EQ(line_, here);
  EXPECT_EQ(errorOf([&] { split(x); }), "split needs the attribute 'parts': write {.parts = ...}");
}

TEST_F(Dsl, OptimizersAndTheirNumbers) {
  optimizer(lars{.lr = 0.2, .eta = 0.01, .clip_norm = 5});
  std::string json = detail::writeModel(session_);
  EXPECT_NE(json.find("{\"kind\": \"lars\", \"defaults\": {\"lr\": 0.2, \"momentum\": 0.9, \"eta\": 0.01, \"epsilon\": 1e-08, "
                      "\"weight_decay\": 1e-04, \"rescale\": 1, \"clip\": 0, \"clip_norm\": 5}"),
            std::string::npos)
      << json;
}

TEST_F(Dsl, ListsOfOperands) {
  Symbol x = input("x", {batch(2), 3}), y = input("y", {batch(2), 4});
  EXPECT_NE(to_string({concat({x, y}, {.axis = 1})}).find("concat0 = concat(x, y) {axis = 1}\n"), std::string::npos);
  EXPECT_EQ(errorOf([&] { concat({x, Symbol()}); }), "concat is given an empty symbol as 'inputs'");
}

TEST_F(Dsl, InternalsAreWhatASymbolDependsOn) {
  Symbol x = input("x", {3}), unused = input("unused", {3});
  Symbol y = tanh(x + x);
  Group all = internals({y});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name(), "x");
  EXPECT_EQ(all[1].name(), "add0");
  EXPECT_EQ(all[2].op(), "tanh");
}

TEST_F(Dsl, MembersOfGroupsHaveNames) {
  Symbol x = input("x", {batch(2), 1, 4, 4});
  Symbol y = tanh(max_pool(x, {.kernel = 2}));
  Group inside = internals(y);
  EXPECT_EQ(inside["tanh0"].node(), y.node());
  EXPECT_EQ(inside["max_pool0#1"].result(), 1);
  EXPECT_EQ(inside.names(), (std::vector<std::string>{"x", "max_pool0#0", "max_pool0#1", "tanh0"}));
  unsigned here = __LINE__ + 1;
  EXPECT_EQ(errorOf([&] { inside["tanh1"]; }), "the group has no member 'tanh1'");
  EXPECT_EQ(line_, here);
  // A network goes on from the middle of another.
  EXPECT_EQ(relu(inside["max_pool0#0"]).name(), "relu0");
}

TEST_F(Dsl, GroupsStandForSeveralSymbols) {
  Symbol x = input("x", {batch(2), 3});
  Group group = {tanh(x), relu(x)};
  Symbol joined = concat(group, {.axis = 1});
  std::ostringstream out;
  out << Group(joined);
  EXPECT_EQ(out.str(),
            "x = input() {shape = [2, 3], batch_axis = 0, dtype = \"f32\"}\n"
            "tanh0 = tanh(x)\n"
            "relu0 = relu(x)\n"
            "concat0 = concat(tanh0, relu0) {axis = 1}\n");
}

// Boxes for what the user wrote, not for what an operation owns; an arrow for each value that goes from one to another.
TEST_F(Dsl, DrawingsShowOperationsAndTheirParameters) {
  Symbol x = input("x", {batch(2), 3});
  Symbol w = parameter("shared", {4, 3});
  Symbol y = dense(x, {.units = 4, .weight = w});
  Symbol z = tanh(y) * 2 + dense(x, {.units = 4, .weight = w, .bias = false, .name = "skip"});
  std::string svg = to_svg(z);
  auto count = [&](const std::string& text) {
    size_t times = 0;
    for (size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(svg.rfind("<svg xmlns", 0), 0u);
  EXPECT_EQ(count("<rect x="), 8u);  // x, shared, dense, tanh, 2, mul, dense, add
  EXPECT_EQ(count("marker-end"), 9u);
  EXPECT_EQ(count(">shared<"), 1u);
  EXPECT_EQ(count(">+ bias<"), 1u);
  EXPECT_EQ(count(">units 4<"), 2u);
  EXPECT_EQ(count(">2x3<"), 1u);
  EXPECT_EQ(svg, to_svg(z));
  std::string path = testing::TempDir() + "/net.svg";
  draw(path, z);
  std::stringstream written;
  written << std::ifstream(path).rdbuf();
  EXPECT_EQ(written.str(), svg);
  EXPECT_EQ(errorOf([&] { draw("/nowhere/net.svg", z); }), "cannot write '/nowhere/net.svg'");
  EXPECT_EQ(errorOf([&] { draw(path, {x, Symbol()}); }), "draw is given an empty symbol or one of another model");
}

TEST_F(Dsl, SavedGroupsLoadTheSame) {
  std::string path = testing::TempDir() + "/group.json";
  Symbol x = input("x", {batch(2), 3});
  Group group = {dense(tanh(x), {.units = 4}), max_pool(reshape(x, {.shape = {0, 1, 1, 3}}), {.kernel = {1, 2}})};
  std::string text = to_string(group);
  save(path, group);
  Session other;
  SessionScope scope(other);
  Group loaded = load(path);
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_EQ(to_string(loaded), text);
}

TEST_F(Dsl, BadFilesAreErrors) {
  std::string path = testing::TempDir() + "/bad.json";
  auto loadText = [&](const std::string& text) {
    std::ofstream(path) << text;
    return errorOf([&] { load(path); });
  };
  std::string prefix = "'" + path + "': ";
  EXPECT_EQ(loadText("{"), prefix + "line 1: expected a string");
  EXPECT_EQ(loadText("[1, 2"), prefix + "line 1: expected ']'");
  EXPECT_EQ(loadText("{\"format\": \"x\"}"), prefix + "not symbol JSON");
  EXPECT_EQ(loadText("{\"format\": \"mxc-symbol\", \"version\": 1, \"files\": [], \"nodes\": [{\"op\": \"tanh\", \"name\": \"t\", "
                     "\"attributes\": {}, "
                     "\"inputs\": {\"input\": [0, 0]}}]}"),
            prefix + "there is no node 0 before this one");
  EXPECT_EQ(errorOf([] { load("/nowhere.json"); }), "cannot read '/nowhere.json'");
}

TEST_F(Dsl, StringsAreEscaped) {
  EXPECT_EQ(detail::jsonString("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(detail::jsonString("h\xc3\xa9\xff"), "\"h\xc3\xa9\\ufffd\"");
  EXPECT_EQ(detail::jsonNumber(0.1), "0.1");
  EXPECT_EQ(detail::jsonNumber(-1.0 / 0.0), "\"-inf\"");
}

TEST(DslOutside, NothingWorksOutsideAModel) {
  try {
    input("x", {3});
    FAIL();
  } catch (const ModelError& error) {
    EXPECT_STREQ(error.what(), "no model is being described: this belongs inside MXC_MODEL(name) { ... }");
  }
}

}  // namespace
