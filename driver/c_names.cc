// See c_names.h.
#include "driver/c_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace mxc::driver {

namespace {

// clang-format off: lists, not columns.
// Keywords of C99 to C23, of C++ to C++26, and GNU's; what the headers of the C library define as macros; types that fields have.
constexpr const char* kReserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "contract_assert", "decltype", "default", "delete",
    "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
    "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict",
    "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template",
    "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union",
    "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "BUFSIZ", "EOF",
    "EXIT_FAILURE", "EXIT_SUCCESS", "FALSE", "HUGE_VAL", "I", "INFINITY", "NAN", "NULL", "RAND_MAX", "TRUE", "arm",
    "assert", "complex", "errno", "i386", "imaginary", "linux", "math_errhandling", "mips", "noreturn", "offsetof",
    "signbit", "sparc", "stderr", "stdin", "stdout", "unix", "int8_t", "int32_t", "int64_t", "size_t", "uint8_t",
    "uint16_t", "uint64_t"};

// Of the functions of a library these end as others begin: a model's name with that end would give another model's names.
constexpr const char* kAmbiguousEnds[] = {
    "_batch", "_get", "_other", "_set", "_train", "_train_all", "_wrong"};

// With these in front, open, create, init and destroy are functions of the C library.
constexpr const char* kOfTheSystem[] = {
    "cnd", "epoll", "inotify", "main", "memfd", "mq", "mtx", "pthread", "sem", "shm", "std", "thrd", "timer", "timerfd",
    "tss"};

// Functions and objects of the C library, whose names no namespace can have.
constexpr const char* kNoNamespaces[] = {
    "abort", "abs", "accept", "access", "acos", "alarm", "asin", "atan", "bind", "bsearch", "cbrt", "ceil", "clock",
    "clone", "close", "connect", "cos", "cosh", "daemon", "div", "dup", "environ", "erf", "exit", "exp", "exp2", "fabs",
    "fdim", "floor", "fma", "fmax", "fmin", "fmod", "fork", "free", "gamma", "hypot", "index", "isalpha", "j0", "j1",
    "jn", "kill", "labs", "ldexp", "lgamma", "link", "listen", "log", "log10", "log2", "logb", "malloc", "modf", "nice",
    "open", "pause", "pipe", "poll", "pow", "printf", "puts", "qsort", "raise", "rand", "random", "read", "recv",
    "remove", "rename", "rint", "round", "scanf", "select", "send", "signal", "sin", "sinh", "sleep", "socket", "sqrt",
    "stat", "stime", "swab", "sync", "system", "tan", "tanh", "time", "times", "timezone", "trunc", "umask", "uname",
    "unlink", "vfork", "wait", "write", "y0", "y1", "yn"};

// clang-format on

template <size_t kCount>
bool isOneOf(const char* const (&list)[kCount], llvm::StringRef text) {
  return llvm::is_contained(list, text);
}

// SIZE_MAX, UINT64_C and their like.
bool isLimit(llvm::StringRef name) {
  bool capitals = llvm::none_of(name, llvm::isLower);
  return capitals && (name.ends_with("_MAX") || name.ends_with("_MIN") || name.ends_with("_C"));
}

bool isReserved(llvm::StringRef name) {
  bool underscored = name.size() > 1 && name[0] == '_' && (name[1] == '_' || llvm::isUpper(name[1]));
  return underscored || isOneOf(kReserved, name) || isLimit(name);
}

}  // namespace

std::string cIdentifier(const std::string& name) {
  std::string text;
  for (char c : name) text += llvm::isAlnum(c) ? c : '_';
  if (text.empty() || llvm::isDigit(text[0])) text = "_" + text;
  return isReserved(text) ? text + "_" : text;
}

std::string libraryPrefix(const std::string& model) {
  std::string name = cIdentifier(model), small = llvm::StringRef(name).lower();
  bool ambiguous = llvm::any_of(kAmbiguousEnds, [&](const char* end) { return llvm::StringRef(small).ends_with(end); });
  return ambiguous || isOneOf(kOfTheSystem, name) ? name + "_" : name;
}

std::string namespaceOf(const std::string& prefix) { return isOneOf(kNoNamespaces, prefix) ? prefix + "_" : prefix; }

std::string commentText(llvm::StringRef text) {
  std::string made;
  for (char c : text) {
    bool opens_or_ends = !made.empty() && ((made.back() == '*' && c == '/') || (made.back() == '/' && c == '*'));
    if (opens_or_ends) made += ' ';
    made += llvm::isPrint(c) || (c & 0x80) ? c : ' ';
  }
  return made;
}

}  // namespace mxc::driver
