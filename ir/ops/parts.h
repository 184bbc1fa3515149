// The parts family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/parts.h.inc"
