// The back ends of this build, and an open endpoint of one with its type erased.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::run {

/// An open endpoint whose type is erased. Thread rule: one thread at a time.
class OpenEndpoint {
 public:
  virtual ~OpenEndpoint() = default;
  OpenEndpoint& operator=(OpenEndpoint&&) = delete;

  // As transport/transport.h tells.
  virtual std::string address() const = 0;
  virtual void connect(std::string_view peer_address) = 0;
  virtual transport::Description describe(std::uint64_t bytes = 0) const = 0;
  virtual std::string failure() const = 0;
  /// What failure() tells, for a program; empty where the back end does not know.
  virtual Failure failed_call() const { return {}; }
  /// What the device reported of itself; empty where the back end does not know.
  virtual std::string device_report() const { return {}; }

  /// One poll while the caller waits for something else: providers with manual progress may still
  /// owe the peer something. Gives receives back.
  virtual void progress() noexcept = 0;
};

/// An endpoint of type T behind the interface Base, which is OpenEndpoint or derives from it.
template <transport::Transport T, class Base = OpenEndpoint>
class EndpointHolder : public Base {
 public:
  EndpointHolder(const transport::EndpointRequest& request, std::string_view choice)
      : endpoint_(request, choice) {}

  std::string address() const override { return endpoint_.address(); }
  void connect(std::string_view peer_address) override { endpoint_.connect(peer_address); }
  transport::Description describe(std::uint64_t bytes = 0) const override {
    return endpoint_.describe(bytes);
  }
  std::string failure() const override { return endpoint_.failure(); }
  Failure failed_call() const override {
    if constexpr (requires(const T& known) { known.failed_call(); }) return endpoint_.failed_call();
    return {};
  }
  std::string device_report() const override {
    if constexpr (requires(const T& known) { known.device_report(); }) {
      return endpoint_.device_report();
    }
    return {};
  }

  void progress() noexcept override {
    endpoint_.poll([this](const transport::Received& received) noexcept {
      if (received.slot != transport::kNoSlot) endpoint_.post_receive(received.slot);
    });
  }

  T& endpoint() noexcept { return endpoint_; }
  const T& endpoint() const noexcept { return endpoint_; }

 private:
  T endpoint_;
};

class Worker;  // run/worker.h: an OpenEndpoint with the loops over it

/// A back end: what it tells of itself, and its functions. One of another project is registered by
/// add_backend() (run/worker.h).
struct Backend : transport::BackendRow {
  /// What the other side needs to know to choose; opaque. Throws Error(unavailable) where there is
  /// no device, Error(usage) for a request that cannot be.
  std::string (*offer)(const transport::EndpointRequest& request) = nullptr;
  /// At the client: how the two sides reach each other. Throws Error(unavailable) where they do
  /// not, and checks what came from the server before using it.
  transport::Choice (*choose)(const transport::EndpointRequest& request,
                              std::string_view client_offer,
                              std::string_view server_offer) = nullptr;
  std::vector<transport::DeviceInfo> (*devices)() = nullptr;  ///< may be null where added: none
  /// Throws what the constructor of the endpoint throws.
  std::unique_ptr<Worker> (*open)(const transport::EndpointRequest& request,
                                  std::string_view choice) = nullptr;
  /// No less than the endpoint will take, so that a server can limit it. May be null where added:
  /// nothing besides its messages.
  transport::Footprint (*footprint)(const transport::EndpointRequest& request,
                                    std::string_view choice) = nullptr;
  const std::type_info* endpoint = nullptr;  ///< of add_backend<T>(): T
  bool many_queue_pairs = false;             ///< of add_backend<T>(): T::kManyQueuePairs
  bool post_lists = false;                   ///< of add_backend<T>(): T::kPostLists
  /// What the endpoint or `offer` heeds, where added, of the options that some back ends alone
  /// have: "devices", "events", "gid_index", "memory", "on_demand", "relaxed_ordering", "segments",
  /// "separate_queues", "service". The others of these, and those of verbs or libfabric alone, are
  /// refused to who asks for them.
  std::span<const std::string_view> takes{};
  /// What has to be done before a process has several threads, such as setenv(3); called by the
  /// constructor of Server, and may be null. Throws nothing.
  void (*begin)() noexcept = nullptr;
  /// Whether the kernel has devices of it that this process cannot open. May be null where added:
  /// none. Throws Error(unavailable) where its library is missing.
  bool (*hides_devices)() = nullptr;
};

/// The rows of the back ends. A build without one lacks its function.
Backend verbs_backend();
Backend ofi_backend();
Backend ucx_backend();
Backend loop_backend();

/// What backends() begins with, called once. A program that links the static libraries defines this
/// function itself to name the back ends that it uses, in the order in which "auto" prefers them:
/// their code alone is then linked, with --gc-sections. The rows are those below and must stay;
/// for another one, or the same twice, backends() throws Error(usage).
std::span<const Backend> linked_backends();

/// The back ends of this program, in order of preference: verbs, ofi, ucx, loop. Then those that
/// this process has added.
std::span<const Backend> backends();

/// A library of another project, which rdmabench loads when it is first needed.
struct SharedLibrary {
  std::string name;     ///< "libfabric.so.1"
  std::string file;     ///< which serves, behind its symbolic links; empty where it is missing
  std::string absence;  ///< where it is missing: the loader's words, and the package's name
};

/// All that this build can load, but NCCL and MPI. Loads them; they stay loaded. Source: dlopen(3).
std::vector<SharedLibrary> shared_libraries();

/// All back ends of rdmabench, those that this build lacks among them, in the same order.
std::span<const transport::BackendRow> known_backends();

/// Throws Error(usage) that lists what there is, or Error(unavailable) that names what is
/// needed for one that this program lacks.
const Backend& find_backend(std::string_view name);

/// The name of the one back end that has the service; "" where several have it.
std::string_view backend_of(transport::Service service);

/// Whether a request for this back end may reach other processes: false for the name of one that
/// connects only endpoints of this process, true for any other text ("auto").
bool reaches_others(std::string_view name);

}  // namespace rdmabench::inline v1::run
