#include "rdmabench/verbs/handles.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <on_fake_verbs.h>

#include <array>
#include <cerrno>

#include "../complaint.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kDmaBuf = 7;  // the fake never opens it

class Registering : public OnFakeVerbs {
 protected:
  /// One device, and `change` made to it.
  template <class Change>
  void have(Change&& change) {
    domain_.reset();
    context_.reset();
    fake_verbs::Device device = fake_verbs::soft_roce();
    change(device);
    fake_verbs::reset({device});
    context_ = open_device("rxe0");
    domain_ = allocate_protection_domain(*context_);
  }
  Registering() {
    have([](const fake_verbs::Device&) {});
  }

  MemoryArea plain() { return {.bytes = bytes_}; }
  MemoryArea with_dma_buf() { return {.bytes = bytes_, .dma_buf = kDmaBuf}; }

  alignas(4096) std::array<std::byte, 8192> bytes_{};
  Context context_;
  ProtectionDomain domain_;
};

auto attempt(Route route, auto reason) {
  return AllOf(Field(&RegistrationAttempt::route, route),
               Field(&RegistrationAttempt::reason, reason));
}

TEST_F(Registering, PlainMemoryIsPinnedAndSaysWhyNothingElse) {
  const Registration made = register_memory(*domain_, plain(), {});
  EXPECT_EQ(made.route, Route::pinned);
  EXPECT_THAT(made.others, ElementsAre(attempt(Route::on_demand, "not requested"),
                                       attempt(Route::dma_buf, "the memory has no dma-buf")));
  EXPECT_EQ(fake_verbs::region(made.region->lkey).access, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST_F(Registering, AWindowGrantsNoMoreThanItsUse) {
  constexpr int kWindow = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  const Registration window = register_memory(*domain_, plain(), {.access = Access::window});
  EXPECT_EQ(fake_verbs::region(window.region->lkey).access, kWindow);
  const Registration atomics = register_memory(
      *domain_, plain(), {.access = Access::window, .more_access = IBV_ACCESS_REMOTE_ATOMIC});
  EXPECT_EQ(fake_verbs::region(atomics.region->lkey).access, kWindow | IBV_ACCESS_REMOTE_ATOMIC);
}

TEST_F(Registering, ADmaBufIsTakenWhereTheDeviceTakesIt) {
  have([](fake_verbs::Device& device) { device.takes_dma_buf = true; });
  const MemoryArea area{.bytes = std::span(bytes_).subspan(100, 1000),
                        .dma_buf = kDmaBuf,
                        .dma_buf_offset = 4096 + 100};
  const Registration made = register_memory(*domain_, area, {.access = Access::window});
  EXPECT_EQ(made.route, Route::dma_buf);
  EXPECT_THAT(made.others, ElementsAre(attempt(Route::on_demand, "not requested"),
                                       attempt(Route::pinned, "not needed: dma-buf works")));
  const fake_verbs::RegionFacts facts = fake_verbs::region(made.region->lkey);
  EXPECT_EQ(facts.dma_buf, kDmaBuf);
  EXPECT_EQ(facts.offset, 4196U);
  EXPECT_EQ(made.region->length, 1000U);
}

TEST_F(Registering, ADeviceThatRefusesTheDmaBufIsNamedAndThePagesPinned) {
  const Registration made = register_memory(*domain_, with_dma_buf(), {});
  EXPECT_EQ(made.route, Route::pinned);
  EXPECT_THAT(made.others[1], attempt(Route::dma_buf, has_all("ibv_reg_dmabuf_mr(8192 bytes)",
                                                              "rxe0", "EOPNOTSUPP")));
  EXPECT_EQ(fake_verbs::region(made.region->lkey).dma_buf, -1);
}

TEST_F(Registering, ADmaBufThatIsDemandedIsNotReplaced) {
  const Error lacking =
      complaint([&] { register_memory(*domain_, with_dma_buf(), {.require_dma_buf = true}); });
  EXPECT_EQ(lacking.fault(), Fault::unavailable);
  EXPECT_THAT(lacking.what(), has_all("rxe0", "EOPNOTSUPP"));
  EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::reg_mr), 0);

  const Error none =
      complaint([&] { register_memory(*domain_, plain(), {.require_dma_buf = true}); });
  EXPECT_EQ(none.fault(), Fault::usage);
  EXPECT_THAT(none.what(), HasSubstr("dmabuf"));
}

TEST_F(Registering, OnDemandPagingIsRefusedByNameWhereTheDeviceHasNone) {
  const Error error = complaint([&] { register_memory(*domain_, plain(), {.on_demand = true}); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("rxe0 does not support on-demand paging"));
  EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::reg_mr), 0);
}

