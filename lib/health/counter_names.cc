#include "health/counter_names.h"

#include <algorithm>
#include <array>

namespace rdmabench::inline v1::health {
namespace {

using Kind = CounterClass;

constexpr std::array<std::string_view, 8> kClassNames{
    "traffic", "retransmission", "receiver_not_ready", "congestion", "discard", "error",
    "other",   "gauge"};

// A name means the same for every vendor; where vendors count different things there are two names.
constexpr std::array kNames = std::to_array<NeutralName>({
    {"sent_bytes", Kind::traffic, "RDMA bytes sent, as the device counts them"},
    {"received_bytes", Kind::traffic, "RDMA bytes received"},
    {"sent_packets", Kind::traffic, "RDMA packets sent"},
    {"received_packets", Kind::traffic, "RDMA packets received"},
    {"port_sent_bytes", Kind::traffic, "bytes sent by the port"},
    {"port_received_bytes", Kind::traffic, "bytes received by the port"},
    {"port_sent_packets", Kind::traffic, "packets sent by the port"},
    {"port_received_packets", Kind::traffic, "packets received by the port"},
    {"interface_sent_bytes", Kind::traffic, "bytes sent by the network device"},
    {"interface_received_bytes", Kind::traffic, "bytes received by the network device"},
    {"interface_sent_packets", Kind::traffic, "packets sent by the network device"},
    {"interface_received_packets", Kind::traffic, "packets received by the network device"},
    {"tcp_sent_segments", Kind::traffic, "TCP segments sent by the machine, without those again"},
    {"tcp_received_segments", Kind::traffic, "TCP segments received by the machine"},
    {"sent_sends", Kind::traffic, "send requests that this side made"},
    {"sent_writes", Kind::traffic, "write requests that this side made"},
    {"sent_reads", Kind::traffic, "read requests that this side made"},
    {"sent_atomics", Kind::traffic, "atomic requests that this side made"},
    {"sent_read_responses", Kind::traffic, "responses to the peer's reads"},
    {"received_sends", Kind::traffic, "send requests of the peer"},
    {"received_writes", Kind::traffic, "write requests of the peer"},
    {"received_reads", Kind::traffic, "read requests of the peer"},
    {"received_atomics", Kind::traffic, "atomic requests of the peer"},
    {"received_read_responses", Kind::traffic, "responses to this side's reads"},
    {"sent_send_bytes", Kind::traffic, "bytes of this side's sends"},
    {"sent_write_bytes", Kind::traffic, "bytes of this side's writes"},
    {"read_bytes", Kind::traffic, "bytes that this side read"},
    {"received_send_bytes", Kind::traffic, "bytes of the peer's sends"},
    {"received_write_bytes", Kind::traffic, "bytes of the peer's writes"},
    {"served_read_bytes", Kind::traffic, "bytes that the peer read"},

    {"ack_timeouts", Kind::retransmission, "no acknowledgement came in time, so it was sent again"},
    {"sequence_naks_received", Kind::retransmission, "the peer missed a packet and asked for it"},
    {"implied_naks", Kind::retransmission, "an acknowledgement or a read response was skipped"},
    {"out_of_sequence_received", Kind::retransmission,
     "requests that came before an earlier one: loss, or a network that reorders"},
    {"duplicate_requests_received", Kind::retransmission, "the peer sent again what was here"},
    {"retry_rounds", Kind::retransmission,
     "the requester went back and sent again, for any reason"},
    {"retransmitted_packets", Kind::retransmission, "packets sent again"},
    {"retransmitted_bytes", Kind::retransmission, "bytes sent again"},
    {"adaptive_retransmissions", Kind::retransmission, "sent again by an adaptive, shorter timer"},
    {"adaptive_retransmission_timeouts", Kind::retransmission,
     "adaptive retransmissions that ran into the timeout"},
    {"read_responses_out_of_sequence", Kind::retransmission,
     "read responses with another sequence number than expected"},
    {"tcp_retransmitted_segments", Kind::retransmission,
     "TCP segments sent again, of every connection of the machine"},
    {"tcp_timeouts", Kind::retransmission, "TCP retransmission timers that expired, machine-wide"},

    {"rnr_naks_received", Kind::receiver_not_ready, "the peer had no receive buffer; sent again"},
    {"rnr_naks_sent", Kind::receiver_not_ready, "a request of the peer found no receive buffer"},
    {"receive_buffer_missing", Kind::receiver_not_ready,
     "packets dropped because the queue pair had no receive request"},

    {"cnps_sent", Kind::congestion, "congestion notifications sent to the peer"},
    {"cnps_received", Kind::congestion, "congestion notifications that slowed this side"},
    {"cnps_ignored", Kind::congestion, "congestion notifications received and ignored"},
    {"ecn_marked_received", Kind::congestion, "packets that a switch had marked for congestion"},
    {"slow_restarts", Kind::congestion, "restarts at a low rate, after idling or a loss"},
    {"slow_restart_cnps", Kind::congestion, "congestion notifications made by slow restart"},
    {"slow_restart_transitions", Kind::congestion, "changes of the state to slow restart"},
    {"congestion_events", Kind::congestion, "queue pairs that became congested"},
    {"impaired_connections", Kind::congestion, "connections held to a reduced rate"},
    {"doorbell_pacing_alerts", Kind::congestion, "the doorbell queue was full; posting was slowed"},

    {"receive_discards", Kind::discard, "RDMA packets received and thrown away"},
    {"transmit_discards", Kind::discard, "RDMA packets not sent"},
    {"port_transmit_discards", Kind::discard, "packets not sent: the port was down or congested"},
    {"interface_receive_drops", Kind::discard,
     "packets that the network device or its stack threw away, of whatever protocol"},
    {"interface_transmit_drops", Kind::discard, "packets that the network device did not send"},
    {"interface_receive_missed", Kind::discard, "packets that found no buffer in the host"},
    {"udp_receive_buffer_full", Kind::discard, "datagrams lost at a full socket, machine-wide"},
    {"udp_send_buffer_full", Kind::discard, "datagrams not sent for a full buffer, machine-wide"},

    {"ack_retries_exceeded", Kind::error, "given up: the peer did not acknowledge"},
    {"rnr_retries_exceeded", Kind::error, "given up: the peer never had a receive buffer"},
    {"unresponsive_peers", Kind::error, "connections whose peer did not answer"},
    {"requester_errors", Kind::error, "this side's requests that failed here"},
    {"responder_errors", Kind::error, "the peer's requests that failed here"},
    {"remote_errors", Kind::error, "this side's requests that the peer refused"},
    {"requester_completion_errors", Kind::error, "completions with an error, of any cause"},
    {"responder_completion_errors", Kind::error, "receive completions with an error"},
    {"unrecoverable_errors", Kind::error, "errors that a queue pair does not survive"},
    {"send_errors", Kind::error, "packets that the network device did not take"},
    {"read_errors", Kind::error, "reads that failed"},
    {"write_errors", Kind::error, "writes that failed"},
    {"icrc_errors", Kind::error, "packets whose bytes were damaged on the way"},
    {"protocol_errors", Kind::error, "packets with a wrong header"},
    {"truncated_packets", Kind::error, "packets that were too short"},
    {"no_route_packets", Kind::error, "packets without a route"},
    {"vlan_errors", Kind::error, "packets with a wrong VLAN"},
    {"receive_errors", Kind::error, "RDMA packets received with an error"},
    {"transmit_errors", Kind::error, "RDMA packets that could not be sent"},
    {"symbol_errors", Kind::error, "minor link errors: cable or transceiver"},
    {"link_error_recoveries", Kind::error, "the link retrained"},
    {"link_downs", Kind::error, "the link went down"},
    {"port_receive_errors", Kind::error, "packets received with an error"},
    {"port_remote_physical_errors", Kind::error, "packets marked bad by a switch before"},
    {"port_transmit_constraint_errors", Kind::error, "packets not sent for a partition key"},
    {"port_receive_constraint_errors", Kind::error, "packets refused for a partition key"},
    {"link_integrity_errors", Kind::error, "local physical errors beyond the threshold"},
    {"buffer_overruns", Kind::error, "the input buffer overflowed, against all flow control"},
    {"interface_receive_crc_errors", Kind::error, "frames whose bytes were damaged on the way"},
    {"interface_receive_errors", Kind::error, "frames received with an error, of any kind"},
    {"interface_transmit_errors", Kind::error, "frames that could not be sent"},
    {"interface_carrier_errors", Kind::error, "no carrier when sending"},

    {"transmit_wait_ticks", Kind::other,
     "ticks with data but no credit: back pressure, normal for InfiniBand at full rate"},
    {"relay_errors", Kind::other, "packets that a switch could not relay; also looped multicast"},
    {"management_drops", Kind::other, "packets of the subnet's management dropped"},
    {"flushed_completions", Kind::other, "requests flushed when a queue pair was closed"},
    {"deferred_acks", Kind::other, "acknowledgements handled later, by a worker"},
    {"rate_increases", Kind::other, "the rate was raised again after congestion"},
    {"congestion_recoveries", Kind::other, "queue pairs whose congestion ended"},
    {"dct_connects", Kind::other, "connections to dynamically connected targets"},
    {"read_limit_hits", Kind::other, "a read or an atomic waited for outstanding ones"},
    {"level", Kind::gauge, "a number of objects or a rate, and not a count"},
});

}  // namespace

std::string_view name(CounterClass kind) noexcept {
  return kClassNames[static_cast<std::size_t>(kind)];
}

bool is_reported_class(std::string_view text) noexcept {
  return text != name(CounterClass::gauge) &&
         std::find(kClassNames.begin(), kClassNames.end(), text) != kClassNames.end();
}

std::span<const NeutralName> neutral_names() {
  return kNames;
}

const NeutralName* find_neutral(std::string_view text) noexcept {
  const auto* const found = std::find_if(kNames.begin(), kNames.end(),
                                         [&](const NeutralName& row) { return row.name == text; });
  return found == kNames.end() ? nullptr : found;
}

}  // namespace rdmabench::inline v1::health
