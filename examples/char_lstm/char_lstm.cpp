// examples/char_lstm/char_lstm.cpp: the next character of a text, by long short-term memory (Hochreiter and Schmidhuber 1997)
// unrolled over a window: the cell is a function of symbols, its weights are shared over the places.
//
//   ./char_lstm train --data 'text:input.txt?holdout=0.05' --epochs 10
#include <mxc/mxc.h>

#include <vector>
using namespace mxc;

constexpr int kWindow = 32, kCharacters = 128, kWidth = 128;

struct Cell {
  Symbol input_weight = parameter("cell.input_weight", {4 * kWidth, kWidth}, {.init = xavier()});
  Symbol state_weight = parameter("cell.state_weight", {4 * kWidth, kWidth}, {.init = xavier()});
  Symbol bias = parameter("cell.bias", {4 * kWidth}, {.init = zeros()});
  Symbol hidden = {}, memory = {};  // empty before the first place: zero

  // Reads x [n, kWidth].
  void step(Symbol x) {
    Symbol gates = dense(x, {.units = 4 * kWidth, .weight = input_weight, .bias = bias});
    if (hidden) gates = gates + dense(hidden, {.units = 4 * kWidth, .weight = state_weight, .bias = false});
    auto gate = [&](int i) { return slice(gates, {.begin = {i * kWidth}, .end = {(i + 1) * kWidth}, .axes = {1}}); };
    Symbol fresh = sigmoid(gate(0)) * tanh(gate(1));
    memory = memory ? sigmoid(gate(2) + 1) * memory + fresh : fresh;  // at first, rather remember
    hidden = sigmoid(gate(3)) * tanh(memory);
  }
};

MXC_MODEL(char_lstm) {
  Symbol text = input("text", {batch(32), kWindow}, i32);
  Symbol next = input("next", {batch(32), kWindow}, i32);

  Symbol embedded = embedding(text, {.vocabulary = kCharacters, .units = kWidth});
  Cell cell;
  std::vector<Symbol> states;
  for (int64_t t = 0; t < kWindow; ++t) {
    cell.step(reshape(slice(embedded, {.begin = {t}, .end = {t + 1}, .axes = {1}}), {.shape = {0, kWidth}}));
    states.push_back(expand_dims(cell.hidden, {.axis = 1}));
  }
  Symbol state = reshape(concat(states, {.axis = 1}), {.shape = {-1, kWidth}});  // [n * kWindow, kWidth]
  Symbol logits = dense(state, {.units = kCharacters});
  Symbol label = reshape(next, {.shape = {-1}});

  minimize(softmax_cross_entropy(logits, label));  // nats for each character
  report("accuracy", accuracy(logits, label));
  output("probability", reshape(softmax(logits), {.shape = {-1, kWindow, kCharacters}}));
  optimizer(adam{.lr = 0.004, .clip = 1});
}
