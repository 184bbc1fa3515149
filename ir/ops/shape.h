// The shape family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/shape.h.inc"
