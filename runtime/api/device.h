// Where an array lies.
#pragma once

#include <string>

namespace mxc {

// Arrays of one operation lie on one device; NDArray::to copies to another. Devices of the kind `cpu` differ by name alone: all are this
// machine's memory.
struct Device {
  enum class Kind { cpu };
  Kind kind = Kind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

inline Device cpu(int index = 0) { return {Device::Kind::cpu, index}; }

// "cpu(0)".
inline std::string to_string(Device device) { return "cpu(" + std::to_string(device.index) + ")"; }

}  // namespace mxc
