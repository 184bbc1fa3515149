// Debian's libzmq is not built for ThreadSanitizer: how its threads order memory is not seen, and what they do to memory is not to be judged.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libzmq.so.5\n"; }
