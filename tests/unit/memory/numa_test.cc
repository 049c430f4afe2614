#include "memory/numa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "../folder.h"
#include "rdmabench/features.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::memory {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kPageBytes = 4096;

TEST(NumaNodes, AreTheKernelsList) {
  const Folder root;
  EXPECT_THAT(numa_nodes(root.path()), ElementsAre(0));
  root.write("sys/devices/system/node/online", "0-2,5\n");
  EXPECT_THAT(numa_nodes(root.path()), ElementsAre(0, 1, 2, 5));
  root.write("sys/devices/system/node/online", "0-x\n");
  EXPECT_THAT(numa_nodes(root.path()), ElementsAre(0));
}

TEST(NodeNear, IsTheDevicesOrItsNetworkDevices) {
  const Folder root;
  root.write("sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
  root.write("sys/class/infiniband/mlx5_1/device/numa_node", "-1\n");
  root.write("sys/class/infiniband/rxe0/parent", "eth0\n");
  root.write("sys/class/net/eth0/device/numa_node", "2\n");
  root.write("sys/class/infiniband/rxe1/parent", "lo\n");
  EXPECT_EQ(node_near("mlx5_0", root.path()), 1);
  EXPECT_EQ(node_near("mlx5_1", root.path()), -1);
  EXPECT_EQ(node_near("rxe0", root.path()), 2);
  EXPECT_EQ(node_near("rxe1", root.path()), -1);
  root.write("sys/bus/pci/devices/0000:c1:00.0/numa_node", "3\n");
  EXPECT_EQ(node_near("eth0", root.path()), 2);
  EXPECT_EQ(node_near("0000:c1:00.0", root.path()), 3);
  EXPECT_EQ(node_near("none", root.path()), -1);
  EXPECT_EQ(node_near("", root.path()), -1);
  EXPECT_EQ(node_near("../infiniband/mlx5_0", root.path()), -1);
}

TEST(NodePages, AreCountedWhereTheyAre) {
  const Buffer buffer(10 * kPageBytes);
  const std::vector<NodePages> places = buffer.nodes();
  std::uint64_t pages = 0;
  for (const NodePages& place : places) {
    EXPECT_THAT(numa_nodes(), testing::Contains(place.node));
    pages += place.pages;
  }
  EXPECT_EQ(pages, places.empty() ? 0U : 10U);  // a container may forbid the question
}

TEST(NodePages, AreReadable) {
  EXPECT_EQ(to_text({{-1, 2}, {0, 1}, {3, 7}}),
            "unknown node: 2 pages, node 0: 1 page, node 3: 7 pages");
  EXPECT_EQ(to_text(std::vector<NodePages>{}), "unknown");
}

TEST(NumaPlacement, OnANodeThatIsNotThereListsThoseThatAre) {
  const Request request{.numa = {.place = Numa::Place::node, .number = 999}};
  const Error error = complaint([&] { Buffer(request, kPageBytes); });
  EXPECT_EQ(error.fault(), Fault::usage);
  EXPECT_THAT(error.what(), HasSubstr("no NUMA node 999. Available: 0"));
}

TEST(NumaPlacement, OnANodeIsKeptToOrRefused) {
  const int node = numa_nodes().back();
  const Request request{.numa = {.place = Numa::Place::node, .number = node}};
  const Buffer buffer(request, 5 * kPageBytes);
  EXPECT_EQ(buffer.placement(), "requested: node " + std::to_string(node));
  EXPECT_THAT(buffer.nodes(), AnyOf(IsEmpty(), ElementsAre(NodePages{node, 5})));
}

TEST(NumaPlacement, NearADeviceOfNoKnownNodeIsAnywhereAndSaysSo) {
  const Numa near{.place = Numa::Place::near};
  EXPECT_THAT(Buffer({.numa = near}, kPageBytes).placement(),
              has_all("any node: ", "no RDMA device"));
  EXPECT_THAT(Buffer({.numa = near, .device = "nowhere0"}, kPageBytes).placement(),
              has_all("any node: ", "nowhere0"));
  EXPECT_EQ(Buffer(kPageBytes).placement(), "any node");
}

}  // namespace
}  // namespace rdmabench::inline v1::memory
