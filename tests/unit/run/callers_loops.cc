// A program that compiles the loops over the loop back end itself, with options of its own.
#include <gtest/gtest.h>

#include "rdmabench/run/client.h"
#include "rdmabench/run/worker.h"
#include "rdmabench/transport/loop/endpoint.h"

template class rdmabench::run::WorkerOf<rdmabench::transport::loop::Endpoint>;

TEST(CallersLoops, ARunUsesThoseOfTheLibrary) {
  rdmabench::run::Config config;
  config.backend = "loop";
  config.stop = rdmabench::measure::StopRule::iterations(100);
  config.traffic.watch = false;
  EXPECT_EQ(rdmabench::run::run_in_process(config).error, std::nullopt);
}
