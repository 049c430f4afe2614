// A network plugin over plain TCP that does what NCCL relies on, in versions 6 to 12. For tests of
// `rdmabench netplugin` alone, which must find nothing wrong with it.
//
// A connection is one TCP socket. A message is a header and its bytes; the receiver reads them into
// the first buffer of that tag and answers with one byte, by which the send is done. Both ends
// trust each other: handles and headers are not held against anything.
//
// REFERENCE_PLUGIN_ADDRESS is the numeric IPv4 address at which this process is reached, 127.0.0.1
// where it is not set.
//
// With REFERENCE_PLUGIN_LATE defined it exports tables that have a name and init() alone, which
// sets the rest, as nccl-rdma-sharp-plugins does.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "netplugin/abi.h"

namespace {

namespace abi = rdmabench::netplugin::abi;
using abi::Result;

constexpr std::size_t kMaxGroup = 8;
constexpr std::size_t kMaxSends = abi::kMaxRequests * kMaxGroup;

/// What listen() writes. broken_plugin.cc knows where `secret` is.
struct Handle {
  std::uint64_t mark;  ///< never 0
  std::uint64_t secret[2];
  in_addr address;
  in_port_t port;
  std::uint16_t greeted;  ///< of connect(): the secret has been sent
  int connecting;         ///< of connect(): its socket and 1; 0 before the first call
};
static_assert(sizeof(Handle) <= abi::kHandleBytes);

enum Answer : char { kTaken, kTooLarge };

struct Header {
  std::uint64_t bytes;
  int tag;
  int unused;
};

bool later() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/// Owns a socket that does not wait.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {
    const int on = 1;
    setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Bytes that were moved, 0 for none now; -1 where the connection has ended.
  ssize_t read(void* to, std::size_t bytes, int flags = 0) const {
    const ssize_t moved = recv(number_, to, bytes, flags);
    if (moved > 0) return moved;
    return moved < 0 && later() ? 0 : -1;
  }
  ssize_t write(std::span<const iovec> parts) const {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts.data());
    message.msg_iovlen = parts.size();
    const ssize_t moved = sendmsg(number_, &message, MSG_NOSIGNAL);
    return moved < 0 && later() ? 0 : moved;
  }
  int number() const { return number_; }
  /// The caller owns it from here on.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// What NCCL gets as a request.
struct Request {
  virtual Result test(int* done, int* bytes) = 0;

 protected:
  ~Request() = default;
};

/// What both kinds of a comm begin with.
struct Comm {
  int registrations = 0;
};

class Sender : public Comm {
 public:
  explicit Sender(int socket) : socket_(socket) {
    for (Send& one : sends_) one.sender = this;
  }

  Result send(void* data, std::size_t bytes, int tag, void** request) {
    const auto free =
        std::find_if(sends_.begin(), sends_.end(), [](const Send& one) { return !one.used; });
    if (free == sends_.end()) return abi::kSuccess;
    free->used = true;
    free->answered = false;
    free->header = {bytes, tag, 0};
    free->data = static_cast<char*>(data);
    free->written = 0;
    unwritten_.push_back(&*free);
    progress();
    *request = static_cast<Request*>(&*free);
    return failed_ ? abi::kRemoteError : abi::kSuccess;
  }

 private:
  struct Send final : Request {
    Result test(int* done, int* bytes) override {
      sender->progress();
      if (!answered) return sender->failed_ ? abi::kRemoteError : abi::kSuccess;
      used = false;
      if (answer == kTooLarge) return abi::kInvalidUsage;
      *done = 1;
      if (bytes != nullptr) *bytes = static_cast<int>(header.bytes);
      return abi::kSuccess;
    }

    Sender* sender = nullptr;
    bool used = false;
    bool answered = false;
    char answer = kTaken;
    Header header{};
    char* data = nullptr;
    std::size_t written = 0;  ///< of the header and the data
  };

