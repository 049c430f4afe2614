// A back end of one's own under rdmabench's loops, server and report: messages are copied from one
// thread's memory into that of another. transport/transport.h tells what each member is for.
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include <rdmabench/rdmabench.h>
#include <rdmabench/run/worker.h>
#include <unistd.h>

using namespace rdmabench;
using transport::PostStatus, transport::Received, transport::Region;

class Mailbox;
std::map<std::string, Mailbox*, std::less<>> all;  // by address
std::mutex mutex;  // of all mailboxes: a back end that is to be fast has no such thing

class Mailbox {
 public:
  static constexpr bool kReliable = true, kOrdersMessages = true, kManyQueuePairs = false;
  static constexpr bool kPostLists = false, kNeedsProgress = false;
  template <class Op>
  static constexpr bool supports = std::is_same_v<Op, transport::Send>;
  template <class Op>
  static constexpr bool consumes_receive = true;

  Mailbox(const transport::EndpointRequest& request, std::string_view /*choice*/)
      : want_(request), stride_(memory::slot_stride(request.max_size)) {
    sends_.resize(stride_ * request.send_slots);
    inbox_.resize(stride_ * request.receive_slots);
    for (std::uint32_t slot = 0; slot < request.receives; ++slot) receives_.push_back(slot);
    const std::lock_guard lock(mutex);
    all[address()] = this;
  }
  ~Mailbox() {
    const std::lock_guard lock(mutex);
    all.erase(address());
  }
  Mailbox& operator=(Mailbox&&) = delete;

  std::string address() const { return std::to_string(reinterpret_cast<std::uintptr_t>(this)); }
  void connect(std::string_view peer) {  // what a peer says: looked up, and not trusted
    const std::lock_guard lock(mutex);
    const auto found = all.find(peer);
    if (found == all.end()) throw Error(Fault::failed, "there is no such mailbox");
    peer_ = found->second;
  }
  transport::Description describe(std::uint64_t /*bytes*/ = 0) const {
    return {"mailbox", "mailbox", "memory", "rc", "delivery", {}, {}};
  }
  std::string failure() const { return "a message that is longer than was asked for"; }

  template <class Op>
  PostStatus post(std::uint64_t local, std::uint64_t /*remote*/, std::uint64_t bytes,
                  std::uint64_t /*word*/, transport::Signal, std::uint32_t = 0) noexcept {
    if (bytes > want_.max_size) return PostStatus::failed;
    const std::lock_guard lock(mutex);
    if (peer_->receives_.empty()) return PostStatus::busy;
    const std::uint32_t slot = peer_->receives_.front();
    peer_->receives_.pop_front();
    const Region there = peer_->receive_region();
    std::memcpy(there.data + slot % there.slots * there.stride, &sends_[local], bytes);
    peer_->arrivals_.push_back({slot, 0, bytes});
    return ++posted_, PostStatus::posted;
  }
  PostStatus post_receive(std::uint32_t slot) noexcept {
    const std::lock_guard lock(mutex);
    return receives_.push_back(slot), PostStatus::posted;
  }
  int poll(auto&& on_receive) noexcept {
    std::unique_lock lock(mutex);
    const auto arrived = std::exchange(arrivals_, {});
    lock.unlock();
    for (const Received& one : arrived) on_receive(one);
    return int(arrived.size());
  }
  bool wait_for_event(std::chrono::milliseconds) noexcept { return true; }

  std::uint32_t queue_pairs() const noexcept { return 1; }
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t completed() const noexcept { return posted_; }
  Region send_region() const noexcept { return {sends_.data(), stride_, want_.send_slots}; }
  Region receive_region() const noexcept { return {inbox_.data(), stride_, want_.receive_slots}; }
  Region window() const noexcept { return {}; }
  std::uint64_t peer_window_bytes() const noexcept { return 0; }
  transport::WriteOrder write_order() const noexcept { return {}; }

 private:
  transport::EndpointRequest want_;
  std::uint64_t stride_, posted_ = 0;
  Mailbox* peer_ = nullptr;
  mutable std::vector<std::byte> sends_, inbox_;
  std::deque<std::uint32_t> receives_;
  std::deque<Received> arrivals_;
};

int main() {
  run::Backend row{{.name = "mailbox", .reaches_others = false}};
  row.offer = [](const transport::EndpointRequest&) { return std::to_string(getpid()); };
  row.choose = [](const transport::EndpointRequest&, std::string_view us, std::string_view them) {
    if (us != them) throw Error(Fault::unavailable, "the other side is another process");
    return transport::Choice{"", "", "both sides are of this process"};
  };
  run::add_backend<Mailbox>(row);
  const report::Report report =
      run::run_in_process({.stop = measure::StopRule::iterations(1000), .backend = "mailbox"});
  std::printf("mailbox, 8 bytes: p50 %.0f ns\n", report.latency().at(0).latency.p50_ns);
  return report.error ? 1 : 0;
}
