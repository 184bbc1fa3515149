// Precompiled: the headers that cost most.
#pragma once
#include <CLI/CLI.hpp>

#include "ir/mlir_pch.h"
