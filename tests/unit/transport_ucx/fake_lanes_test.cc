// The lanes of an endpoint as each release of UCX tells them: 1.13 by what it prints, 1.14 and
// newer by ucp_ep_query(), of which this fake does what ucp_ep_query_transport() in ucp_ep.c
// of 1.14 to 1.22 does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "transport/ucx/context.h"

namespace {

struct Library {
  unsigned major = 1;
  unsigned minor = 13;
  std::vector<std::pair<const char*, const char*>> lanes{};
  ucs_status_t answer = UCS_OK;
  unsigned room = 0;  ///< what the caller had
};
Library library;

/// Of 1.14; later ones end with more.
struct Attributes {
  std::uint64_t field_mask;
  char name[UCP_ENTITY_NAME_MAX];
  sockaddr_storage local;
  sockaddr_storage remote;
  void* entries;
  unsigned num_entries;
  std::size_t entry_size;
};

}  // namespace

extern "C" {

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = library.major;
  *minor = library.minor;
  *release = 1;
}

ucs_status_t ucp_ep_query(ucp_ep_h /*ep*/, ucp_ep_attr_t* asked) {
  auto& attributes = *reinterpret_cast<Attributes*>(asked);
  EXPECT_GE(library.minor, 14U);
  EXPECT_EQ(attributes.field_mask, 8U);
  EXPECT_GE(attributes.entry_size, 2 * sizeof(const char*));
  library.room = attributes.num_entries;
  if (library.answer != UCS_OK) return library.answer;
  unsigned lane = 0;
  for (; lane < attributes.num_entries && lane < library.lanes.size(); ++lane) {
    auto* const entry = static_cast<char*>(attributes.entries) + lane * attributes.entry_size;
    std::memcpy(entry, &library.lanes[lane].first, sizeof(const char*));
    std::memcpy(entry + sizeof(const char*), &library.lanes[lane].second, sizeof(const char*));
  }
  attributes.num_entries = lane;
  return UCS_OK;
}

void ucp_ep_print_info(ucp_ep_h /*ep*/, FILE* stream) {
  EXPECT_EQ(library.minor, 13U);
  int number = 0;
  for (const auto& [transport, device] : library.lanes) {
    std::fprintf(stream,
                 "#                 lane[%d]: %2d:%s/%s.0 md[0]    -> md[0]/tcp/sysdev[255] am\n",
                 number, number, transport, device);
    ++number;
  }
}

void ucp_context_print_info(const ucp_context_h /*context*/, FILE* /*stream*/) {}
}

namespace rdmabench::inline v1::transport::ucx {
namespace {

using ::testing::ElementsAre;

std::vector<Resource> lanes_of(Library asked) {
  library = std::move(asked);
  return lanes(nullptr);
}

TEST(UcxLanesOf, EachReleaseAreNamedOnce) {
  for (const unsigned minor : {13U, 14U, 18U, 22U}) {
    EXPECT_THAT(lanes_of({.minor = minor,
                          .lanes = {{"rc_verbs", "rxe0:1"},
                                    {"ud_verbs", "rxe0:1"},
                                    {"rc_verbs", "rxe0:1"},
                                    {"tcp", "eth0"}}}),
                ElementsAre(Resource{"rc_verbs", "rxe0:1"}, Resource{"ud_verbs", "rxe0:1"},
                            Resource{"tcp", "eth0"}))
        << minor;
  }
  EXPECT_THAT(lanes_of({.major = 2, .minor = 14, .lanes = {{"tcp", "lo"}}}),
              ElementsAre(Resource{"tcp", "lo"}));
}

TEST(UcxLanesOf, AReleaseThatDoesNotTellAreNone) {
  EXPECT_THAT(lanes_of({.minor = 14, .lanes = {{"tcp", "lo"}}, .answer = UCS_ERR_UNSUPPORTED}),
              ElementsAre());
  EXPECT_THAT(lanes_of({.minor = 14}), ElementsAre());
}

/// UCX has 64 lanes at most: UCP_MAX_LANES of 1.22.
TEST(UcxLanesOf, ThereIsRoomForAll) {
  lanes_of({.minor = 22, .lanes = std::vector(100, std::pair("tcp", "lo"))});
  EXPECT_GE(library.room, 64U);
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ucx
