// Precompiled for all tests of the runtime.
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/pch.h"
