// examples/actor_critic/actor_critic.cpp: reinforcement learning (Sutton et al. 2000; Mnih et al. 2016). A cart balances a pole: the policy
// acts one state at a time (a batch of one), and learns from whole episodes (a batch as long as the episode): one compiled graph, any n.
//
//   ./actor_critic [EPISODES [FOLDER [THREADS]]]
//
// FOLDER keeps where a training is: it goes on from there, bit for bit as if it had not been left.
#include <mxc/mxc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>
using namespace mxc;

constexpr int kLongest = 200;  // steps of an episode

MXC_MODEL(actor_critic) {
  Symbol state = input("state", {batch(kLongest), 4});
  Symbol action = input("action", {batch(kLongest)}, i32);
  Symbol advantage = input("advantage", {batch(kLongest)});
  Symbol reward = input("return", {batch(kLongest)});  // all that came after, discounted

  Symbol h = tanh(dense(state, {.units = 64}));
  Symbol logits = dense(h, {.units = 2});
  Symbol value = reshape(dense(tanh(dense(state, {.units = 64})), {.units = 1}), {.shape = {-1}});

  minimize(softmax_cross_entropy(logits, action) * advantage + square(value - reward));
  output("policy", softmax(logits));
  output("value", value);
  optimizer(adam{.lr = 0.01});
}

// The cart and the pole of Barto, Sutton and Anderson (1983); an episode ends when the pole leans by 12 degrees or the cart has gone 2.4 m.
struct CartPole {
  float x = 0, speed = 0, angle = 0, turn = 0;

  explicit CartPole(std::mt19937& random) {
    std::uniform_real_distribution<float> small(-0.05f, 0.05f);
    for (float* value : {&x, &speed, &angle, &turn}) *value = small(random);
  }
  std::vector<float> state() const { return {x, speed, angle, turn}; }
  bool fell() const { return std::abs(x) > 2.4f || std::abs(angle) > 12 * 3.14159265f / 180; }
  void push(bool right) {
    constexpr float kTime = 0.02f, kPole = 0.1f, kTotal = 1.1f, kHalf = 0.5f;
    const float sine = std::sin(angle), cosine = std::cos(angle);
    const float drive = ((right ? 10.0f : -10.0f) + kPole * kHalf * turn * turn * sine) / kTotal;
    const float turning = (9.8f * sine - cosine * drive) / (kHalf * (4.0f / 3 - kPole * cosine * cosine / kTotal));
    x += kTime * speed;
    speed += kTime * (drive - kPole * kHalf * turning * cosine / kTotal);
    angle += kTime * turn;
    turn += kTime * turning;
  }
};

int main(int argc, char** argv) {
  const int episodes = argc > 1 ? std::atoi(argv[1]) : 300, threads = argc > 3 ? std::atoi(argv[3]) : 0;
  const std::string folder = argc > 2 ? argv[2] : "", kept = folder + "/net.safetensors", kept_recent = folder + "/recent.npy";
  set_engine({.threads = threads});
  Executor net(actor_critic, cpu(), {.seed = 1, .threads = threads});
  double recent = 0;
  if (!folder.empty() && std::filesystem::exists(kept)) {
    net.load(kept);
    recent = NDArray::load(kept_recent).item<double>();
  }
  for (int episode = static_cast<int>(net.steps()) + 1; episode <= episodes; ++episode) {  // an episode is a step of training
    std::mt19937 random(static_cast<unsigned>(episode));
    std::uniform_real_distribution<float> chance(0, 1);
    CartPole cart(random);
    std::vector<float> states;
    std::vector<int32_t> actions;
    while (!cart.fell() && actions.size() < kLongest) {
      const std::vector<float> state = cart.state();
      net["state"] = NDArray::from(state, {1, 4});
      net.forward();
      const bool right = chance(random) < NDArray(net["policy"]).at({0, 1}).item<float>();
      states.insert(states.end(), state.begin(), state.end());
      actions.push_back(right);
      cart.push(right);
    }
    const int64_t n = static_cast<int64_t>(actions.size());
    std::vector<float> returns(actions.size());
    float later = 0;
    for (size_t i = actions.size(); i-- > 0;) returns[i] = (later = 1 + 0.99f * later) / 100;

    net["state"] = NDArray::from(states, {n, 4});
    net["return"] = NDArray::from(returns);
    net.forward();
    net["action"] = NDArray::from(actions);
    net["advantage"] = NDArray::from(returns) - net["value"];  // how much better than expected
    net.step();

    recent += (static_cast<double>(n) - recent) / (episode < 20 ? episode : 20);
    if (episode % 50 == 0 || episode == 20) std::printf("episode %d: %.1f steps\n", episode, recent);
  }
  if (folder.empty()) return 0;
  std::filesystem::create_directories(folder);
  net.save(kept);
  save(kept_recent, NDArray::from(std::vector<double>{recent}));
}
