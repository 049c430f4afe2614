#include "collective/mpi_backend.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/refuse.h"
#include "collective/arithmetic.h"
#include "collective/packing.h"
#include "collective/stretches.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr const char* kFileOf[] = {"librdmabench-mpi-openmpi.so", "librdmabench-mpi-mpich.so"};

const char* file_of(MpiKind kind) {
  return kFileOf[static_cast<std::size_t>(kind)];
}

bool is_set(const std::function<const char*(const char*)>& environment, const char* name) {
  const char* const value = environment(name);
  return value != nullptr && *value != '\0';
}

/// The shared library, or the program, that this code is in.
std::filesystem::path own_file() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&file_of), &found) == 0) return {};
  // Of the program it is how that was called, which names a file of the working directory.
  if (found.dli_fname == nullptr || found.dli_fname[0] != '/') return {};
  std::error_code ignored;
  return std::filesystem::canonical(found.dli_fname, ignored);
}

std::vector<std::string> folders() {
  std::error_code ignored;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::string> all{program, program / "../lib/rdmabench"};
  const std::filesystem::path library = own_file().parent_path();
  if (!library.empty() && library != program) {
    all.insert(all.end(), {library, library / "rdmabench"});
  }
  all.emplace_back(RDMABENCH_MODULE_FOLDER);
  return all;
}

/// The MPI that the program has, by a symbol of Open MPI's headers alone. A second one in its
/// process would take the other's functions for its own.
std::optional<MpiKind> kind_in_process() {
  if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != nullptr) return MpiKind::open_mpi;
  if (dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr) return MpiKind::mpich;
  return std::nullopt;
}

/// None where nothing says it.
std::optional<MpiKind> kind(const MpiOptions& options) {
  const std::optional<MpiKind> here = kind_in_process();
  refuse_if(here && options.kind && *here != *options.kind,
            "`kind` is not the MPI that this program has", "Leave it out: the program's is taken.");
  if (here) return here;
  return options.kind ? options.kind : launched_by(::getenv);
}

std::vector<std::string> candidates(const MpiOptions& options) {
  const char* const named = std::getenv("RDMABENCH_MPI_MODULE");
  if (!options.module.empty()) return {options.module};
  if (named != nullptr && *named != '\0') return {named};
  std::vector<MpiKind> kinds{MpiKind::open_mpi, MpiKind::mpich};
  if (const auto known = kind(options)) kinds = {*known};
  std::vector<std::string> paths;
  for (const MpiKind kind : kinds) {
    for (const std::string& folder : folders()) paths.push_back(folder + "/" + file_of(kind));
  }
  return paths;
}

}  // namespace

std::optional<MpiKind> launched_by(const std::function<const char*(const char*)>& environment) {
  if (is_set(environment, "OMPI_COMM_WORLD_SIZE")) return MpiKind::open_mpi;
  if (is_set(environment, "PMI_SIZE") || is_set(environment, "MPI_LOCALNRANKS")) {
    return MpiKind::mpich;
  }
  return std::nullopt;
}

/// The module stays loaded: MPI's libraries cannot be unloaded.
void MpiBackend::load() {
  if (module_ != nullptr) return;
  std::string reasons;
  for (const std::string& path : candidates(options_)) {
    if (path.find('/') != std::string::npos && !std::filesystem::exists(path)) {
      reasons += fmt::format("\n  {}: no such file", path);
      continue;
    }
    // Open MPI's plugins look up its symbols in the global scope.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      reasons += fmt::format("\n  {}", dlerror());
      continue;
    }
    const auto entry = reinterpret_cast<MpiModuleEntry>(dlsym(library, kMpiModuleSymbol));
    const MpiModule* const module = entry == nullptr ? nullptr : entry();
    if (module == nullptr || module->version != kMpiModuleVersion) {
      reasons += fmt::format("\n  {}: no module of this version", path);
      continue;
    }
    module_ = module;
    path_ = path;
    return;
  }
  throw Error(
      Fault::unavailable, fmt::format("no module for MPI. Looked for:{}", reasons),
      "A build where libopenmpi-dev or libmpich-dev is there installs the modules into "
      "'rdmabench' of its folder of libraries: rdmabench_MODULE_DIR after find_package(), or "
      "`pkg-config --variable=moduledir rdmabench`. Name the file of one that lies elsewhere by "
      "MpiOptions::module or RDMABENCH_MPI_MODULE.");
}

