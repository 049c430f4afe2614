// Wraps the module in FAULTY_MPI_REAL. On the rank FAULTY_MPI_RANK, from operation FAULTY_MPI_AT
// on:
//   FAULTY_MPI_CORRUPT=OFFSET:BYTES  overwrites so much of one operation's result
//   FAULTY_MPI_PAST_END=BYTES        writes so much behind one all-reduce's result
//   FAULTY_MPI_DELAY_MS=N            comes back so late from each operation
//   FAULTY_MPI_STOP=1                stops the process (SIGSTOP) in one operation
//   FAULTY_MPI_STOP_INIT=1           ... before MPI_Init
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collective/mpi_module.h"
#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::collective {
namespace {

const MpiModule* real = nullptr;
MpiModule faulty;
std::uint32_t own_rank = 0;
std::uint64_t started = 0;
void* result = nullptr;
std::uint64_t result_bytes = 0;  // of an all-reduce

long number(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

bool here() {
  return static_cast<long>(own_rank) == number("FAULTY_MPI_RANK", -1);
}

long at() {
  return number("FAULTY_MPI_AT", 3);
}

int init(const void* communicator, std::uint32_t* rank, std::uint32_t* size, char* error) {
  const char* launched = std::getenv("OMPI_COMM_WORLD_RANK");
  if (launched == nullptr) launched = std::getenv("PMI_RANK");
  own_rank =
      launched == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(launched, nullptr, 10));
  if (here() && number("FAULTY_MPI_STOP_INIT", 0) != 0) raise(SIGSTOP);
  return real->init(communicator, rank, size, error);
}

int prepare(const MpiCall* call, char* error) {
  result_bytes = call->count * bytes_of(static_cast<DataType>(call->type));
  return real->prepare(call, error);
}

int start(std::uint32_t slot, void* send, void* receive, char* error) {
  if (here() && static_cast<long>(started) == at() && number("FAULTY_MPI_STOP", 0) != 0) {
    raise(SIGSTOP);
  }
  ++started;
  result = receive;
  return real->start(slot, send, receive, error);
}

int test(int* done, char* error) {
  const int code = real->test(done, error);
  if (code != 0 || *done == 0 || !here()) return code;
  if (const long delay = number("FAULTY_MPI_DELAY_MS", 0); delay > 0) {
    usleep(static_cast<useconds_t>(1000 * delay));
  }
  if (static_cast<long>(started) != at() + 1) return code;
  if (const long past = number("FAULTY_MPI_PAST_END", 0); past > 0) {
    std::memset(static_cast<char*>(result) + result_bytes, 0x5a, static_cast<std::size_t>(past));
  }
  if (const char* const corrupt = std::getenv("FAULTY_MPI_CORRUPT"); corrupt != nullptr) {
    unsigned long offset = 0;
    unsigned long bytes = 0;
    if (std::sscanf(corrupt, "%lu:%lu", &offset, &bytes) == 2) {
      std::memset(static_cast<char*>(result) + offset, 0x5a, bytes);
    }
  }
  return code;
}

}  // namespace
}  // namespace rdmabench::inline v1::collective

extern "C" __attribute__((visibility("default"))) const rdmabench::collective::MpiModule*
rdmabench_mpi_module() {
  using namespace rdmabench::collective;
  const char* const path = std::getenv("FAULTY_MPI_REAL");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return nullptr;
  const auto entry = reinterpret_cast<MpiModuleEntry>(dlsym(library, kMpiModuleSymbol));
  if (entry == nullptr) return nullptr;
  real = entry();
  faulty = *real;
  faulty.init = init;
  faulty.prepare = prepare;
  faulty.start = start;
  faulty.test = test;
  return &faulty;
}
