// The functions of an endpoint that behave as another provider's.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "fake_fabric.h"
#include "real.h"

namespace rdmabench::inline v1::fake_fabric {
namespace {

/// An endpoint of the real library with tables of functions of its own. They stay after it is
/// closed: another endpoint at its address replaces them.
struct Endpoint {
  Provider provider;
  fi_ops object;
  fi_ops_ep options;
  fi_ops_msg messages;
  fi_ops_rma writes;
  fi_ops_cm names;
  const fi_ops_cm* real_names;
  const fi_ops_msg* real_messages;
  const fi_ops_rma* real_writes;
  const fi_ops* real_object;
};

std::mutex endpoints_mutex;
std::map<const fid*, Endpoint> endpoints;

Endpoint& of(const fid* object) {
  const std::lock_guard lock(endpoints_mutex);
  return endpoints.at(object);
}

/// Counts what was accepted, and not how often the provider said "again" before.
ssize_t counted(std::atomic<int>& calls, ssize_t result) {
  if (result == 0) ++calls;
  return result;
}

template <typename T>
int answer(const std::map<int, T>& known, int name, void* value, std::size_t* bytes) {
  const auto found = known.find(name);
  if (found == known.end()) return -FI_ENOPROTOOPT;
  if (*bytes < sizeof(T)) return -FI_ETOOSMALL;
  *static_cast<T*>(value) = found->second;
  *bytes = sizeof(T);
  return 0;
}

int get_option(fid* object, int level, int name, void* value, std::size_t* bytes) {
  if (level != FI_OPT_ENDPOINT) return -FI_ENOPROTOOPT;
  const Provider& provider = of(object).provider;
  const int result = answer(provider.facts, name, value, bytes);
  if (result != -FI_ENOPROTOOPT) return result;
  if (!provider.sizes.contains(name)) ++own_state().calls.unknown_options;
  return answer(provider.sizes, name, value, bytes);
}

int set_option(fid* object, int level, int name, const void* /*value*/, std::size_t /*bytes*/) {
  if (name == FI_OPT_FI_HMEM_P2P && of(object).provider.refuses_peer_to_peer) return -FI_EOPNOTSUPP;
  return level == FI_OPT_ENDPOINT && of(object).provider.settable.contains(name) ? 0
                                                                                 : -FI_ENOPROTOOPT;
}

int wait_and_close(fid* object) {
  State& state = own_state();
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.closes; });
  state.closed_by = std::this_thread::get_id();
  lock.unlock();
  return of(object).real_object->close(object);
}

int get_name(fid* object, void* name, std::size_t* bytes) {
  return own_state().names ? of(object).real_names->getname(object, name, bytes) : -FI_ENOMEM;
}

// -- messages

bool is_too_large(const Endpoint& endpoint, std::size_t bytes) {
  return bytes > endpoint.provider.largest_send;
}

ssize_t send(fid_ep* ep, const void* data, std::size_t bytes, void* descriptor, fi_addr_t to,
             void* context) {
  const Endpoint& own = of(&ep->fid);
  if (is_too_large(own, bytes)) return -FI_EMSGSIZE;
  return own.real_messages->send(ep, data, bytes, descriptor, to, context);
}

ssize_t senddata(fid_ep* ep, const void* data, std::size_t bytes, void* descriptor,
                 std::uint64_t word, fi_addr_t to, void* context) {
  const Endpoint& own = of(&ep->fid);
  if (own.provider.senddata == Function::not_supported) return -FI_ENOSYS;
  if (is_too_large(own, bytes)) return -FI_EMSGSIZE;
  return own.real_messages->senddata(ep, data, bytes, descriptor, word, to, context);
}

ssize_t inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to) {
  const Endpoint& own = of(&ep->fid);
  if (is_too_large(own, bytes)) return -FI_EMSGSIZE;
  return counted(own_state().calls.inject, own.real_messages->inject(ep, data, bytes, to));
}

