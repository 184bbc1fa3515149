// ForkMark: tells whether this process is a fork of the one that made the object. Threads do not survive a fork: who owns some has to know.
#pragma once

namespace mxc::core {

class ForkMark {
 public:
  ForkMark();
  bool inherited() const;  // costs a load

 private:
  int generation_;
};

}  // namespace mxc::core
