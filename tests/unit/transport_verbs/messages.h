// One message of any operation over a pair of endpoints, and what must have come of it.
#pragma once

#include <cerrno>

#include "pair.h"

namespace rdmabench::inline v1::transport::verbs {

inline constexpr std::uint64_t kSize = 100;

/// Opened for one operation alone.
inline EndpointRequest only(Service service, OperationCode operation = OperationCode::send) {
  EndpointRequest request = small_request();
  request.options.service = service;
  request.operations = operation;
  if (is_atomic(operation)) request.max_size = kAtomicBytes;
  return request;
}

inline EndpointRequest over(Service service, OperationCode operation = OperationCode::send) {
  return widened(only(service, operation));
}

inline std::uint64_t& word(const Region& region, std::uint32_t index) {
  return *reinterpret_cast<std::uint64_t*>(region.data + index * region.stride);
}

/// Posts one message of each slot and looks at what arrives.
template <class Op, class Endpoint>
void move(PairOf<Endpoint>& pair, std::uint32_t queue_pair = 0) {
  SCOPED_TRACE(Op::kName);
  const Region from = Op::kFromTarget ? pair.server.window() : pair.client.send_region();
  memory::fill_pattern(slot(from, 1, kSize), 77);
  ASSERT_EQ(pair.client.template post<Op>(from.stride, from.stride, kSize, 0x01020304, Signal::now,
                                          queue_pair),
            PostStatus::posted);
  ASSERT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  const std::vector<Received> received = take(pair.server);
  ASSERT_EQ(received.size(), Op::kNotifies ? 1U : 0U);
  if (Op::kNotifies) {
    EXPECT_EQ(received[0].immediate, Op::kImmediate ? 0x01020304U : 0U);
    EXPECT_EQ(received[0].bytes, kSize);
    pair.server.post_receive(received[0].slot);
  }
  const std::span<std::byte> to = Op::kTwoSided
                                      ? slot(pair.server.receive_region(), received[0].slot, kSize)
                                  : Op::kFromTarget ? slot(pair.client.send_region(), 1, kSize)
                                                    : slot(pair.server.window(), 1, kSize);
  EXPECT_TRUE(holds(to, 77));
}

template <class Endpoint>
void move_all(PairOf<Endpoint>& pair) {
  move<Send>(pair);
  move<SendImm>(pair);
  move<Write>(pair);
  move<WriteImm>(pair);
  move<Read>(pair);
}

/// Opens and connects a pair once for each `call` that this takes, which fails that time
/// with `text` in the error.
template <class Endpoint>
void every_failure(const EndpointRequest& request, fake_verbs::Call call,
                   const std::string& text = "") {
  const Choice choice = choice_for(request);
  int failures = 0;
  for (bool struck = true; struck; ++failures) {
    fake_verbs::fail(call, failures + 1, EIO);
    try {
      const PairOf<Endpoint> pair(request, choice);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), EIO) << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
    struck = fake_verbs::struck();
    EXPECT_EQ(fake_verbs::live(), 0);
    ASSERT_LT(failures, 100);
  }
  EXPECT_GE(failures, 3) << "both sides must have made the call";  // the last round meets no fault
}

}  // namespace rdmabench::inline v1::transport::verbs
