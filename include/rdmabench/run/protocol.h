// What client and server say to each other, as structs. The frames that carry it are control/'s.
//
//   client                                server
//   request  {what, offers}          ->
//                                    <-   offer   {offers}
//   choice   {back end, server's part} ->
//                                    <-   address {address, environment}
//   address  {address, environment}  ->
//                                    <-   ready   (connected)
//   epoch    {size, messages}        ->                               } as often
//                                    <-   ready   (staged)            } as the
//   ... the data path ...                                             } client
//                                    <-   result  (target's view)     } likes
//   bye                              ->
//
// Either side may send abort {reason} instead of anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/report/fact.h"
#include "rdmabench/run/config.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::run {

/// What both sides must agree on before they open endpoints.
struct SessionSpec {
  workload::Shape shape = workload::Shape::latency;
  transport::OperationCode operation = transport::OperationCode::send;
  std::uint64_t max_size = 8;      ///< 1..kMaxSize
  std::uint32_t depth = 16;        ///< 1..kMaxDepth
  std::uint32_t signal_every = 1;  ///< 1..depth
  std::int32_t inline_limit = -1;
  std::int32_t mtu = 0;
  bool validate = false;
  std::string provider{};
  std::chrono::milliseconds timeout{10000};  ///< 100 ms .. 10 min
};

/// What a side can reach the other by, for each back end: an offer, or why there is none.
struct Offer {
  std::string backend;
  std::string text;   ///< for the back end alone; empty when there is an error
  std::string error;  ///< for people
};

struct Request {
  SessionSpec spec;
  std::vector<Offer> offers;
};

struct Selection {
  std::string backend;
  std::string choice;  ///< the server's part of transport::Choice
};

struct Introduction {
  std::string address;
  report::Facts environment;
};

struct EpochOrder {
  std::uint64_t size = 1;        ///< 1..max_size
  std::uint64_t iterations = 1;  ///< 1..kMaxEpoch
};

std::string to_text(const Request& request);
std::string to_text(const std::vector<Offer>& offers);
std::string to_text(const Selection& selection);
std::string to_text(const Introduction& introduction);
std::string to_text(const EpochOrder& order);

// Each throws Error(failed) that names the field, its value and its bounds.
Request parse_request(std::string_view text);
std::vector<Offer> parse_offers(std::string_view text);
Selection parse_selection(std::string_view text);
Introduction parse_introduction(std::string_view text);
EpochOrder parse_epoch_order(std::string_view text, const SessionSpec& spec);

/// The endpoint that a side needs for a session. Pure, so that both sides come to the same sizes.
transport::EndpointRequest endpoint_request(const SessionSpec& spec, bool client);

/// Bytes of memory that such an endpoint takes.
std::uint64_t memory_of(const transport::EndpointRequest& request);

}  // namespace rdmabench::run
