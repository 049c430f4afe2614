// The counter of each file of each driver. The file names are those of the kernel's sources:
// mlx5: drivers/infiniband/hw/mlx5/counters.c; bnxt_re: hw/bnxt_re/hw_counters.c;
// efa: hw/efa/efa_verbs.c; irdma: hw/irdma/verbs.c; mana: hw/mana/counters.c;
// hns: hw/hns/hns_roce_main.c; erdma: hw/erdma/erdma_verbs.c; ionic: the device tells the names
// (hw/ionic/ionic_hw_stats.c), so that they are those of AMD's own readers, RCCL's telemetry and
// its node scraper;
// rxe: sw/rxe/rxe_hw_counters.c; ib: core/sysfs.c; net: net/core/net-sysfs.c;
// snmp and netstat: net/ipv4/proc.c.
#include <array>
#include <vector>

#include "base/text.h"
#include "health/counter_names.h"

namespace rdmabench::inline v1::health {
namespace {

using End = CounterEnd;

// Files that stand for one counter are in one row. The kernel passes on 32-bit counters of the
// device: mlx5's queue counters, the oldest of irdma, and mana's of the whole device.
constexpr std::array kFiles = std::to_array<CounterFile>({
    {"mlx5", "rx_write_requests", "received_writes", End::wraps32},
    {"mlx5", "rx_read_requests", "received_reads", End::wraps32},
    {"mlx5", "rx_atomic_requests", "received_atomics", End::wraps32},
    {"mlx5", "rx_dct_connect", "dct_connects", End::wraps32},
    {"mlx5", "out_of_buffer", "receive_buffer_missing", End::wraps32},
    {"mlx5", "out_of_sequence", "out_of_sequence_received", End::wraps32},
    {"mlx5", "duplicate_request", "duplicate_requests_received", End::wraps32},
    {"mlx5", "rnr_nak_retry_err", "rnr_naks_received", End::wraps32},
    {"mlx5", "packet_seq_err", "sequence_naks_received", End::wraps32},
    {"mlx5", "implied_nak_seq_err", "implied_naks", End::wraps32},
    {"mlx5", "local_ack_timeout_err", "ack_timeouts", End::wraps32},
    {"mlx5", "resp_local_length_error", "responder_errors", End::wraps32},
    {"mlx5", "resp_cqe_error", "responder_completion_errors", End::wraps32},
    {"mlx5", "req_cqe_error", "requester_completion_errors", End::wraps32},
    {"mlx5", "req_remote_invalid_request,req_remote_access_errors", "remote_errors", End::wraps32},
    {"mlx5", "resp_remote_access_errors", "responder_errors", End::wraps32},
    {"mlx5", "resp_cqe_flush_error,req_cqe_flush_error", "flushed_completions", End::wraps32},
    {"mlx5", "req_transport_retries_exceeded", "ack_retries_exceeded", End::wraps32},
    {"mlx5", "req_rnr_retries_exceeded", "rnr_retries_exceeded", End::wraps32},
    {"mlx5", "roce_adp_retrans", "adaptive_retransmissions", End::wraps32},
    {"mlx5", "roce_adp_retrans_to", "adaptive_retransmission_timeouts", End::wraps32},
    {"mlx5", "roce_slow_restart", "slow_restarts", End::wraps32},
    {"mlx5", "roce_slow_restart_cnps", "slow_restart_cnps", End::wraps32},
    {"mlx5", "roce_slow_restart_trans", "slow_restart_transitions", End::wraps32},
    {"mlx5", "rp_cnp_ignored", "cnps_ignored"},
    {"mlx5", "rp_cnp_handled", "cnps_received"},
    {"mlx5", "np_ecn_marked_roce_packets", "ecn_marked_received"},
    {"mlx5", "np_cnp_sent", "cnps_sent"},
    {"mlx5", "rx_icrc_encapsulated", "icrc_errors"},

    {"bnxt_re",
     "active_pds,active_ahs,active_qps,active_rc_qps,active_ud_qps,active_srqs,active_cqs,"
     "active_mrs,active_mws,watermark_pds,watermark_ahs,watermark_qps,watermark_rc_qps,"
     "watermark_ud_qps,watermark_srqs,watermark_cqs,watermark_mrs,watermark_mws,db_fifo_register",
     "level"},
    {"bnxt_re", "rx_pkts", "received_packets"},
    {"bnxt_re", "rx_bytes", "received_bytes"},
    {"bnxt_re", "tx_pkts", "sent_packets"},
    {"bnxt_re", "tx_bytes", "sent_bytes"},
    {"bnxt_re", "tx_roce_errors", "transmit_errors"},
    {"bnxt_re", "tx_roce_discards", "transmit_discards"},
    {"bnxt_re", "rx_roce_errors", "receive_errors"},
    {"bnxt_re", "rx_roce_discards", "receive_discards"},
    {"bnxt_re", "to_retransmits", "ack_timeouts"},
    {"bnxt_re", "seq_err_naks_rcvd", "sequence_naks_received"},
    {"bnxt_re", "max_retry_exceeded", "ack_retries_exceeded"},
    {"bnxt_re", "rnr_naks_rcvd", "rnr_naks_received"},
    {"bnxt_re", "missing_resp", "implied_naks"},
    {"bnxt_re", "unrecoverable_err", "unrecoverable_errors"},
    {"bnxt_re", "bad_resp_err,local_qp_op_err,local_protection_err,mem_mgmt_op_err",
     "requester_errors"},
    {"bnxt_re", "remote_invalid_req_err,remote_access_err,remote_op_err", "remote_errors"},
    {"bnxt_re", "dup_req", "duplicate_requests_received"},
    {"bnxt_re",
     "res_exceed_max,res_length_mismatch,res_exceeds_wqe,res_opcode_err,res_rx_invalid_rkey,"
     "res_rx_domain_err,res_rx_no_perm,res_rx_range_err,res_tx_invalid_rkey,res_tx_domain_err,"
     "res_tx_no_perm,res_tx_range_err,res_irrq_oflow,res_unsup_opcode,res_unaligned_atomic,"
     "res_rem_inv_err,res_mem_err,res_srq_err,res_cmp_err,res_invalid_dup_rkey,res_wqe_format_err,"
     "res_cq_load_err,res_srq_load_err,res_tx_pci_err,res_rx_pci_err",
     "responder_errors"},
    {"bnxt_re", "oos_drop_count", "out_of_sequence_received"},
    {"bnxt_re", "tx_atomic_req", "sent_atomics"},
    {"bnxt_re", "tx_read_req", "sent_reads"},
    {"bnxt_re", "tx_read_resp", "sent_read_responses"},
    {"bnxt_re", "tx_write_req", "sent_writes"},
    {"bnxt_re", "tx_send_req", "sent_sends"},
    {"bnxt_re", "rx_atomic_req", "received_atomics"},
    {"bnxt_re", "rx_read_req", "received_reads"},
    {"bnxt_re", "rx_read_resp", "received_read_responses"},
    {"bnxt_re", "rx_write_req", "received_writes"},
    {"bnxt_re", "rx_send_req", "received_sends"},
    {"bnxt_re", "rx_out_of_buffer", "receive_buffer_missing"},
    {"bnxt_re", "tx_cnp_pkts,np_cnp_pkts", "cnps_sent"},
    {"bnxt_re", "rx_cnp_pkts", "cnps_received"},
    {"bnxt_re", "rx_ecn_marked_pkts", "ecn_marked_received"},
    {"bnxt_re", "pacing_alerts", "doorbell_pacing_alerts"},

    {"efa", "tx_bytes", "sent_bytes"},
    {"efa", "tx_pkts", "sent_packets"},
    {"efa", "rx_bytes", "received_bytes"},
    {"efa", "rx_pkts", "received_packets"},
    {"efa", "rx_drops", "receive_discards"},
    {"efa", "send_bytes", "sent_send_bytes"},
    {"efa", "send_wrs", "sent_sends"},
    {"efa", "recv_bytes", "received_send_bytes"},
    {"efa", "recv_wrs", "received_sends"},
    {"efa", "rdma_read_wrs", "sent_reads"},
    {"efa", "rdma_read_bytes", "read_bytes"},
    {"efa", "rdma_read_wr_err", "read_errors"},
    {"efa", "rdma_read_resp_bytes", "served_read_bytes"},
    {"efa", "rdma_write_wrs", "sent_writes"},
    {"efa", "rdma_write_bytes", "sent_write_bytes"},
    {"efa", "rdma_write_wr_err", "write_errors"},
    {"efa", "rdma_write_recv_bytes", "received_write_bytes"},
    {"efa", "retrans_bytes", "retransmitted_bytes"},
    {"efa", "retrans_pkts", "retransmitted_packets"},
    {"efa", "retrans_timeout_events", "ack_timeouts"},
    {"efa", "unresponsive_remote_events", "unresponsive_peers"},
    {"efa", "impaired_remote_conn_events", "impaired_connections"},

    {"irdma", "ip4InDiscards", "receive_discards", End::wraps32},
    {"irdma", "ip4InTruncatedPkts", "truncated_packets", End::wraps32},
    {"irdma", "ip4OutNoRoutes", "no_route_packets", End::wraps32},
    {"irdma", "ip6InDiscards", "receive_discards", End::wraps32},
    {"irdma", "ip6InTruncatedPkts", "truncated_packets", End::wraps32},
    {"irdma", "ip6OutNoRoutes", "no_route_packets", End::wraps32},
    {"irdma", "tcpRetransSegs,RetransSegs", "retransmitted_packets", End::wraps32},
    {"irdma", "tcpInOptErrors,InOptErrors,tcpInProtoErrors,InProtoErrors", "protocol_errors",
     End::wraps32},
    {"irdma", "rxVlanErrors", "vlan_errors", End::wraps32},
    {"irdma", "cnpHandled", "cnps_received", End::wraps32},
    {"irdma", "cnpIgnored", "cnps_ignored", End::wraps32},
    {"irdma", "cnpSent", "cnps_sent", End::wraps32},
    {"irdma", "ip4InOctets", "received_bytes"},
    {"irdma", "ip4InPkts", "received_packets"},
    {"irdma", "ip4OutOctets", "sent_bytes"},
    {"irdma", "ip4OutPkts", "sent_packets"},
    {"irdma", "ip6InOctets", "received_bytes"},
    {"irdma", "ip6InPkts", "received_packets"},
    {"irdma", "ip6OutOctets", "sent_bytes"},
    {"irdma", "ip6OutPkts", "sent_packets"},
    {"irdma", "iwInRdmaReads,InRdmaReads", "received_reads"},
    {"irdma", "iwInRdmaSends,InRdmaSends", "received_sends"},
    {"irdma", "iwInRdmaWrites,InRdmaWrites", "received_writes"},
    {"irdma", "iwOutRdmaReads,OutRdmaReads", "sent_reads"},
    {"irdma", "iwOutRdmaSends,OutRdmaSends", "sent_sends"},
    {"irdma", "iwOutRdmaWrites,OutRdmaWrites", "sent_writes"},
    {"irdma", "RxECNMrkd", "ecn_marked_received"},
    {"irdma", "RNR sent", "rnr_naks_sent"},
    {"irdma", "RNR received", "rnr_naks_received"},
    {"irdma", "ord limit count,ird limit count", "read_limit_hits"},
    {"irdma", "Rx atomics", "received_atomics"},
    {"irdma", "Tx atomics", "sent_atomics"},
    {"irdma", "Nak Sequence Error", "sequence_naks_received"},
    {"irdma", "Nak Sequence Error Implied", "implied_naks"},
    {"irdma", "RTO", "ack_timeouts"},
    {"irdma", "Rcvd Out of order packets", "out_of_sequence_received"},
    {"irdma", "CRC errors", "icrc_errors"},

    {"mana", "requester_timeout", "ack_timeouts"},
    {"mana", "requester_oos_nak", "sequence_naks_received"},
    {"mana", "requester_rnr_nak", "rnr_naks_received"},
    {"mana", "responder_rnr_nak", "rnr_naks_sent"},
    {"mana", "responder_oos", "out_of_sequence_received"},
    {"mana", "responder_dup_request,dup_rx_requests", "duplicate_requests_received"},
    {"mana", "requester_implicit_nak", "implied_naks"},
    {"mana", "requester_readresp_psn_mismatch", "read_responses_out_of_sequence"},
    {"mana", "nak_inv_req,nak_access_error,nak_opp_error,nak_inv_read", "remote_errors"},
    {"mana", "responder_local_len_error", "responder_errors"},
    {"mana", "requestor_local_prot_error", "requester_errors"},
    {"mana", "responder_rem_access_error,responder_local_qp_error,responder_malformed_wqe",
     "responder_errors"},
    {"mana", "general_hw_error", "unrecoverable_errors"},
    {"mana", "requester_rnr_nak_retries_exceeded", "rnr_retries_exceeded"},
    {"mana", "requester_retries_exceeded", "ack_retries_exceeded"},
    {"mana", "total_fatal_error", "unrecoverable_errors"},
    {"mana", "received_cnps", "cnps_received"},
    {"mana", "received_cnp_count", "cnps_received", End::wraps32},
    {"mana", "sent_cnps", "cnps_sent", End::wraps32},
    {"mana", "received_ecns", "ecn_marked_received", End::wraps32},
    {"mana", "qp_congested_events", "congestion_events", End::wraps32},
    {"mana", "qp_recovered_events", "congestion_recoveries", End::wraps32},
    {"mana", "num_qps_congested,num_qps_recovered", "level"},
    {"mana", "rate_inc_events", "rate_increases"},
    {"mana", "current_rate", "level"},
    {"mana", "tx_bytes", "sent_bytes"},
    {"mana", "rx_bytes", "received_bytes"},
    {"mana", "tx_packets", "sent_packets"},
    {"mana", "rx_packets", "received_packets"},
    {"mana", "rx_send_requests", "received_sends"},
    {"mana", "rx_write_requests", "received_writes"},
    {"mana", "rx_read_requests", "received_reads"},

    {"hns", "rx_rc_pkt,rx_uc_pkt,rx_ud_pkt,rx_xrc_pkt,rx_pkt", "received_packets"},
    {"hns", "rx_err_pkt", "receive_errors"},
    {"hns", "rx_cnp_pkt", "cnps_received"},
    {"hns", "tx_rc_pkt,tx_uc_pkt,tx_ud_pkt,tx_xrc_pkt,tx_pkt", "sent_packets"},
    {"hns", "tx_err_pkt", "transmit_errors"},
    {"hns", "tx_cnp_pkt", "cnps_sent"},

    {"erdma", "tx_packets_cnt", "sent_packets"},
    {"erdma", "tx_bytes_cnt", "sent_bytes"},
    {"erdma", "tx_disable_drop_cnt,tx_bps_limit_drop_cnt,tx_pps_limit_drop_cnt",
     "transmit_discards"},
    {"erdma", "rx_packets_cnt", "received_packets"},
    {"erdma", "rx_bytes_cnt", "received_bytes"},
    {"erdma", "rx_disable_drop_cnt,rx_bps_limit_drop_cnt,rx_pps_limit_drop_cnt",
     "receive_discards"},

    {"ionic", "tx_rdma_ucast_bytes", "sent_bytes"},
    {"ionic", "tx_rdma_ucast_pkts", "sent_packets"},
    {"ionic", "tx_rdma_mcast_bytes", "sent_bytes"},
    {"ionic", "tx_rdma_mcast_pkts", "sent_packets"},
    {"ionic", "rx_rdma_ucast_bytes", "received_bytes"},
    {"ionic", "rx_rdma_ucast_pkts", "received_packets"},
    {"ionic", "rx_rdma_mcast_bytes", "received_bytes"},
    {"ionic", "rx_rdma_mcast_pkts", "received_packets"},
    {"ionic", "tx_rdma_cnp_pkts", "cnps_sent"},
    {"ionic", "rx_rdma_cnp_pkts", "cnps_received"},
    {"ionic", "rx_rdma_ecn_pkts", "ecn_marked_received"},
    {"ionic", "tx_rdma_retx_pkts", "retransmitted_packets"},
    {"ionic", "tx_rdma_retx_bytes", "retransmitted_bytes"},
    {"ionic", "tx_rdma_ack_timeout", "ack_timeouts"},
    {"ionic", "rx_rdma_mtu_discard_pkts", "receive_discards"},
    {"ionic", "req_rx_pkt_seq_err", "sequence_naks_received"},
    {"ionic", "req_rx_rnr_retry_err", "rnr_naks_received"},
    {"ionic", "req_rx_impl_nak_seq_err", "implied_naks"},
    {"ionic", "req_rx_rmt_acc_err,req_rx_rmt_req_err,req_rx_oper_err", "remote_errors"},
    {"ionic", "req_rx_cqe_err", "requester_completion_errors"},
    {"ionic", "req_rx_cqe_flush", "flushed_completions"},
    {"ionic", "req_rx_inval_pkts", "protocol_errors"},
    {"ionic", "req_tx_loc_acc_err,req_tx_loc_oper_err,req_tx_mem_mgmt_err,req_tx_loc_sgl_inv_err",
     "requester_errors"},
    {"ionic", "req_tx_retry_excd_err", "ack_retries_exceeded"},
    {"ionic", "resp_rx_dup_request", "duplicate_requests_received"},
    {"ionic", "resp_rx_outof_buf", "receive_buffer_missing"},
    {"ionic", "resp_rx_outouf_seq", "out_of_sequence_received"},
    {"ionic", "resp_rx_cqe_err", "responder_completion_errors"},
    {"ionic", "resp_rx_cqe_flush", "flushed_completions"},
    {"ionic", "resp_rx_loc_len_err,resp_rx_inval_request,resp_rx_loc_oper_err,resp_rx_outof_atomic",
     "responder_errors"},
    {"ionic", "resp_tx_pkt_seq_err", "out_of_sequence_received"},
    {"ionic",
     "resp_tx_rmt_inval_req_err,resp_tx_rmt_acc_err,resp_tx_rmt_oper_err,resp_tx_loc_sgl_inv_err",
     "responder_errors"},
    {"ionic", "resp_tx_rnr_retry_err", "rnr_naks_sent"},

    {"rxe", "sent_pkts", "sent_packets"},
    {"rxe", "rcvd_pkts", "received_packets"},
    {"rxe", "duplicate_request", "duplicate_requests_received"},
    {"rxe", "out_of_seq_request", "out_of_sequence_received"},
    {"rxe", "rcvd_rnr_err", "rnr_naks_received"},
    {"rxe", "send_rnr_err", "rnr_naks_sent"},
    {"rxe", "rcvd_seq_err", "sequence_naks_received"},
    {"rxe", "ack_deferred", "deferred_acks"},
    {"rxe", "retry_exceeded_err", "ack_retries_exceeded"},
    {"rxe", "retry_rnr_exceeded_err", "rnr_retries_exceeded"},
    {"rxe", "completer_retry_err", "retry_rounds"},
    {"rxe", "send_err", "send_errors"},
    {"rxe", "link_downed", "link_downs"},
    {"rxe", "rdma_sends", "sent_sends"},
    {"rxe", "rdma_recvs", "received_sends"},

    // port_*_data are in words of four octets. Source:
    // Documentation/ABI/stable/sysfs-class-infiniband
    {"ib", "port_xmit_data", "port_sent_bytes", End::sticks32, 4},
    {"ib", "port_rcv_data", "port_received_bytes", End::sticks32, 4},
    {"ib", "port_xmit_packets", "port_sent_packets", End::sticks32},
    {"ib", "port_rcv_packets", "port_received_packets", End::sticks32},
    {"ib", "symbol_error", "symbol_errors", End::sticks16},
    {"ib", "link_error_recovery", "link_error_recoveries", End::sticks8},
    {"ib", "link_downed", "link_downs", End::sticks8},
    {"ib", "port_rcv_errors", "port_receive_errors", End::sticks16},
    {"ib", "port_rcv_remote_physical_errors", "port_remote_physical_errors", End::sticks16},
    {"ib", "port_rcv_switch_relay_errors", "relay_errors", End::sticks16},
    {"ib", "port_xmit_discards", "port_transmit_discards", End::sticks16},
    {"ib", "port_xmit_constraint_errors", "port_transmit_constraint_errors", End::sticks8},
    {"ib", "port_rcv_constraint_errors", "port_receive_constraint_errors", End::sticks8},
    {"ib", "local_link_integrity_errors", "link_integrity_errors", End::sticks4},
    {"ib", "excessive_buffer_overrun_errors", "buffer_overruns", End::sticks4},
    {"ib", "VL15_dropped", "management_drops", End::sticks16},
    {"ib", "port_xmit_wait", "transmit_wait_ticks", End::sticks32},

    {"net", "tx_bytes", "interface_sent_bytes"},
    {"net", "rx_bytes", "interface_received_bytes"},
    {"net", "tx_packets", "interface_sent_packets"},
    {"net", "rx_packets", "interface_received_packets"},
    {"net", "rx_dropped", "interface_receive_drops"},
    {"net", "tx_dropped", "interface_transmit_drops"},
    {"net", "rx_missed_errors", "interface_receive_missed"},
    {"net", "rx_crc_errors", "interface_receive_crc_errors"},
    {"net", "rx_errors", "interface_receive_errors"},
    {"net", "tx_errors", "interface_transmit_errors"},
    {"net", "tx_carrier_errors", "interface_carrier_errors"},

    {"snmp", "Tcp OutSegs", "tcp_sent_segments"},
    {"snmp", "Tcp InSegs", "tcp_received_segments"},
    {"snmp", "Tcp RetransSegs", "tcp_retransmitted_segments"},
    {"snmp", "Udp RcvbufErrors", "udp_receive_buffer_full"},
    {"snmp", "Udp SndbufErrors", "udp_send_buffer_full"},
    {"netstat", "TcpExt TCPTimeouts", "tcp_timeouts"},
});

const CounterFile* find_row(std::string_view driver, std::string_view file) noexcept {
  for (const CounterFile& row : counter_files()) {
    if (row.driver == driver && row.file == file) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const CounterFile> counter_files() {
  static const std::vector<CounterFile> all = [] {
    std::vector<CounterFile> rows;
    for (const CounterFile& row : kFiles) {
      for (const std::string_view file : split(row.file, ',')) rows.emplace_back(row).file = file;
    }
    return rows;
  }();
  return all;
}

const CounterFile* find_counter(std::string_view driver, std::string_view file) noexcept {
  const CounterFile* row = find_row(driver, file);
  const bool hardware =
      driver != "ib" && driver != "net" && driver != "snmp" && driver != "netstat";
  return row == nullptr && hardware ? find_row("mlx5", file) : row;
}

}  // namespace rdmabench::inline v1::health