  void progress() {
    while (!failed_ && !unwritten_.empty() && write(*unwritten_.front())) {
      unanswered_.push_back(unwritten_.front());
      unwritten_.pop_front();
    }
    std::array<char, kMaxSends> answers;
    while (!failed_ && !unanswered_.empty()) {
      const ssize_t got = socket_.read(answers.data(), unanswered_.size());
      if (got == 0) return;
      failed_ = got < 0;
      for (ssize_t i = 0; i < got; ++i) {
        unanswered_.front()->answered = true;
        unanswered_.front()->answer = answers[static_cast<std::size_t>(i)];
        unanswered_.pop_front();
      }
    }
  }

  /// True when all of it is written.
  bool write(Send& send) {
    const std::size_t all = sizeof send.header + send.header.bytes;
    while (send.written < all) {
      const std::size_t of_header = std::min(send.written, sizeof send.header);
      const std::size_t of_data = send.written - of_header;
      const iovec parts[] = {
          {reinterpret_cast<char*>(&send.header) + of_header, sizeof send.header - of_header},
          {send.data + of_data, send.header.bytes - of_data}};
      const ssize_t moved = socket_.write(parts);
      failed_ = moved < 0;
      if (moved <= 0) return false;
      send.written += static_cast<std::size_t>(moved);
    }
    return true;
  }

  Socket socket_;
  bool failed_ = false;
  std::array<Send, kMaxSends> sends_;
  std::deque<Send*> unwritten_;
  std::deque<Send*> unanswered_;
};

class Receiver : public Comm {
 public:
  explicit Receiver(int socket) : socket_(socket) {
    for (Group& one : groups_) one.receiver = this;
  }

  template <class Size>
  Result receive(int count, void** data, const Size* bytes, const int* tags, void** request) {
    if (count < 1 || count > static_cast<int>(kMaxGroup)) return abi::kInvalidArgument;
    const auto free =
        std::find_if(groups_.begin(), groups_.end(), [](const Group& one) { return !one.used; });
    if (free == groups_.end()) return abi::kSuccess;
    free->used = true;
    free->refused = false;
    free->buffers.clear();
    for (int i = 0; i < count; ++i) {
      free->buffers.push_back({static_cast<char*>(data[i]), static_cast<std::size_t>(bytes[i]),
                               tags[i], 0, false, false});
    }
    in_order_.push_back(&*free);
    progress();
    *request = static_cast<Request*>(&*free);
    return abi::kSuccess;
  }

 private:
  struct Buffer {
    char* data;
    std::size_t room;
    int tag;
    std::size_t bytes;
    bool taken;  ///< by a message
    bool done;
  };
  struct Group final : Request {
    Result test(int* done, int* bytes) override {
      receiver->progress();
      const bool all =
          std::all_of(buffers.begin(), buffers.end(), [](const Buffer& one) { return one.done; });
      // Nobody need test again: the answers have to be on their way.
      if (!all || (!receiver->answers_.empty() && !receiver->failed_)) {
        return receiver->failed_ ? abi::kRemoteError : abi::kSuccess;
      }
      used = false;
      if (refused) return abi::kInvalidUsage;
      *done = 1;
      for (std::size_t i = 0; bytes != nullptr && i < buffers.size(); ++i) {
        bytes[i] = static_cast<int>(buffers[i].bytes);
      }
      return abi::kSuccess;
    }

    Receiver* receiver = nullptr;
    bool used = false;
    bool refused = false;
    std::vector<Buffer> buffers;
  };

  void progress() {
    while (!failed_ && read_header() && find_buffer() && read_data()) {
      const bool fits = header_.bytes <= buffer_->room;
      buffer_->bytes = header_.bytes;
      buffer_->done = true;
      if (!fits) group_->refused = true;
      answers_.push_back(fits ? kTaken : kTooLarge);
      buffer_ = nullptr;
      header_read_ = 0;
      data_read_ = 0;
    }
    while (!failed_ && !answers_.empty()) {
      const iovec part{answers_.data(), answers_.size()};
      const ssize_t moved = socket_.write({&part, 1});
      failed_ = moved < 0;
      if (moved <= 0) return;
      answers_.erase(answers_.begin(), answers_.begin() + moved);
    }
  }