void MpiBackend::open(Team team, Exchange& exchange, Deadline deadline) {
  team_ = team;
  if (!initialized_) return initialize(exchange, deadline);
  // Groups are told apart by their first rank's number.
  const auto first = unpack_numbers(exchange.broadcast(pack_numbers({world_rank_}), deadline), 1);
  if (module_->split(static_cast<std::uint32_t>(first[0]), team.rank, error_.data()) != 0) {
    throw Error(Fault::failed, fmt::format("{}: {}", module_->name, error_.data()));
  }
}

/// Among all ranks.
void MpiBackend::initialize(Exchange& exchange, Deadline deadline) {
  load();
  // Before anything that all ranks do together, where the others would wait for this one.
  if (module_->check(options_.communicator, error_.data()) != 0) {
    throw Error(Fault::usage, fmt::format("{}: {}", module_->name, error_.data()));
  }
  initialized_ = true;
  // All ranks must use the same MPI: two different ones would wait for each other in MPI_Init
  // forever.
  const std::vector<std::string> names = exchange.all_gather(module_->name, deadline);
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (names[rank] != module_->name) {
      throw Error(Fault::usage,
                  fmt::format("rank {} has {}, rank {} has {}", team_.rank, module_->name, rank,
                              ascii_only(names[rank])),
                  "Start all ranks by one MPI's mpirun, or give `mpi`.");
    }
  }
  std::uint32_t size = 0;
  if (module_->init(options_.communicator, &world_rank_, &size, error_.data()) != 0) {
    throw Error(Fault::failed, fmt::format("{}: {}", module_->name, error_.data()));
  }
  refuse_if(options_.communicator != nullptr && (size != team_.size || world_rank_ != team_.rank),
            fmt::format("this is rank {} of {} of the group, but rank {} of {} of the communicator",
                        team_.rank, team_.size, world_rank_, size),
            "Give the group the ranks of the communicator.");
  if (size != team_.size || world_rank_ != team_.rank) {
    throw Error(Fault::usage,
                fmt::format("this is rank {} of {} by the launcher, but rank {} of {} of {}'s "
                            "MPI_COMM_WORLD",
                            team_.rank, team_.size, world_rank_, size, module_->name),
                "The mpirun that started this is not that of the MPI which was loaded: start it by "
                "that one's, or choose it by `mpi`.");
  }
}

std::string MpiBackend::unsupported(const Call& call, std::uint32_t ranks) const {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max();
  const std::uint64_t elements = size_bytes(call, ranks) / bytes_of(call.type);
  if (elements > kMost) {
    return fmt::format("{} elements: an MPI count is an int, of {} at most", elements, kMost);
  }
  if (call.in_place &&
      (call.operation == Operation::all_to_all_v || call.operation == Operation::send_receive)) {
    return fmt::format("MPI has no non-blocking {} in place for what differs between two ranks",
                       name(call.operation));
  }
  return "";
}

Layout MpiBackend::layout(const Call& call) const {
  Layout layout = nccl_layout(call, team_);
  // In place, MPI leaves the result of a reduce_scatter at the buffer's beginning ...
  if (call.operation == Operation::reduce_scatter) layout.receive_offset = 0;
  // ... and the one buffer of a broadcast's root is its input.
  if (call.operation == Operation::broadcast && !call.in_place && team_.rank == call.root) {
    layout.receive_bytes = 0;
  }
  if (call.operation == Operation::all_to_all && call.in_place) layout.send_offset = 0;
  return layout;
}