TEST_F(Registering, OnDemandPagingIsTakenAloneAndSaysWhatForItServes) {
  have([](fake_verbs::Device& device) {
    device.takes_dma_buf = true;
    device.on_demand = {
        .general_caps = IBV_ODP_SUPPORT,
        .per_transport_caps = {.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_READ,
                               .uc_odp_caps = 0,
                               .ud_odp_caps = IBV_ODP_SUPPORT_RECV}};
  });
  const Registration made = register_memory(*domain_, with_dma_buf(), {.on_demand = true});
  EXPECT_EQ(made.route, Route::on_demand);
  EXPECT_THAT(fake_verbs::region(made.region->lkey).access & IBV_ACCESS_ON_DEMAND, Not(0));
  EXPECT_THAT(made.others,
              ElementsAre(attempt(Route::dma_buf, HasSubstr("on-demand paging was requested")),
                          attempt(Route::pinned, HasSubstr("on-demand paging was requested"))));
  EXPECT_THAT(made.notes, ElementsAre(HasSubstr("RC: send read; UD: receive")));
}

TEST_F(Registering, AFailedQueryIsNoLackOfOnDemandPaging) {
  fake_verbs::fail(fake_verbs::Call::query_device_ex, 1, EIO);
  const Error error = complaint([&] { register_memory(*domain_, plain(), {.on_demand = true}); });
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.what(), has_all("ibv_query_device_ex(rxe0)", "EIO"));
}

TEST_F(Registering, TwoDemandsThatExcludeEachOtherAreRefused) {
  const Error error = complaint([&] {
    register_memory(*domain_, with_dma_buf(), {.on_demand = true, .require_dma_buf = true});
  });
  EXPECT_EQ(error.fault(), Fault::usage);
}

TEST_F(Registering, RelaxedOrderingIsAskedForOnEveryRouteAndItsLimitsAreSaid) {
  have([](fake_verbs::Device& device) { device.takes_dma_buf = true; });
  for (const MemoryArea& area : {plain(), with_dma_buf()}) {
    const Registration made = register_memory(*domain_, area, {.relaxed_ordering = true});
    EXPECT_THAT(fake_verbs::region(made.region->lkey).access & IBV_ACCESS_RELAXED_ORDERING, Not(0));
    EXPECT_THAT(made.notes, ElementsAre(HasSubstr("whether it is active")));
  }
}

TEST_F(Registering, EveryFailureNamesItsLikelyCause) {
  const auto text_of = [&](int code) {
    fake_verbs::fail(fake_verbs::Call::reg_mr, 1, code);
    return std::string(complaint([&] { register_memory(*domain_, plain(), {}); }).what());
  };
  EXPECT_THAT(text_of(EFAULT), has_all("cannot be pinned", "tmpfs"));
  EXPECT_THAT(text_of(EOPNOTSUPP), HasSubstr("driver does not support it"));
  EXPECT_THAT(text_of(ENOSPC), HasSubstr("rdma resource show mr"));
  EXPECT_THAT(text_of(EBADF), HasSubstr("not a dma-buf"));
}

TEST_F(Registering, MemoryBeyondTheDevicesLimitNamesThatLimit) {
  have([](fake_verbs::Device& device) { device.max_mr_size = 4096; });
  const Error error = complaint([&] { register_memory(*domain_, plain(), {}); });
  EXPECT_EQ(error.code(), EINVAL);
  EXPECT_THAT(error.what(), HasSubstr("registers at most 4096 bytes"));
}

TEST_F(Registering, AFlagThatMayBeRefusedIsNamed) {
  fake_verbs::fail(fake_verbs::Call::reg_mr, 1, EINVAL);
  const Error error = complaint([&] {
    register_memory(*domain_, plain(),
                    {.access = Access::window, .more_access = IBV_ACCESS_REMOTE_ATOMIC});
  });
  EXPECT_THAT(error.what(), HasSubstr("remote atomics"));
}

TEST_F(Registering, OneRouteAloneIsOneCall) {
  const MemoryRegion region = register_by(Route::pinned, *domain_, with_dma_buf(), {});
  EXPECT_NE(region, nullptr);
  EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::reg_dmabuf_mr), 0);
  EXPECT_THROW(register_by(Route::dma_buf, *domain_, with_dma_buf(), {}), Error);
}

TEST_F(Registering, DeregisteringLooksAtTheResult) {
  deregister(register_by(Route::pinned, *domain_, plain(), {}));
  EXPECT_EQ(fake_verbs::live(), 2);  // the context and the domain
  fake_verbs::fail(fake_verbs::Call::dereg_mr, 1, EBUSY);
  const Error error =
      complaint([&] { deregister(register_by(Route::pinned, *domain_, plain(), {})); });
  EXPECT_THAT(error.what(), has_all("ibv_dereg_mr()", "rxe0", "EBUSY"));
  EXPECT_EQ(fake_verbs::live(), 2);
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
