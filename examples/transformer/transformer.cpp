// examples/transformer/transformer.cpp: an encoder of two layers (Vaswani et al. 2017) that reads a digit row by row: each of the eight
// rows of pixels is a token.
//
//   ./transformer train --data 'csv:examples/data/digits.csv.gz?label=64&scale=16&holdout=0.2' --epochs 20 --schedule cosine
#include <mxc/mxc.h>

#include <cmath>
using namespace mxc;

constexpr int kTokens = 8, kWidth = 32, kHeads = 4;

// A dense layer on the last axis of [n, tokens, k].
Symbol per_token(Symbol x, int64_t k, int64_t units) {
  return reshape(dense(reshape(x, {.shape = {-1, k}}), {.units = units}), {.shape = {-1, kTokens, units}});
}

// [n, tokens, width] as [n, heads, tokens, width / heads].
Symbol split_heads(Symbol x) {
  return transpose(reshape(x, {.shape = {0, kTokens, kHeads, kWidth / kHeads}}), {.axes = {0, 2, 1, 3}});
}

Symbol attention(Symbol x) {
  Symbol query = split_heads(per_token(x, kWidth, kWidth));
  Symbol key = split_heads(per_token(x, kWidth, kWidth));
  Symbol value = split_heads(per_token(x, kWidth, kWidth));
  Symbol score = matmul(query, key, {.transpose_b = true}) / std::sqrt(1.0 * kWidth / kHeads);
  Symbol mixed = transpose(matmul(softmax(score), value), {.axes = {0, 2, 1, 3}});
  return per_token(reshape(mixed, {.shape = {0, kTokens, kWidth}}), kWidth, kWidth);
}

Symbol encoder_layer(Symbol x) {
  x = x + attention(layer_norm(x));
  Symbol h = per_token(gelu(per_token(layer_norm(x), kWidth, 4 * kWidth)), 4 * kWidth, kWidth);
  return x + dropout(h, {.rate = 0.1});
}

MXC_MODEL(transformer) {
  Symbol image = input("image", {batch(32), kTokens, 8});
  Symbol label = input("label", {batch(32)}, i32);

  Symbol place = parameter("place", {1, kTokens, kWidth}, {.init = normal(0, 0.1)});
  Symbol h = per_token(image, 8, kWidth) + place;
  for (int i = 0; i < 2; ++i) h = encoder_layer(h);
  Symbol logits = dense(mean(layer_norm(h), {.axes = {1}}), {.units = 10});

  minimize(softmax_cross_entropy(logits, label));
  report("accuracy", accuracy(logits, label));
  output("probability", softmax(logits));
  optimizer(adamw{.lr = 0.003, .weight_decay = 0.01});
}
