// Everything of bp::torch, for programs that include torch/torch.h.
#pragma once

#include "bp/torch/collective.h"
#include "bp/torch/distributed_optimizer.h"
#include "bp/torch/make_distributed.h"
#include "bp/torch/portable_steps.h"
#include "bp/torch/sampler.h"
#include "bp/torch/work_shares.h"
