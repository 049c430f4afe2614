// A fabric of four forks of one program, which tells them by a pipe where rank 0 listens: no
// launcher, no port that was chosen, no token.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <rdmabench/fabric/run.h>
#include <rdmabench/features.h>

namespace control = rdmabench::control;
namespace fabric = rdmabench::fabric;

namespace {

constexpr std::uint32_t kRanks = 4;
using Pipe = std::array<int, 2>;
using Text = std::array<char, 4096>;

void send(const Pipe& to, const std::string& said) {
  Text text{};
  if (said.size() >= text.size()) throw std::runtime_error("a text longer than a pipe takes whole");
  said.copy(text.data(), text.size() - 1);
  if (write(to[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("write to a pipe");
  }
}

std::string receive(const Pipe& from) {
  Text text{};
  if (read(from[0], text.data(), text.size()) != static_cast<ssize_t>(text.size())) return "";
  return text.data();
}

/// A pipe takes a text of up to PIPE_BUF bytes whole, so all may read one.
fabric::RankOutcome take_part(std::uint32_t rank, const Pipe& pipe) {
  const auto broadcast = [&](const std::string& of_rank_0) {
    if (rank != 0) return receive(pipe);
    for (std::uint32_t other = 1; other < kRanks; ++other) send(pipe, of_rank_0);
    return of_rank_0;
  };
  fabric::FabricOptions options;
  options.plan.backend = "ofi";
  options.plan.bandwidth_sizes = {};
  options.plan.duration_s = 0;
  options.plan.iterations = 20;
  options.confirm = false;
  return fabric::run(
      options, control::make_rendezvous({.rank = rank, .size = kRanks, .broadcast = broadcast}));
}

}  // namespace

int main() try {
  if (RDMABENCH_HAVE_OFI == 0) return std::puts("skipped: this build lacks libfabric"), 77;
  setenv("RDMABENCH_TOKEN_FILE", "/nonexistent/token", 1);
  Pipe pipe{};
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("pipe");
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    if (fork() == 0) {
      close(pipe[1]);  // so that a rank 0 that fails is seen
      const fabric::RankOutcome outcome = take_part(rank, pipe);
      if (!outcome.left_early.empty()) std::puts(outcome.left_early.c_str());
      std::fflush(stdout);
      std::_Exit(outcome.left_early.empty() ? 0 : 1);
    }
  }
  const fabric::RankOutcome outcome = take_part(0, pipe);
  const fabric::Matrix& matrix = outcome.result.value().matrix;
  std::printf("%zu measurements, %zu ranks lost\n", matrix.measurements.size(), matrix.lost.size());
  bool right = matrix.lost.empty();
  for (const fabric::Measurement& one : matrix.measurements) right = right && one.error.empty();
  for (std::uint32_t rank = 1; rank < kRanks; ++rank) {
    int status = 0;
    right = wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && right;
  }
  constexpr std::size_t kDirections = std::size_t{kRanks} * (kRanks - 1);
  return right && matrix.measurements.size() == kDirections ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
