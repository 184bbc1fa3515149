// examples/recommender/recommender.cpp: ratings as products of a vector for each user and one for each item, and how generous the
// one and how liked the other is (Koren, Bell and Volinsky 2009).
//
//   ./recommender train --data 'csv:ratings.csv?user=0&item=1&rating=2&holdout=0.1' --epochs 30
#include <mxc/mxc.h>
using namespace mxc;

constexpr int kUsers = 200, kItems = 100, kFactors = 8;

MXC_MODEL(recommender) {
  Symbol user = input("user", {batch(256)}, i32);
  Symbol item = input("item", {batch(256)}, i32);
  Symbol rating = input("rating", {batch(256)});

  // The factors decay, so that few ratings do not make large ones; the level does not.
  Symbol p = embedding(user, {.vocabulary = kUsers, .units = kFactors, .weight = normal(0, 0.3)});
  Symbol q = embedding(item, {.vocabulary = kItems, .units = kFactors, .weight = normal(0, 0.3)});
  Symbol generous = reshape(embedding(user, {.vocabulary = kUsers, .units = 1, .weight = zeros()}), {.shape = {0}});
  Symbol liked = reshape(embedding(item, {.vocabulary = kItems, .units = 1, .weight = zeros()}), {.shape = {0}});
  Symbol level = parameter("level", {1}, {.init = zeros(), .wd_mult = 0});
  Symbol guess = sum(p * q, {.axes = {1}}) + generous + liked + level;

  minimize(mse_loss(guess, rating));
  report("error", l1_loss(guess, rating));
  output("rating", guess);
  optimizer(adamw{.lr = 0.02, .weight_decay = 0.02});
}
