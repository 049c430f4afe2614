// Everything that most programs need: measure, serve, and read, compare and judge results as types.
// docs/api.md lists the other headers; loops of a user's own need run/connect.h, run/patterns.h and
// workload/epoch_io.h, fabrics and collectives those of their folders.
#pragma once

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/health/doctor.h"
#include "rdmabench/measure/histogram.h"
#include "rdmabench/report/documents.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/config.h"
#include "rdmabench/run/server.h"