ssize_t injectdata(fid_ep* ep, const void* data, std::size_t bytes, std::uint64_t word,
                   fi_addr_t to) {
  const Endpoint& own = of(&ep->fid);
  if (own.provider.injectdata == Function::not_supported) return -FI_ENOSYS;
  return counted(own_state().calls.injectdata,
                 own.real_messages->injectdata(ep, data, bytes, word, to));
}

ssize_t recv(fid_ep* ep, void* data, std::size_t bytes, void* descriptor, fi_addr_t from,
             void* context) {
  Endpoint& own = of(&ep->fid);
  if (own.provider.receives_refused > 0) return --own.provider.receives_refused, -FI_EAGAIN;
  return own.real_messages->recv(ep, data, bytes, descriptor, from, context);
}

// -- one-sided operations

ssize_t inject_writedata(fid_ep* ep, const void* data, std::size_t bytes, std::uint64_t word,
                         fi_addr_t to, std::uint64_t address, std::uint64_t key) {
  const Endpoint& own = of(&ep->fid);
  if (own.provider.inject_writedata == Function::not_supported) return -FI_ENOSYS;
  return counted(own_state().calls.inject_writedata,
                 own.real_writes->injectdata(ep, data, bytes, word, to, address, key));
}

ssize_t writemsg(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  const Endpoint& own = of(&ep->fid);
  const RemoteData data = own.provider.remote_data;
  if (data == RemoteData::refused && (flags & FI_REMOTE_CQ_DATA) != 0) return -FI_EBADFLAGS;
  if (data == RemoteData::ignored) flags &= ~FI_REMOTE_CQ_DATA;
  return counted(own_state().calls.writemsg, own.real_writes->writemsg(ep, message, flags));
}

// -- completion queues

struct Queue {
  fi_ops_cq functions;
};
std::map<const fid*, Queue> queues;

ssize_t fail_to_read(fid_cq* /*queue*/, void* /*entries*/, std::size_t /*count*/) {
  return -FI_EAVAIL;
}

/// As a library of 2.6: it writes members that 1.17 has not.
ssize_t read_error(fid_cq* /*queue*/, fi_cq_err_entry* entry, std::uint64_t /*flags*/) {
  entry->err = FI_EIO;
  std::memset(reinterpret_cast<std::byte*>(entry) + kOldestStructure, 0xff,
              kNewestErrorEntry - kOldestStructure);
  return 1;
}

}  // namespace

void take_over(fid_cq& queue, const Provider& provider) {
  if (!provider.queue_fails) return;
  const std::lock_guard lock(endpoints_mutex);
  Queue& own = queues[&queue.fid];
  own.functions = *queue.ops;
  own.functions.read = fail_to_read;
  own.functions.readerr = read_error;
  queue.ops = &own.functions;
}

void take_over(fid_ep& endpoint, const Provider& provider) {
  const std::lock_guard lock(endpoints_mutex);
  Endpoint& own = endpoints[&endpoint.fid];
  own = {provider,     *endpoint.fid.ops, *endpoint.ops, *endpoint.msg, *endpoint.rma,
         *endpoint.cm, endpoint.cm,       endpoint.msg,  endpoint.rma,  endpoint.fid.ops};
  if (provider.close_waits) own.object.close = wait_and_close;
  own.options.getopt = get_option;
  own.options.setopt = set_option;
  own.messages.recv = recv;
  own.messages.send = send;
  own.messages.senddata = senddata;
  own.messages.inject = inject;
  own.messages.injectdata = provider.injectdata == Function::missing ? nullptr : injectdata;
  own.writes.writemsg = writemsg;
  own.writes.injectdata =
      provider.inject_writedata == Function::missing ? nullptr : inject_writedata;
  own.names.getname = get_name;
  endpoint.cm = &own.names;
  endpoint.fid.ops = &own.object;
  endpoint.ops = &own.options;
  endpoint.msg = &own.messages;
  endpoint.rma = &own.writes;
}

}  // namespace rdmabench::inline v1::fake_fabric
