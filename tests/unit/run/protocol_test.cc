#include "rdmabench/run/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rdmabench/base/error.h"

namespace rdmabench::run {
namespace {

using ::testing::HasSubstr;

Request sample() {
  Request request;
  request.spec.shape = workload::Shape::stream;
  request.spec.operation = transport::OperationCode::write_imm;
  request.spec.max_size = 4096;
  request.spec.depth = 64;
  request.spec.signal_every = 16;
  request.spec.provider = "tcp";
  request.offers = {{"verbs", "", "no device"}, {"ofi", "{}", ""}};
  return request;
}

std::string complaint(const std::string& from, const std::string& to) {
  std::string text = to_text(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    parse_request(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Protocol, ARequestSurvivesTheWire) {
  const Request got = parse_request(to_text(sample()));
  EXPECT_EQ(got.spec.shape, workload::Shape::stream);
  EXPECT_EQ(got.spec.operation, transport::OperationCode::write_imm);
  EXPECT_EQ(got.spec.max_size, 4096U);
  EXPECT_EQ(got.spec.signal_every, 16U);
  EXPECT_EQ(got.spec.inline_limit, -1);
  EXPECT_EQ(got.spec.provider, "tcp");
  EXPECT_EQ(got.spec.timeout, std::chrono::seconds(10));
  ASSERT_EQ(got.offers.size(), 2U);
  EXPECT_EQ(got.offers[0].error, "no device");
}

TEST(Protocol, RefusesValuesThatWouldHarmTheServer) {
  EXPECT_THAT(complaint("\"max_size_bytes\":4096", "\"max_size_bytes\":99999999999"),
              HasSubstr("max_size_bytes"));
  EXPECT_THAT(complaint("\"depth\":64", "\"depth\":0"), HasSubstr("depth"));
  EXPECT_THAT(complaint("\"depth\":64", "\"depth\":4294967296"), HasSubstr("depth"));
  EXPECT_THAT(complaint("\"signal_every\":16", "\"signal_every\":65"), HasSubstr("signal_every"));
  EXPECT_THAT(complaint("\"timeout_ms\":10000", "\"timeout_ms\":86400000"), HasSubstr("timeout"));
  EXPECT_THAT(complaint("\"write-imm\"", "\"format-disk\""), HasSubstr("format-disk"));
  EXPECT_THAT(complaint("\"bandwidth\"", "7"), HasSubstr("test"));
}

TEST(Protocol, AnEpochMayNotPassTheSession) {
  const SessionSpec spec{.max_size = 64};
  EXPECT_EQ(parse_epoch_order(to_text(EpochOrder{64, 10}), spec).iterations, 10U);
  EXPECT_THROW(parse_epoch_order(to_text(EpochOrder{65, 10}), spec), Error);
  EXPECT_THROW(parse_epoch_order(to_text(EpochOrder{64, 0}), spec), Error);
  EXPECT_THROW(parse_epoch_order(to_text(EpochOrder{64, kMaxEpoch + 1}), spec), Error);
}

TEST(Protocol, FactsKeepTheirKindAndBadBytesDoNoHarm) {
  Introduction introduction{.address = "a",
                            .environment = {{"hostname", std::string("n\xff")},
                                            {"cpus", std::uint64_t{2}},
                                            {"ghz", 2.5},
                                            {"smt", true}}};
  const Introduction got = parse_introduction(to_text(introduction));
  ASSERT_EQ(got.environment.size(), 4U);
  EXPECT_EQ(std::get<std::uint64_t>(got.environment[1].value), 2U);
  EXPECT_EQ(std::get<double>(got.environment[2].value), 2.5);
  EXPECT_EQ(std::get<bool>(got.environment[3].value), true);
}

TEST(EndpointRequest, IsTheSameOnBothSidesButForTheRole) {
  const SessionSpec spec{.shape = workload::Shape::stream, .max_size = 1 << 20, .depth = 128};
  const auto client = endpoint_request(spec, true);
  const auto server = endpoint_request(spec, false);
  EXPECT_TRUE(client.client);
  EXPECT_FALSE(server.client);
  EXPECT_EQ(client.send_slots, server.send_slots);
  EXPECT_EQ(client.receives, server.receives);
}

TEST(EndpointRequest, KeepsWhatArrivesApartWhenItMustBeChecked) {
  SessionSpec spec{.shape = workload::Shape::stream, .max_size = 1 << 20, .depth = 128};
  EXPECT_EQ(endpoint_request(spec, true).receive_slots, 1U);
  spec.validate = true;
  const auto request = endpoint_request(spec, true);
  EXPECT_EQ(request.receives, request.receive_slots);
  EXPECT_EQ(request.receives, 16U);  // 16 MiB of them
  EXPECT_EQ(memory_of(request), std::uint64_t{48} << 20);
}

TEST(EndpointRequest, AsksForCompletionsWithinTheSlotsItMayFill) {
  SessionSpec spec{.shape = workload::Shape::stream,
                   .max_size = 1 << 20,
                   .depth = 128,
                   .signal_every = 32,
                   .validate = true};
  for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{1} << 20, kMaxSize}) {
    spec.max_size = size;
    const auto request = endpoint_request(spec, true);
    EXPECT_LE(request.depth, request.send_slots);
    EXPECT_LE(request.signal_every, request.depth);
  }
}

}  // namespace
}  // namespace rdmabench::run