void MpiBackend::prepare(const Call& call, std::uint32_t slots, std::uint32_t batch,
                         Deadline /*deadline*/) {
  refuse_if(batch > slots,
            fmt::format("{} operations together in {} places of memory", batch, slots),
            "MPI's non-blocking operations may not share memory: take a place for each.");
  call_ = call;
  slots_ = slots;
  const Layout place = layout(call);
  in_place_ = place.in_place;
  const std::uint64_t largest = std::max(
      {place.in_place ? place.buffer_bytes() : std::max(place.send_bytes, place.receive_bytes),
       std::uint64_t{1}});
  stride_ = memory::slot_stride(largest + kGuardBytes);
  for (memory::Buffer& buffer : buffers_) {
    if (buffer.size() < stride_ * slots) buffer = memory::Buffer(stride_ * slots);
  }
  const Parts sent = parts_sent(call, team_);
  const Parts received = parts_received(call, team_);
  const bool uneven = call.operation == Operation::all_to_all_v;
  const MpiCall mpi{.operation = static_cast<std::uint32_t>(call.operation),
                    .type = static_cast<std::uint32_t>(call.type),
                    .reduction = static_cast<std::uint32_t>(call.reduction),
                    .root = call.root,
                    .in_place = call.in_place ? 1U : 0U,
                    .slots = slots,
                    .count = call.count,
                    .send_counts = uneven ? sent.counts.data() : nullptr,
                    .send_offsets = uneven ? sent.offsets.data() : nullptr,
                    .receive_counts = uneven ? received.counts.data() : nullptr,
                    .receive_offsets = uneven ? received.offsets.data() : nullptr};
  if (module_->prepare(&mpi, error_.data()) != 0) {
    throw Error(Fault::failed, fmt::format("{}: {}", module_->name, error_.data()));
  }
}

void MpiBackend::write(std::span<const Stretch> stretches, Deadline /*deadline*/) {
  for (const Stretch& one : stretches) {
    write_stretch(one, buffer(one.side, one.slot) + one.offset);
  }
}

std::vector<std::size_t> MpiBackend::find_different(std::span<const Stretch> stretches,
                                                    Deadline /*deadline*/) {
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& one = stretches[i];
    const std::byte* const at = buffer(one.side, one.slot) + one.offset;
    if (!holds(one, at, bytes_of(call_.type))) different.push_back(i);
  }
  return different;
}

void MpiBackend::read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset,
                      std::span<std::byte> bytes, Deadline /*deadline*/) {
  std::memcpy(bytes.data(), buffer(side, slot) + offset, bytes.size());
}

void MpiBackend::close(Deadline /*deadline*/) {
  initialized_ = false;  // another run of this engine begins anew
  if (module_->finalize(error_.data()) != 0) {
    throw Error(Fault::failed, fmt::format("{}: {}", module_->name, error_.data()));
  }
}

report::Facts MpiBackend::facts() const {
  return {{"mpi", std::string(module_->name)},
          {"mpi_version", std::string(module_->library)},
          {"mpi_module", std::filesystem::path(path_).filename().string()},
          {"memory", std::string("host")}};
}

report::Facts MpiBackend::call_facts() const {
  report::Facts facts;
  if (!reduces(call_.operation)) return facts;
  if (!is_of_c(call_.type))
    facts.push_back({"operator", std::string("of this program: MPI lacks the type")});
  if (call_.reduction == Reduction::avg) {
    facts.push_back({"average", std::string("MPI's sum, divided within the time")});
  }
  if (call_.reduction == Reduction::mulsum) {
    facts.push_back({"mulsum", std::string("inputs scaled within the time, then MPI's sum")});
  }
  return facts;
}

std::shared_ptr<Engine> make_mpi_engine(MpiOptions options) {
  return make_engine<MpiBackend>(std::move(options));
}

}  // namespace rdmabench::inline v1::collective
