// What every build can do, and what a build without libcrypto says of the rest.
#include "control/secret.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

TEST(Insecure, TwoEndsMeetInEveryBuild) {
  Listener listener("127.0.0.1", 0, Authentication::insecure());
  auto [client, server] = meet(listener, "127.0.0.1", Authentication::insecure());
  client.send(TestMessage::hello, "one", plenty());
  EXPECT_EQ(server.receive(TestMessage::hello, plenty(), "greeting"), "one");
}

TEST(Insecure, AProcessMeetsItselfInEveryBuild) {
  const Authentication own = Authentication::of_this_process();
  EXPECT_EQ(own.is_insecure(), !can_authenticate());
  Listener listener("127.0.0.1", 0, own);
  EXPECT_NO_THROW(meet(listener, "127.0.0.1", own));
}

TEST(Insecure, IsAllThatABuildWithoutLibcryptoOffers) {
  if (can_authenticate()) GTEST_SKIP() << "libcrypto is here";
  EXPECT_THAT(complaint([] { Listener("127.0.0.1", 0, Authentication::munge()); }),
              ::testing::AllOf(::testing::HasSubstr("libcrypto"), ::testing::HasSubstr("libssl"),
                               ::testing::HasSubstr("`insecure`")));
}

}  // namespace
}  // namespace rdmabench::inline v1::control
