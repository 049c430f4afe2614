// A run on disk: JSON Lines of docs/schema/rdmabench-fabric-1.schema.json, written during the run.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "fabric/coordinator.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/fabric/run.h"
#include "rdmabench/report/documents.h"

namespace rdmabench::inline v1::fabric {

// One line each, with its newline, in UTF-8.
std::string plan_record(const FabricPlan& plan, const std::vector<Node>& nodes,
                        std::uint32_t launch);
std::string record(const Measurement& measurement);
std::string record(const LostNode& lost);
std::string record(const NodeBytes& bytes);

/// What the records of the run come to, put together; no verdict of a run that was ended early.
report::Document to_document(const Matrix& matrix, const Attribution* verdict);

/// Throws Error(usage) with the difference when `earlier` is not an attempt at this run: in the
/// plan or the number of nodes.
void check_resumable(const Matrix& earlier, const FabricPlan& plan, std::size_t nodes);
/// Likewise for the host of a rank.
void check_hosts(const Matrix& earlier, const std::vector<Node>& nodes);

/// Writes the records of a run to a file. Once a write has failed, every end_round() throws
/// Error(failed) that names the file.
class StreamFile final : public Recorder {
 public:
  enum class Mode : bool { replace, append };

  /// `append` first removes an incomplete last line. Throws Error(failed).
  StreamFile(const std::string& path, Mode mode);
  ~StreamFile() override;

  void begin(const FabricPlan& plan, const std::vector<Node>& nodes, std::uint32_t launch = 0);
  void add(const Measurement& measurement) override;
  void add(const LostNode& lost) override;
  void end_round() override;
  void end(const Matrix& matrix, const Attribution& verdict);

 private:
  void write(const std::string& line);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  int failure_ = 0;  ///< errno
};

}  // namespace rdmabench::inline v1::fabric
