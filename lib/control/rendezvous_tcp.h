// A rendezvous over TCP: rank 0 serves, every rank asks it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "launch.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/rendezvous.h"
#include "rendezvous_messages.h"

namespace rdmabench::control {

class RendezvousServer;

class TcpRendezvous : public Rendezvous {
 public:
  /// Throws Error as make_rendezvous() says.
  TcpRendezvous(const Launch& launch, const Authentication& authentication,
                std::chrono::milliseconds timeout);
  ~TcpRendezvous() override;

  void put(std::string_view key, std::string_view value) override;
  std::string get(std::uint32_t rank, std::string_view key, Deadline deadline) override;
  void barrier(Deadline deadline) override;
  Authentication authentication(std::string_view key) const override;

 private:
  void serve();
  void join();
  std::string ask(const Call& call, Deadline deadline);

  Address address_;
  Authentication authentication_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<RendezvousServer> server_;  // of rank 0
  std::optional<Channel> channel_;
};

}  // namespace rdmabench::control
