// All that a model, and the imperative code beside it, include.
#pragma once

#include "mxc/data.h"
#include "mxc/device.h"
#include "mxc/engine.h"
#include "mxc/error.h"
#include "mxc/executor.h"
#include "mxc/kvstore.h"
#include "mxc/model.h"
#include "mxc/ndarray.h"
#include "mxc/ops.h"
#include "mxc/parameter.h"
#include "mxc/random.h"
#include "mxc/symbol.h"
#include "mxc/types.h"
