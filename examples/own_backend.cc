// A back end of one's own under rdmabench's loops, server and report: messages are copied from one
// thread's memory into that of another. transport/transport.h tells what each member is for.
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include <rdmabench/rdmabench.h>
#include <rdmabench/run/worker.h>

using namespace rdmabench;
using transport::PostStatus, transport::Received, transport::Region;

/// What a peer puts messages into. It is there for as long as one of the two has it.
struct Box {
  std::mutex mutex;  // a back end that is to be fast has no such thing
  std::vector<std::byte> bytes;
  Region region;
  std::deque<std::uint32_t> receives;
  std::deque<Received> arrivals;
};

std::mutex mutex;        // of these two
std::uint64_t last = 0;  // an address names one box, and never another one later
std::map<std::string, std::weak_ptr<Box>, std::less<>> all;  // by address

class Mailbox : public transport::TransportDefaults {
 public:
  static constexpr bool kReliable = true, kOrdersMessages = true;
  template <class Op>
  static constexpr bool supports = std::is_same_v<Op, transport::Send>;
  template <class Op>
  static constexpr bool consumes_receive = true;

  Mailbox(const transport::EndpointRequest& request, std::string_view /*choice*/)
      : largest_(request.max_size) {
    if (!request.buffers.empty() || !request.receive_buffer.empty() || request.options.misalignment)
      throw Error(Fault::usage, "a mailbox has memory of its own, and aligned");
    const auto stride = request.slot_stride ? request.slot_stride : memory::slot_stride(largest_);
    sends_.resize(stride * request.send_slots);
    send_region_ = {sends_.data(), stride, request.send_slots};
    own_->bytes.resize(stride * request.receive_slots);
    own_->region = {own_->bytes.data(), stride, request.receive_slots};
    for (std::uint32_t slot = 0; slot < request.receives; ++slot) own_->receives.push_back(slot);
    const std::lock_guard lock(mutex);
    all[address_ = std::to_string(++last)] = own_;
  }
  ~Mailbox() {
    const std::lock_guard lock(mutex);
    all.erase(address_);
  }
  Mailbox& operator=(Mailbox&&) = delete;

  std::string address() const { return address_; }
  void connect(std::string_view peer) {  // what a peer says: looked up, and not trusted
    const std::lock_guard lock(mutex);
    if (const auto found = all.find(peer); found != all.end()) peer_ = found->second.lock();
    if (peer_ == nullptr) throw Error(Fault::failed, "there is no such mailbox");
  }
  transport::Description describe(std::uint64_t /*bytes*/ = 0) const {
    return {"mailbox", "mailbox", "memory", "rc", "delivery", {}, {}};
  }
  std::string failure() const { return "a message that is longer than was asked for"; }

  template <class Op>
  PostStatus post(std::uint64_t local, std::uint64_t /*remote*/, std::uint64_t bytes,
                  std::uint64_t /*word*/, transport::Signal, std::uint32_t = 0) noexcept {
    if (bytes > largest_) return PostStatus::failed;
    const std::lock_guard lock(peer_->mutex);
    if (peer_->receives.empty()) return PostStatus::busy;
    const std::uint32_t slot = peer_->receives.front();
    peer_->receives.pop_front();
    const Region there = peer_->region;
    std::memcpy(there.data + slot % there.slots * there.stride, &sends_[local], bytes);
    peer_->arrivals.push_back({slot, 0, bytes});
    return ++posted_, PostStatus::posted;
  }
  PostStatus post_receive(std::uint32_t slot) noexcept {
    const std::lock_guard lock(own_->mutex);
    return own_->receives.push_back(slot), PostStatus::posted;
  }
  int poll(auto&& on_receive) noexcept {
    std::unique_lock lock(own_->mutex);
    const auto arrived = std::exchange(own_->arrivals, {});
    lock.unlock();
    for (const Received& one : arrived) on_receive(one);
    return int(arrived.size() + (posted_ - std::exchange(completed_, posted_)));
  }

  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t completed() const noexcept { return completed_; }
  Region send_region() const noexcept { return send_region_; }
  Region receive_region() const noexcept { return own_->region; }

 private:
  std::uint64_t largest_, posted_ = 0, completed_ = 0;
  std::vector<std::byte> sends_;
  Region send_region_;
  std::string address_;
  std::shared_ptr<Box> own_ = std::make_shared<Box>(), peer_;
};

int main() {
  // Two sides reach each other within a process, as those of `loop` do, which tells processes
  // apart.
  const run::Backend& loop = run::find_backend("loop");
  run::add_backend<Mailbox>(
      {{.name = "mailbox", .reaches_others = false}, loop.offer, loop.choose});
  const report::Report report =
      run::run_in_process({.stop = measure::StopRule::iterations(1000), .backend = "mailbox"});
  std::printf("mailbox, 8 bytes: p50 %.0f ns\n", report.latency().at(0).latency.p50_ns);
  return report.error ? 1 : 0;
}
