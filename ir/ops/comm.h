// The comm family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/comm.h.inc"
