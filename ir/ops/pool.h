// The pool family.
#pragma once
#include "ir/mx.h"
#define GET_OP_CLASSES
#include "ir/ops/pool.h.inc"
