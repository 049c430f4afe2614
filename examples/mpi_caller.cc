// An MPI program measures all-reduce among all of its ranks but the last one, with what it has: its
// MPI_Init, a communicator of its own, and no launcher's word for rank or address.
//
//   mpirun -n 3 mpi_caller
//   mpi_caller null|thread|late    asks for what the library refuses, and prints the error
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>

#include <rdmabench/base/error.h>
#include <rdmabench/collective/engines.h>
#include <rdmabench/collective/rank_group.h>
#include <rdmabench/collective/run.h>

namespace {

namespace collective = rdmabench::collective;

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

/// Of all processes that call it with the communicator.
collective::AssembledGroup group_of(MPI_Comm ranks) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  return collective::assemble({.rank = static_cast<std::uint32_t>(rank),
                               .size = static_cast<std::uint32_t>(size),
                               .broadcast = [ranks](const std::string& of_rank_0) {
                                 std::string text = of_rank_0;
                                 text.resize(std::size_t{16} << 10);  // with zeros
                                 MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0,
                                           ranks);
                                 return std::string(text.c_str());
                               }});
}

collective::AssembledGroup group_of_one() {
  return collective::assemble(
      {.rank = 0, .size = 1, .broadcast = [](const std::string& text) { return text; }});
}

/// The communicator has the ranks of the group, and stays the caller's.
void measure(const collective::AssembledGroup& assembled, collective::Engine& engine) {
  collective::RankGroup& group = *assembled.group;
  if (!group.leads()) return collective::follow(group, engine, {});
  collective::CollectivePlan plan;
  plan.calls = {{.operation = collective::Operation::all_reduce, .count = 1000}};
  plan.iterations = 10;
  collective::Run run;
  collective::lead(group, engine, plan, {}, run);
  if (!run.error.empty()) {
    collective::dismiss(group, run);
    throw std::runtime_error(run.error);
  }
  expect(run.rows.size() == 1 && run.rows[0].iterations == 10, "10 samples of a row");
  expect(run.rows[0].results.operations > 0 && !collective::failed(run), "checked results");
  std::printf("%zu ranks, p50 %.0f ns\n", run.ranks.size(), run.rows[0].numbers.time.p50_ns);
}

void measure_alone(MPI_Comm ranks) {
  measure(group_of_one(), *collective::make_mpi_engine({.communicator = &ranks}));
}

void measure_among_some() {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank + 1 < size ? 0 : MPI_UNDEFINED, -rank, &some);
  if (some == MPI_COMM_NULL) return;
  for (int engines = 0; engines < 2; ++engines) {
    const auto engine = collective::make_mpi_engine({.communicator = &some});
    for (int runs = 0; runs < 2; ++runs) measure(group_of(some), *engine);
  }
  int sum = 0;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, some);  // it and MPI are as they were
  expect(sum + 1 == size, "the communicator after the run");
  MPI_Comm_free(&some);
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string_view refused = count > 1 ? arguments[1] : "";
  MPI_Init(&count, &arguments);
  if (refused.empty()) measure_among_some();
  if (refused == "null") measure_alone(MPI_COMM_NULL);
  if (refused == "thread")  // below MPI_THREAD_SERIALIZED
    std::async(std::launch::async, measure_alone, MPI_COMM_WORLD).get();
  MPI_Finalize();
  if (refused == "late") measure_alone(MPI_COMM_WORLD);
  return 0;
} catch (const std::exception& error) {
  const std::string kind(name(rdmabench::failure_of(error).fault));
  std::fprintf(stderr, "%s: %s\n", kind.c_str(), error.what());
  std::quick_exit(1);  // calls of MPI may be under way
}
