// Whether the devices carried what was measured, by made-up counters.
#include <gmock/gmock.h>

#include "../has_all.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr double kMega = 1e6;

DeviceBytes measured(const char* device, double planned, std::optional<double> counted) {
  return {.device = device, .planned = planned * kMega, .measurements = 2, .counted = counted};
}
DeviceBytes other(const char* device, double counted) {
  return {.device = device, .counted = counted * kMega};
}

Matrix matrix_of(std::vector<NodeBytes> bytes) {
  Matrix matrix;
  for (NodeBytes& node : bytes) {
    node.told = true;
    matrix.nodes.push_back({.rank = node.rank, .host = "host" + std::to_string(node.rank)});
  }
  matrix.bytes = std::move(bytes);
  return matrix;
}

TEST(Prove, ADeviceThatCountedTheBytesPasses) {
  const auto findings = prove(matrix_of(
      {{.rank = 0, .devices = {measured("mlx5_0", 1000, 1030 * kMega), other("eth0", 2)}}}));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[0].subject, "mlx5_0 of node 0 (host0)");
  EXPECT_THAT(findings[0].text, has_all("sent 1030 MB", "sent 1000 MB"));
}

TEST(Prove, TheNodeWhoseBytesWentAnotherWayFailsWithItsName) {
  const auto findings = prove(
      matrix_of({{.rank = 0, .devices = {measured("mlx5_0", 1000, 1030 * kMega)}},
                 {.rank = 1, .devices = {measured("mlx5_0", 1000, 3 * kMega), other("eth0", 1100)}},
                 {.rank = 2, .devices = {measured("mlx5_0", 1000, 0.0), other("eth0", 20)}}}));
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::fail);
  EXPECT_EQ(findings[1].subject, "mlx5_0 of node 1 (host1)");
  EXPECT_THAT(findings[1].text, has_all("it sent 3 MB", "sent 1000 MB", "; sent by eth0 1100 MB"));
  EXPECT_EQ(findings[2].status, Status::fail);
  EXPECT_THAT(findings[2].text, HasSubstr("no other device"));
}

TEST(Prove, OneRailOfTwoIsNotEnough) {
  const auto findings = prove(matrix_of(
      {{.rank = 0,
        .devices = {measured("mlx5_0", 1000, 2060 * kMega), measured("mlx5_1", 1000, 0.0)}}}));
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].status, Status::pass);
  EXPECT_EQ(findings[1].status, Status::fail);
  EXPECT_THAT(findings[1].text, HasSubstr("sent by mlx5_0 2060 MB"));
}

TEST(Prove, WithoutACounterItIsOpen) {
  const auto findings = prove(matrix_of(
      {{.rank = 0, .devices = {measured("rxe0", 1000, std::nullopt), other("eth0", 1100)}}}));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].status, Status::open);
  EXPECT_THAT(findings[0].text, has_all("counted no bytes", "by eth0 1100 MB"));
}

TEST(Prove, ACounterAtItsEndProvesWhatItCounted) {
  const auto finding = [](double counted) {
    DeviceBytes full = measured("mlx5_0", 1000, counted);
    full.at_least = true;
    return prove(matrix_of({{.rank = 0, .devices = {full}}})).at(0);
  };
  EXPECT_EQ(finding(900 * kMega).status, Status::pass);
  EXPECT_EQ(finding(0).status, Status::open);
  EXPECT_THAT(finding(0).text, HasSubstr("its counter is at its end"));
}

TEST(Prove, TooLittleProvesNothing) {
  const auto findings =
      prove(matrix_of({{.rank = 0, .devices = {measured("mlx5_0", 0.1, 5 * kMega)}}}));
  EXPECT_EQ(findings[0].status, Status::open);
  EXPECT_THAT(findings[0].text, HasSubstr("too little"));
}

TEST(Prove, ANodeThatTellsNothingIsOpen) {
  Matrix matrix = matrix_of({{.rank = 0}, {.rank = 1}});
  matrix.bytes[1].told = false;
  const auto findings = prove(matrix);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].status, Status::open);
  EXPECT_THAT(findings[0].text, HasSubstr("nothing was measured"));
  EXPECT_EQ(findings[1].status, Status::open);
  EXPECT_THAT(findings[1].text, HasSubstr("did not tell"));
}

/// They see the same counters, which have to hold the bytes of both.
TEST(Prove, TheRanksOfAHostAreOne) {
  const auto both = [](double counted) {
    Matrix matrix = matrix_of({{.rank = 0, .devices = {measured("eth0", 1000, counted * kMega)}},
                               {.rank = 1, .devices = {measured("eth0", 1000, counted * kMega)}}});
    matrix.nodes[1].host = "host0";
    return prove(matrix);
  };
  ASSERT_THAT(both(2000), SizeIs(1));
  EXPECT_EQ(both(2000)[0].status, Status::pass);
  EXPECT_EQ(both(900)[0].status, Status::fail);
  EXPECT_EQ(both(900)[0].subject, "eth0 of nodes 0, 1 (host0)");
}

TEST(Prove, OfAReadTheInitiatorsDeviceReceives) {
  Matrix matrix = matrix_of({{.rank = 0, .devices = {measured("mlx5_0", 1000, 1030 * kMega)}}});
  matrix.plan.operation = "read";
  EXPECT_THAT(prove(matrix)[0].text, has_all("received 1030 MB", "received 1000 MB"));
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric
