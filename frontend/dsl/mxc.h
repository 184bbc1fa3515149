// All that a model includes.
#pragma once

#include "mxc/model.h"
#include "mxc/ops.h"
#include "mxc/parameter.h"
#include "mxc/symbol.h"
#include "mxc/types.h"
