// A rendezvous over PMIx, which the launcher serves: mpirun of Open MPI, srun --mpi=pmix.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pmix_client.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::control {

class PmixRendezvous : public Rendezvous {
 public:
  PmixRendezvous(std::unique_ptr<PmixClient> client, Authentication authentication,
                 std::chrono::milliseconds timeout);

  void put(std::string_view key, std::string_view value) override;
  std::string get(std::uint32_t rank, std::string_view key, Deadline deadline) override;
  void barrier(Deadline deadline) override;
  Authentication authentication(std::string_view key) const override;
  bool is_needed_by_mpi() const override { return client_->major_version() < 5; }

 private:
  std::string who(std::uint32_t rank);
  std::vector<std::uint32_t> without(const std::string& mark, bool afresh);

  std::unique_ptr<PmixClient> client_;
  Authentication authentication_;
  std::chrono::milliseconds timeout_;
  std::uint64_t barriers_ = 0;
};

}  // namespace rdmabench::control
