// Owns the precompiled header of the runtime's tests; holds nothing.
#include "tests/runtime/pch.h"
