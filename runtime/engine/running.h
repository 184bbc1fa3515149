// What a thread is doing for a dispatcher.
#pragma once

namespace mxc::engine {

class Dispatcher;

// The dispatcher of whose operations this thread runs a body. What such a body calls must neither wait nor run others in its place.
inline thread_local const Dispatcher* running_dispatcher = nullptr;

// The lane (of whichever dispatcher) that this thread belongs to; null: none.
inline thread_local const void* own_lane = nullptr;

// This thread makes what operations that are queued wait for (a server's values): were its pushes to wait for room, room might never come.
inline thread_local bool serves_operations = false;

}  // namespace mxc::engine
