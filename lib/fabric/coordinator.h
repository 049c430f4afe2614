// Drives the agents through the rounds, and tracks which ones are still there.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "fabric/agents.h"
#include "fabric/schedule.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::inline v1::fabric {

/// Receives each result as it comes. This one keeps nothing: for a run without a file.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void add(const Measurement& /*measurement*/) {}
  virtual void add(const LostNode& /*lost*/) {}
  virtual void end_round() {}  ///< flush: this process may die at any time
};

/// An agent is lost when its connection ends, when it does not answer, or when it sends an invalid
/// message. It is named with the reason, its pairs are left out, and the run continues. An agent
/// that reports a silent partner is not lost. After a step with a loss, pairs of survivors that
/// failed in it are measured once more.
///
/// The agents are not trusted: what does not fit the order that they were given ends them.
/// Thread rule: one thread.
class Coordinator {
 public:
  /// `agents` and `recorder` have to outlive it. The agents that are lost already are recorded
  /// first.
  Coordinator(control::Ranks& agents, const FabricPlan& plan, AdmittedAgents admitted,
              Recorder& recorder, const CoordinatorOptions& options = {});
  ~Coordinator();
  Coordinator& operator=(Coordinator&&) = delete;

  /// Results of an earlier attempt: pairs all of whose cells are there and good are not measured
  /// again in that round. Not recorded again.
  void resume(std::vector<Measurement> earlier);

  /// Runs the round under this number; returns when it is done or fewer than two nodes are left.
  void measure(const Round& round, std::uint32_t number, bool confirming = false);

  /// Tells the agents to end. With `ask` they first tell what their devices carried
  /// (Matrix::bytes), for which they have the answer limit and what reading counters takes.
  /// `stopped`: before the last round.
  void finish(bool ask = false, bool stopped = false);

  const Matrix& matrix() const noexcept { return matrix_; }
  const std::vector<RoundCost>& costs() const noexcept { return costs_; }
  std::uint32_t alive() const noexcept { return alive_; }

 private:
  struct Work;

  std::vector<Measurement> run_step(const Step& step);
  std::vector<Measurement> run_and_repeat(const Step& step);
  Step still_to_do(const Step& step) const;
  void give_out(const Step& step);
  void send_order(const Work& work, std::uint32_t senders, const std::vector<std::uint32_t>& rails);
  void await_results();
  void ask(std::uint32_t rank);
  void beat();
  void ask_those_of_failures();
  void take_next(Deadline deadline);
  void drain();
  void take(const control::Ranks::Event& event);
  void take_results(std::uint32_t rank, std::string_view text);
  void close(Work& work, const std::string& error);
  void take_bytes(const control::Ranks::Event& event);
  void lose(std::uint32_t rank, const std::string& reason);

  control::Ranks& agents_;
  Recorder& recorder_;
  CoordinatorOptions options_;
  Matrix matrix_;
  std::vector<Member> members_;
  std::vector<bool> here_;   ///< by rank
  std::vector<bool> asked_;  ///< ... whether an answer is due
  std::uint32_t alive_ = 0;
  std::uint32_t round_ = 0;
  std::uint64_t number_ = 0;  ///< of the orders of a step
  Deadline beat_;
  std::vector<Work> works_;        ///< of this step, one for each sender
  std::vector<std::size_t> work_;  ///< by rank: its index in works_, or their number
  std::size_t open_ = 0;           ///< works that are not done
  std::unordered_set<std::uint64_t> finished_;
  std::vector<control::Ranks::Event> events_;
  std::vector<RoundCost> costs_;
};

}  // namespace rdmabench::inline v1::fabric