  bool read_header() {
    while (header_read_ < sizeof header_) {
      const ssize_t got = socket_.read(reinterpret_cast<char*>(&header_) + header_read_,
                                       sizeof header_ - header_read_);
      failed_ = got < 0;
      if (got <= 0) return false;
      header_read_ += static_cast<std::size_t>(got);
    }
    return true;
  }

  /// The first buffer of the tag, in the order in which receives were posted.
  bool find_buffer() {
    for (auto group = in_order_.begin(); buffer_ == nullptr && group != in_order_.end(); ++group) {
      std::vector<Buffer>& all = (*group)->buffers;
      const auto free = std::find_if(all.begin(), all.end(), [&](const Buffer& one) {
        return !one.taken && one.tag == header_.tag;
      });
      if (free == all.end()) continue;
      free->taken = true;
      buffer_ = &*free;
      group_ = *group;
      if (std::all_of(all.begin(), all.end(), [](const Buffer& one) { return one.taken; })) {
        in_order_.erase(group);
        break;
      }
    }
    return buffer_ != nullptr;
  }

  /// What does not fit is read and dropped.
  bool read_data() {
    std::array<char, 65536> dropped;
    while (data_read_ < header_.bytes) {
      const bool fits = header_.bytes <= buffer_->room;
      const std::size_t left = header_.bytes - data_read_;
      const ssize_t got =
          fits ? socket_.read(buffer_->data + data_read_, left)
               : socket_.read(dropped.data(), std::min<std::size_t>(left, dropped.size()));
      failed_ = got < 0;
      if (got <= 0) return false;
      data_read_ += static_cast<std::size_t>(got);
    }
    return true;
  }

  Socket socket_;
  bool failed_ = false;
  std::array<Group, abi::kMaxRequests> groups_;
  std::deque<Group*> in_order_;  ///< those with buffers that no message has taken
  Header header_{};              ///< of the message that is read now
  std::size_t header_read_ = 0;
  std::size_t data_read_ = 0;
  Group* group_ = nullptr;
  Buffer* buffer_ = nullptr;
  std::vector<char> answers_;
};

struct Listening {
  Socket socket;
  std::uint64_t secret[2];
  std::vector<std::unique_ptr<Socket>> newcomers;  ///< whose secret is not read yet
};

in_addr own_address{};
int nothing = 0;  // its address is every registration and every context

Result init(abi::Logger logger) {
  const char* const text = std::getenv("REFERENCE_PLUGIN_ADDRESS");
  if (inet_pton(AF_INET, text == nullptr ? "127.0.0.1" : text, &own_address) == 1) {
    return abi::kSuccess;
  }
  if (logger != nullptr) {
    logger(2, 16, "reference", 0, "REFERENCE_PLUGIN_ADDRESS '%s' is not an IPv4 address", text);
  }
  return abi::kInvalidUsage;
}

Result devices(int* count) {
  *count = 1;
  return abi::kSuccess;
}

template <class Properties>
Result properties(int index, Properties* to) {
  static char name[] = "reference";
  if (index != 0) return abi::kInvalidUsage;
  *to = {};
  to->name = name;
  to->pointer_kinds = abi::kHostMemory;
  to->speed_mbps = 10000;
  to->max_comms = 65536;
  to->max_receives = kMaxGroup;
  if constexpr (requires { to->global_registration; }) to->global_registration = 1;
  if constexpr (requires { to->virtual_devices; }) {
    to->virtual_devices.count = 1;
    to->max_point_to_point_bytes = to->max_collective_bytes = std::size_t{1} << 30U;
  }
  if constexpr (requires { to->more.max_multi_request; }) to->more.max_multi_request = 1;
  if constexpr (requires { to->more.rail_id; }) {
    to->more.rail_id = 3;
    to->more.plane_id = abi::kUndefinedId;
  }
  return abi::kSuccess;
}

