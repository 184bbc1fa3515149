# The core links into C programs: no undefined C++ symbol but our own, no exception or RTTI support.
# Usage: cmake -DNM=nm -DLIBRARY=libmxc_runtime_core.a -P no_cxx_runtime.cmake
execute_process(COMMAND ${NM} -u ${LIBRARY} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "U (_Z[^\n]*|__cxa[^\n]*|__gxx[^\n]*)" found "${symbols}")
list(FILTER found EXCLUDE REGEX "^U _ZN?K?[A-Z]*3mxc")
if(found)
  message(FATAL_ERROR "the core needs a C++ runtime library: ${found}")
endif()
