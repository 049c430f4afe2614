// An MPI program that measures among some of its ranks, with what it has: its MPI_Init, its
// communicator, and no launcher's word for rank or address.
// Usage: mpi_caller measure|thread|null|late. Exits 0 when all came as it should.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <rdmabench/base/error.h>
#include <rdmabench/collective/engines.h>
#include <rdmabench/collective/rank_group.h>
#include <rdmabench/collective/run.h>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

namespace collective = rdmabench::collective;

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

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

/// Takes the engine through a whole run.
void measure(MPI_Comm ranks, collective::Engine& engine) {
  const collective::AssembledGroup assembled = group_of(ranks);
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

/// By two engines, twice each, among all ranks but the last one. The communicator and MPI stay
/// ours.
void measure_among_some() {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank + 1 < size ? 0 : MPI_UNDEFINED, -rank, &some);
  if (some != MPI_COMM_NULL) {
    for (int engines = 0; engines < 2; ++engines) {
      const auto engine = collective::make_mpi_engine({.communicator = &some});
      measure(some, *engine);
      measure(some, *engine);
    }
    int sum = 0;
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, some);
    expect(sum + 1 == size, "the communicator after the run");
    MPI_Comm_free(&some);
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  expect(finalized == 0, "MPI after the run");
  MPI_Barrier(MPI_COMM_WORLD);
}

/// What the engine refuses of each process by itself.
void expect_refusal(MPI_Comm ranks, const char* word) {
  const auto alone = collective::assemble(
      {.rank = 0, .size = 1, .broadcast = [](const std::string& text) { return text; }});
  const auto engine = collective::make_mpi_engine({.communicator = &ranks});
  collective::CollectivePlan plan;
  plan.calls = {{}};
  collective::Run run;
  try {
    collective::lead(*alone.group, *engine, plan, {}, run);
  } catch (const rdmabench::Error& error) {
    const bool right = error.fault() == rdmabench::Fault::usage &&
                       std::string_view(error.what()).find(word) != std::string_view::npos;
    if (!right) throw;
    return;
  }
  expect(false, "no error where one was due");
}

}  // namespace

int main(int count, char** arguments) try {
  const std::string_view mode = count > 1 ? arguments[1] : "measure";
  MPI_Init(&count, &arguments);
  if (mode == "measure") measure_among_some();
  if (mode == "null") expect_refusal(MPI_COMM_NULL, "MPI_COMM_NULL");
  if (mode == "thread")
    std::thread([] { expect_refusal(MPI_COMM_WORLD, "MPI_THREAD_SERIALIZED"); }).join();
  MPI_Finalize();
  if (mode == "late") expect_refusal(MPI_COMM_WORLD, "finalised");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  std::quick_exit(1);
}
