#include "fake_verbs.h"

#include <cerrno>
#include <stdexcept>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {

State& state() {
  static State instance;
  return instance;
}

int count(Call call) {
  State& now = state();
  ++now.calls[call];
  if (now.fail_after == 0 || call != now.fail_call || --now.fail_after != 0) return 0;
  now.has_struck = true;
  return now.fail_code;
}

bool refused(Call call) {
  const int code = count(call);
  if (code != 0) errno = code;
  return code != 0;
}

Device soft_roce() {
  return {.name = "rxe0",
          .ports = {
              {.gids = {{.index = 0, .address = "fe80::1"}, {.index = 1, .address = "10.0.0.1"}}}}};
}

Device mlx5() {
  return {
      .name = "mlx5_0", .mlx5 = true, .ports = {{.gids = {{.index = 0, .address = "10.0.0.1"}}}}};
}

Device efa() {
  return {.name = "efa_0",
          .transport = IBV_TRANSPORT_UNSPECIFIED,
          .max_reads = 0,
          .max_inline = 32,
          .max_sge = 2,
          .max_srq = 0,
          .max_srq_wr = 0,
          .atomics = IBV_ATOMIC_NONE,
          .xrc = false,
          .efa = true,
          .ports = {{.link_layer = IBV_LINK_LAYER_UNSPECIFIED,
                     .active_mtu = IBV_MTU_4096,
                     .lid = 1,
                     .max_msg_sz = 8928,
                     .gids = {{0, "fe80::e:fa", IBV_GID_TYPE_IB}}}}};
}

void reset(std::vector<Device> devices) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (now.live != 0) throw std::logic_error("fake_verbs: reset with living objects");
  now.devices = std::move(devices);
  now.calls.clear();
  now.fail_after = 0;
  now.has_struck = false;
  now.message_fault = IBV_WC_SUCCESS;
  now.lose_next = false;
  now.dead = false;
  now.lose_gpu_bytes = false;
  now.lost_mapping.clear();
  now.hold_writes = false;
  now.hold_gpu_writes = false;
  now.gpu_reads = 0;
  now.held.clear();
  now.manager_fault = {};
  now.manager_device.clear();
  now.arrival_device.clear();
  now.violations.clear();
}

void fail(Call call, int nth, int code) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.fail_call = call;
  now.fail_after = nth;
  now.fail_code = code;
  now.has_struck = false;
}

bool struck() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.has_struck;
}

int calls(Call call) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.calls[call];
}

void fail_message(ibv_wc_status status, std::uint32_t vendor_error, int times) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.message_fault = status;
  now.message_vendor_error = vendor_error;
  now.message_faults = times;
}

void lose_message() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.lose_next = true;
}

ibv_ah_attr address_vector(ibv_ah* handle) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.address_handles.at(handle)->vector;
}

std::multiset<std::uint16_t> source_ports() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  std::multiset<std::uint16_t> ports;
  for (const auto& [handle, own] : now.address_handles) ports.insert(own->source_port);
  return ports;
}

std::multiset<int> vectors() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  std::multiset<int> vectors;
  for (const FakeCompletionQueue* const queue : now.completion_queues)
    vectors.insert(queue->vector);
  return vectors;
}

void break_queue_pair(std::uint32_t number) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  enter_error(*now.queue_pairs.at(number));
}

ibv_qp_attr attributes(std::uint32_t number) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.queue_pairs.at(number)->attributes;
}

std::set<std::uint32_t> receive_keys(std::uint32_t number) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  std::set<std::uint32_t> keys;
  for (const PostedReceive& receive : now.queue_pairs.at(number)->receives) {
    for (const ibv_sge& piece : receive.pieces) keys.insert(piece.lkey);
  }
  return keys;
}

int live() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.live;
}

std::vector<std::string> violations() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.violations;
}

}  // namespace rdmabench::inline v1::fake_verbs
