// A rendezvous over PMIx, which the launcher serves: mpirun of Open MPI, srun --mpi=pmix.
#pragma once

#include <pmix.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/symbol.h"
#include "loaded/library.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::control {

/// The calls that we make. Their types come from the header, so that a wrong one does not compile.
struct PmixLibrary {
  decltype(&PMIx_Init) init = find("PMIx_Init");
  decltype(&PMIx_Finalize) finalize = find("PMIx_Finalize");
  decltype(&PMIx_Put) put = find("PMIx_Put");
  decltype(&PMIx_Commit) commit = find("PMIx_Commit");
  decltype(&PMIx_Get_nb) get_nb = find("PMIx_Get_nb");
  decltype(&PMIx_Error_string) error_string = find("PMIx_Error_string");
  decltype(&PMIx_Get_version) get_version = find("PMIx_Get_version");

  static Symbol find(const char* name) { return {loaded::pmix.find(name)}; }
  bool is_whole() const {
    return init && finalize && put && commit && get_nb && error_string && get_version;
  }
};

/// libpmix, loaded at run time: a launcher's own copy is found by its LD_LIBRARY_PATH. Null where
/// this host has none that has all calls. It stays loaded: it has threads. Thread rule: any.
const PmixLibrary* pmix_library() noexcept;

struct PmixResult {
  pmix_status_t status = PMIX_ERR_TIMEOUT;
  std::string text;          ///< of a value that is a text
  std::uint32_t number = 0;  ///< of a value that is a number
};

/// An answer that PMIx gives from a thread of its own, perhaps never.
using PmixFuture = std::future<PmixResult>;

/// This process as a client of its PMIx server, where every call has a deadline. One instance
/// in a process. Thread rule: one thread at a time. Source: the PMIx standard, 4.1.
class PmixClient {
 public:
  /// Throws Error(failed): the server does not answer in time, or refuses.
  PmixClient(const PmixLibrary& library, std::chrono::milliseconds timeout);
  /// Tells the server, for at most 5 s; without it the launcher takes us for a process that died.
  ~PmixClient();
  PmixClient& operator=(PmixClient&&) = delete;

  std::uint32_t rank() const noexcept { return self_.rank; }
  std::uint32_t size() const noexcept { return size_; }
  /// "OpenPMIx 4.2.2"
  std::string version() const;
  unsigned long major_version() const;

  /// Throws Error(failed).
  void put(const std::string& key, const std::string& value, Deadline deadline);

  /// Asks for what `rank` put. `afresh` asks its server again where this one believes to know.
  PmixFuture get(std::uint32_t rank, const std::string& key, bool afresh, Deadline deadline);

  /// "PMIX_ERR_NOT_FOUND"
  std::string status_text(pmix_status_t status) const;

 private:
  void finalize();

  const PmixLibrary& library_;
  pmix_proc_t self_{};
  std::uint32_t size_ = 0;
};

class PmixRendezvous : public Rendezvous {
 public:
  PmixRendezvous(std::unique_ptr<PmixClient> client, Authentication authentication,
                 std::uint32_t launch);

  Bootstrap meet(std::string_view use, std::uint16_t port, Deadline deadline) override;
  std::string host_of(std::uint32_t rank) override;
  bool is_needed_by_mpi() const override { return client_->major_version() < 5; }

 private:
  std::string published_by_rank_0(const std::string& key, Deadline deadline);
  std::string name_of_rank_0();

  std::unique_ptr<PmixClient> client_;
  Authentication authentication_;
  std::uint32_t launch_;
};

}  // namespace rdmabench::inline v1::control
