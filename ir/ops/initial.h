// The initial family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/initial.h.inc"
