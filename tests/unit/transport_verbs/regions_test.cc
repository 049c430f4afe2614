// Messages between many regions of the caller over the fake device, and what a peer may not say of
// its own.
#include "../regions.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::regions_test {
namespace {

using ::testing::HasSubstr;

/// Connected endpoints, each with three buffers of its own.
template <class E>
struct RegionPair {
  explicit RegionPair(const EndpointRequest& request)
      : RegionPair(request, choice_for(request), other_side(request)) {}
  RegionPair(EndpointRequest request, const Choice& choice, EndpointRequest other)
      : client((request.buffers = spans(mine), request), choice.client),
        server((other.buffers = spans(theirs), other), choice.server) {
    server.connect(client.address());
    client.connect(server.address());
  }

  Buffers mine = three_buffers(1);
  Buffers theirs = three_buffers(4);
  E client;
  E server;
};

template <class E>
class Regions : public OnFakeVerbs {};

using WithRegions = ::testing::Types<Endpoint, GeneralEndpoint, ExtendedEndpoint>;
TYPED_TEST_SUITE(Regions, WithRegions);

/// What makes with_endpoint_type() choose it.
template <class E>
EndpointRequest request_for() {
  EndpointRequest request = widened(small_request());
  request.options.post_list = 3;
  if (std::is_same_v<E, GeneralEndpoint>) request.options.segments = 3;
  if (E::kForExtended) request.operations.add(OperationCode::flush);
  return request;
}

TYPED_TEST(Regions, MoveBetweenAnyTwo) {
  if (TypeParam::kForExtended) {
    fake_verbs::Device newer = fake_verbs::soft_roce();
    newer.capabilities = std::uint64_t{1} << 38;  // flushes
    fake_verbs::reset({newer});
  }
  RegionPair<TypeParam> pair(request_for<TypeParam>());
  std::vector<Received> arrived;
  move_between_regions(pair.client, pair.mine, pair.theirs, arrived, [&] {
    poll_once(pair.client);
    for (const Received& received : take(pair.server)) arrived.push_back(received);
  });
  refuse_what_is_no_region(pair.client);
}

class RegionBounds : public OnFakeVerbs {};

TEST_F(RegionBounds, AtomicsFindTheirRegions) {
  RegionPair<Endpoint> pair(only(Service::rc, OperationCode::fetch_add));
  std::uint64_t& counter = *reinterpret_cast<std::uint64_t*>(pair.theirs[2].data() + 16);
  counter = 40;
  for (int i = 0; i < 2; ++i) {
    const RegionMessage add{
        .local = 1, .remote = 2, .local_at = 8, .remote_at = 16, .bytes = kAtomicBytes};
    ASSERT_EQ(pair.client.post<FetchAdd>(add, Signal::now), PostStatus::posted);
    ASSERT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  }
  EXPECT_EQ(counter, 42U);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(pair.mine[1].data() + 8), 41U);
}

TEST_F(RegionBounds, DatagramsLeaveFromAnyRegion) {
  RegionPair<DatagramEndpoint> pair(only(Service::ud));
  const RegionMessage message{.local = 2, .remote = 9, .local_at = 30, .bytes = 200};
  ASSERT_EQ(pair.client.post<Send>(message, Signal::now), PostStatus::posted);
  ASSERT_EQ(take(pair.server).size(), 1U);
  EXPECT_EQ(std::memcmp(pair.server.receive_region().data, pair.mine[2].data() + 30, 200), 0);
}

TEST_F(RegionBounds, RefusesBuffersThatItCannotHave) {
  const auto refusal = [](auto change) {
    EndpointRequest request = small_request();
    const Choice choice = choice_for(request);
    change(request);
    return complaint([&] { const GeneralEndpoint endpoint(request, choice.client); }, Fault::usage);
  };
  std::vector<std::byte> memory(300);
  EXPECT_THAT(refusal([&](auto& r) { r.buffers = {memory, {}}; }), HasSubstr("is empty"));
  EXPECT_THAT(refusal([&](auto& r) { r.buffers.assign(kMaxRegions + 1, memory); }),
              HasSubstr("1025 `buffers`"));
  EXPECT_THAT(refusal([&](auto& r) {
                r.buffers = {memory, memory};
                r.options.queue_pairs = 2;
                r.options.verbs.region_per_queue_pair = true;
              }),
              HasSubstr("`region_per_queue_pair`"));
}

TEST_F(RegionBounds, ReadsNoRegionOutOfBounds) {
  using nlohmann::json;
  Buffers mine = three_buffers(1);
  EndpointRequest request = small_request();
  request.buffers = spans(mine);
  const Endpoint server(other_side(request), choice_for(request).server);
  const json good = json::parse(server.address());
  ASSERT_EQ(good["regions"].size(), 2U);
  const auto refused = [&](const json& regions) {
    Endpoint client(request, choice_for(request).client);
    json bad = good;
    bad["regions"] = regions;
    EXPECT_THROW(client.connect(bad.dump()), Error) << regions.dump().substr(0, 200);
  };
  const auto with = [&](const char* key, const json& value) {
    json one = good["regions"][0];
    one[key] = value;
    return json::array({one});
  };
  refused(7);
  refused({7});
  refused({json::object()});
  refused(json(std::vector<json>(kMaxRegions, good["regions"][0])));
  refused(with("address", 0));
  refused(with("bytes", 0));
  refused(with("bytes", ~std::uint64_t{0}));
  refused(with("address", ~std::uint64_t{0}));
  refused(with("key", std::uint64_t{1} << 32));
  refused(with("key", -1));
  Endpoint client(request, choice_for(request).client);
  client.connect(good.dump());
  EXPECT_EQ(client.peer_region_bytes(2), 2000U);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::regions_test
