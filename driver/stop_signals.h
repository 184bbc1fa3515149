// The first SIGINT or SIGTERM is for the workers, who may want to save: it is noted, to be handed on, and mxc waits for them. After it the handlers that were there
// before are back: the next ends mxc, and all with it.
#pragma once

namespace mxc::driver {

// Notes signals while it lives; one at a time, for what a handler writes is global.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The one that has come; 0: none.
  int received() const;
};

}  // namespace mxc::driver
