// Damage to frames, as a generator decides it: bits, bytes, lengths, numbers of frames.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace mxc::kv::test {

inline void mutate_bytes(std::string& frame, std::mt19937_64& random) {
  const size_t at = frame.empty() ? 0 : random() % frame.size();
  switch (random() % 6) {
    case 0:
      if (!frame.empty()) frame[at] ^= static_cast<char>(1 << random() % 8);
      return;
    case 1:
      if (!frame.empty()) frame[at] = static_cast<char>(random());
      return;
    case 2: return frame.resize(at);
    case 3: frame.insert(at, 1 + random() % 9, static_cast<char>(random())); return;
    case 4:  // an extreme number
      for (size_t i = at; i < frame.size() && i < at + 4; ++i) frame[i] = '\xff';
      return;
    default: return;
  }
}

inline void mutate(std::vector<std::string>& frames, std::mt19937_64& random) {
  for (uint64_t times = random() % 4; times > 0 && !frames.empty(); --times) {
    const size_t which = random() % frames.size();
    if (random() % 16 != 0) {
      mutate_bytes(frames[which], random);
    } else if (random() % 2 == 0) {
      frames.push_back(frames[which]);
    } else {
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

}  // namespace mxc::kv::test
