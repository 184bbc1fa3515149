// Debian's libzmq, and libsodium below it, are not built for ThreadSanitizer: how their threads order memory is not seen, and what they do
// to memory is not to be judged.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libzmq.so.5\ncalled_from_lib:libsodium.so\n"; }
