// Everything that most programs need: measure, serve, and read results as types. docs/api.md lists
// the other headers; loops of a user's own need run/connect.h, run/patterns.h and
// workload/epoch_io.h.
#pragma once

#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/report/result.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/config.h"
#include "rdmabench/run/server.h"