Result listen(int /*device*/, void* handle, void** comm) {
  auto made = std::unique_ptr<Listening>(new Listening{
      Socket(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)), {}, {}});
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = own_address;
  socklen_t bytes = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(made->socket.number(), generic, bytes) != 0 ||
      ::listen(made->socket.number(), 64) != 0 ||
      getsockname(made->socket.number(), generic, &bytes) != 0 ||
      getrandom(made->secret, sizeof made->secret, 0) != sizeof made->secret) {
    return abi::kSystemError;
  }
  const Handle told{1, {made->secret[0], made->secret[1]}, own_address, address.sin_port, 0, 0};
  std::memcpy(handle, &told, sizeof told);
  *comm = made.release();
  return abi::kSuccess;
}

/// NCCL calls again with the same handle, in which this keeps what it has begun.
Result connect(int /*device*/, void* given, void** comm) {
  *comm = nullptr;
  Handle handle;
  std::memcpy(&handle, given, sizeof handle);
  if (handle.connecting == 0) {
    const int number = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr = handle.address;
    address.sin_port = handle.port;
    ::connect(number, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    handle.connecting = number + 1;
  }
  const int number = handle.connecting - 1;
  if (handle.greeted == 0) {
    const ssize_t moved = ::send(number, handle.secret, sizeof handle.secret, MSG_NOSIGNAL);
    handle.greeted = moved == sizeof handle.secret;
    if (moved < 0 && !later() && errno != ENOTCONN) {
      close(number);
      return abi::kSystemError;
    }
  }
  char answer = 0;
  const ssize_t got = handle.greeted != 0 ? recv(number, &answer, 1, 0) : -1;
  if (got == 0 || (got < 0 && handle.greeted != 0 && !later())) {
    close(number);
    return abi::kRemoteError;
  }
  if (got == 1) {
    *comm = new Sender(number);
    handle.connecting = handle.greeted = 0;
  }
  std::memcpy(given, &handle, sizeof handle);
  return abi::kSuccess;
}

Result accept(void* listening, void** comm) {
  *comm = nullptr;
  auto& from = *static_cast<Listening*>(listening);
  for (int number = 0; number >= 0;) {
    number = accept4(from.socket.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (number >= 0) from.newcomers.push_back(std::make_unique<Socket>(number));
  }
  for (auto one = from.newcomers.begin(); one != from.newcomers.end();) {
    std::uint64_t secret[2] = {};
    const ssize_t got = (*one)->read(secret, sizeof secret, MSG_PEEK);
    if (got >= 0 && got < static_cast<ssize_t>(sizeof secret)) {
      ++one;
      continue;
    }
    const bool right = got > 0 && std::memcmp(secret, from.secret, sizeof secret) == 0;
    if (right) {
      (*one)->read(secret, sizeof secret);
      char answer = kTaken;
      const iovec part{&answer, 1};
      (*one)->write({&part, 1});
      *comm = new Receiver((*one)->release());
    }
    one = from.newcomers.erase(one);
    if (right) break;
  }
  return abi::kSuccess;
}

template <class Size>
Result register_memory(void* comm, void* /*data*/, Size /*bytes*/, int kind, void** registration) {
  if (kind != abi::kHostMemory) return abi::kInvalidUsage;
  *registration = &nothing;
  ++static_cast<Comm*>(comm)->registrations;
  return abi::kSuccess;
}

Result deregister(void* comm, void* registration) {
  if (registration != &nothing) return abi::kInvalidUsage;
  --static_cast<Comm*>(comm)->registrations;
  return abi::kSuccess;
}

template <class Size, class... Profiled>
Result send(void* comm, void* data, Size bytes, int tag, void* /*registration*/,
            Profiled... /*profiled*/, void** request) {
  *request = nullptr;
  return static_cast<Sender*>(comm)->send(data, static_cast<std::size_t>(bytes), tag, request);
}

template <class Size, class... Profiled>
Result receive(void* comm, int count, void** data, Size* bytes, int* tags, void** /*registrations*/,
               Profiled... /*profiled*/, void** request) {
  *request = nullptr;
  return static_cast<Receiver*>(comm)->receive(count, data, bytes, tags, request);
}

/// Host memory holds what has arrived.
Result flush(void*, int, void**, int*, void**, void** request) {
  *request = nullptr;
  return abi::kSuccess;
}

Result test(void* request, int* done, int* bytes) {
  *done = 0;
  return static_cast<Request*>(request)->test(done, bytes);
}

template <class T>
Result close_comm(void* comm) {
  const auto one = std::unique_ptr<T>(static_cast<T*>(comm));
  // As those over verbs do: a protection domain with regions cannot be deallocated.
  if constexpr (std::is_base_of_v<Comm, T>) {
    if (one->registrations != 0) return abi::kSystemError;
  }
  return abi::kSuccess;
}

/// The rest follows from the version's types.
template <class Table>
Table table() {
  constexpr int kVersion = Table::kVersion;
  Table t{};
  t.name = "reference";
  t.devices = &devices;
  t.properties = &properties<typename Table::Properties>;
  t.accept = [](void* listening, void** comm, auto...) { return accept(listening, comm); };
  if constexpr (kVersion >= 11) {
    t.init = [](void** context, std::uint64_t, abi::CommConfig*, abi::Logger logger,
                abi::ProfilerCallback) {
      *context = &nothing;
      return init(logger);
    };
    t.listen = [](void*, int device, void* handle, void** comm) {
      return listen(device, handle, comm);
    };
    t.connect = [](void*, int device, void* handle, void** comm, abi::DeviceHandle**) {
      return connect(device, handle, comm);
    };
    t.more.finalize = [](void*) { return Result{abi::kSuccess}; };
  } else if constexpr (kVersion == 10) {
    t.listen = &listen;
    t.init = [](abi::Logger logger, abi::ProfilerCallback) { return init(logger); };
    t.connect = [](int device, abi::CommConfig*, void* handle, void** comm, abi::DeviceHandle**) {
      return connect(device, handle, comm);
    };
  } else {
    t.init = &init;
    t.listen = &listen;
    t.connect = [](int device, void* handle, void** comm, auto...) {
      return connect(device, handle, comm);
    };
  }
  t.register_memory = &register_memory<std::conditional_t<kVersion >= 8, std::size_t, int>>;
  t.deregister = &deregister;
  using Size = std::conditional_t<kVersion >= 9, std::size_t, int>;
  if constexpr (kVersion >= 10) {
    t.send = &send<Size, void*>;
    t.receive = &receive<Size, void**>;
  } else {
    t.send = &send<Size>;
    t.receive = &receive<Size>;
  }
  t.flush = &flush;
  t.test = &test;
  t.close_send = &close_comm<Sender>;
  t.close_receive = &close_comm<Receiver>;
  t.close_listen = &close_comm<Listening>;
  return t;
}

#ifdef REFERENCE_PLUGIN_LATE
#define TABLE
template <class Table>
Table& exported();

/// An init() of any version.
template <class Table, class... A>
Result late_init(A... arguments) {
  exported<Table>() = table<Table>();
  return exported<Table>().init(arguments...);
}

template <class Table, class... A>
Table late_table(Result (* /*init*/)(A...)) {
  Table t{};
  t.name = "late";
  t.init = &late_init<Table, A...>;
  return t;
}

template <class Table>
Table table_to_export() {
  return late_table<Table>(decltype(Table::init){});
}
#else
#define TABLE const
template <class Table>
Table table_to_export() {
  return table<Table>();
}
#endif

}  // namespace

extern "C" {
#define EXPORT(version)                                         \
  extern TABLE abi::NetTable<version> ncclNetPlugin_v##version; \
  TABLE abi::NetTable<version> ncclNetPlugin_v##version = table_to_export<abi::NetTable<version>>()
EXPORT(6);
EXPORT(7);
EXPORT(8);
EXPORT(9);
EXPORT(10);
EXPORT(11);
EXPORT(12);
}

#ifdef REFERENCE_PLUGIN_LATE
namespace {
#define EXPORTED(version)              \
  template <>                          \
  abi::NetTable<version>& exported() { \
    return ncclNetPlugin_v##version;   \
  }
EXPORTED(6)
EXPORTED(7)
EXPORTED(8)
EXPORTED(9)
EXPORTED(10)
EXPORTED(11)
EXPORTED(12)
}  // namespace
#endif
