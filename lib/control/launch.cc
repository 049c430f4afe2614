#include "launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/host_list.h"
#include "base/number.h"
#include "base/refuse.h"
#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr std::size_t kShownOfVariable = 60;  // characters of a variable's value in an error

constexpr std::array kLaunchers{
    Launcher{"rdmabench", "RDMABENCH_RANK", "RDMABENCH_SIZE"},
    Launcher{"torchrun", "RANK", "WORLD_SIZE"},
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Launcher{"MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Launcher{"MPICH", "PMI_RANK", "PMI_SIZE"},
    Launcher{"PALS", "PALS_RANKID", "PALS_SIZE"},
    Launcher{"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    Launcher{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", true},
};
constexpr std::span kInner = std::span(kLaunchers).first<2>();  // before PMIx
constexpr std::span kOuter = std::span(kLaunchers).subspan<2>();

constexpr std::string_view kHowToStart =
    "Start it with mpirun or srun, or set RDMABENCH_RANK, RDMABENCH_SIZE and "
    "RDMABENCH_RENDEZVOUS=HOST:PORT of rank 0.";

std::uint32_t parse_number(std::string_view text, std::string_view name, std::uint32_t max) {
  const auto number = rdmabench::parse_number<std::uint32_t>(text);
  if (number && *number <= max) return *number;
  throw Error(Fault::usage, fmt::format("{} is '{}'", name, ascii_only(text, kShownOfVariable)),
              fmt::format("It has to be a whole number from 0 to {}.", max));
}

JobPosition make_place(std::uint32_t rank, std::uint32_t size, std::string source) {
  refuse_if(size == 0 || size > kMaxRanks,
            fmt::format("invalid number of ranks {} from {}", size, source),
            fmt::format("It has to be 1 to {}.", kMaxRanks));
  refuse_if(rank >= size, fmt::format("invalid rank {} of {} from {}", rank, size, source),
            fmt::format("Ranks count from 0 to {}.", size - 1));
  return {rank, size, this_host(), std::move(source)};
}

/// Reads the environment once, in the order that the header gives.
class Reader {
 public:
  Reader(const RendezvousOptions& options, const Environment& environment)
      : options_(options), environment_(environment) {}

  Launch launch(const std::function<bool()>& pmix) const {
    if (auto place = of_options()) return over_tcp(std::move(*place));
    for (const Launcher& launcher : kInner) {
      if (auto place = of(launcher)) return over_tcp(std::move(*place));
    }
    const bool under_pmix = has_pmix_server();
    if (under_pmix && !own_address() && pmix()) return {Launch::Source::pmix, {}, {}, {}};
    for (const Launcher& launcher : kOuter) {
      if (auto place = of(launcher)) return over_tcp(std::move(*place), launcher.of_job);
    }
    if (under_pmix) {
      throw Error(Fault::unavailable,
                  "only PMIx would say rank and size here, and there is no libpmix",
                  "Install libpmix (Debian: libpmix2), or set RDMABENCH_RANK, RDMABENCH_SIZE and "
                  "RDMABENCH_RENDEZVOUS.");
    }
    throw Error(Fault::usage, "no launcher found that says rank and size", kHowToStart);
  }

 private:
  std::optional<JobPosition> of_options() const {
    refuse_if(options_.broadcast && (options_.address || !options_.rank || !options_.size),
              options_.address ? "a `broadcast` beside an `address`"
                               : "a `broadcast` without `rank` and `size`",
              "It takes the place of an address, and ranks that have it know their numbers.");
    if (!options_.rank && !options_.size) return std::nullopt;
    if (options_.rank && options_.size) {
      return make_place(*options_.rank, *options_.size, "options");
    }
    throw Error(Fault::usage,
                fmt::format("a {} without a {}", options_.rank ? "rank" : "size",
                            options_.rank ? "size" : "rank"),
                "Give both, or leave both to the launcher.");
  }

  std::optional<JobPosition> of(const Launcher& launcher) const {
    const auto rank = environment_(launcher.rank);
    const auto size = environment_(launcher.size);
    if (!rank && !size) return std::nullopt;
    refuse_if(launcher.of_job && !environment_("SLURM_STEP_ID"),
              "inside a Slurm job, but not as one of its tasks",
              "Start it with srun: 'srun --mpi=pmix rdmabench ...'.");
    if (!rank || !size) {
      const char* there = rank ? launcher.rank : launcher.size;
      throw Error(Fault::usage,
                  fmt::format("{} is set to '{}', but {} is not", there,
                              ascii_only(rank ? *rank : *size, kShownOfVariable),
                              rank ? launcher.size : launcher.rank),
                  fmt::format("{} sets both; set both or neither.", launcher.name));
    }
    return make_place(parse_number(*rank, launcher.rank, kMaxRanks - 1),
                      parse_number(*size, launcher.size, kMaxRanks),
                      fmt::format("{} and {} ({})", launcher.rank, launcher.size, launcher.name));
  }

  /// A PMIx server names itself by a variable for each version of its protocol.
  bool has_pmix_server() const {
    if (!environment_("PMIX_NAMESPACE") || !environment_("PMIX_RANK")) return false;
    constexpr std::array kServers{"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                  "PMIX_SERVER_URI21", "PMIX_SERVER_URI2", "PMIX_SERVER_URI"};
    return std::any_of(kServers.begin(), kServers.end(),
                       [&](const char* name) { return environment_(name).has_value(); });
  }

  /// `slurm`: rank and size are Slurm's.
  Launch over_tcp(JobPosition place, bool slurm = false) const {
    const auto address = options_.broadcast ? std::nullopt : find_address(slurm);
    refuse_if(
        !address && place.size > 1 && !options_.broadcast,
        fmt::format("{} ranks by {}, but nothing says where rank 0 is", place.size, place.source),
        "Set RDMABENCH_RENDEZVOUS=HOST:PORT, or MASTER_ADDR and MASTER_PORT, alike for all "
        "ranks.");
    // A number: a bare container has no /etc/hosts, which gives localhost its address.
    Launch launch{
        Launch::Source::tcp, std::move(place), address.value_or(Address{"127.0.0.1", 0}), {}};
    if (slurm) launch.hosts = hosts_of_step(launch.place.size);
    return launch;
  }

  std::optional<std::string> slurm_nodes() const {
    auto nodes = environment_("SLURM_STEP_NODELIST");
    return nodes ? nodes : environment_("SLURM_JOB_NODELIST");
  }

  /// With a task on each node they are in the list's order, whatever the distribution is. None
  /// where the list cannot be read: they only name who is missing.
  std::vector<std::string> hosts_of_step(std::uint32_t size) const try {
    const auto nodes = slurm_nodes();
    if (!nodes) return {};
    std::vector<std::string> hosts = slurm_hosts(*nodes);
    if (hosts.size() != size) hosts.clear();
    return hosts;
  } catch (const Error&) {
    return {};
  }

  /// An address meant for rdmabench alone takes precedence over PMIx.
  std::optional<Address> own_address() const {
    if (options_.address) return parse_address(*options_.address, "the address");
    const auto text = environment_("RDMABENCH_RENDEZVOUS");
    return text ? std::optional(parse_address(*text, "RDMABENCH_RENDEZVOUS")) : std::nullopt;
  }

  std::optional<Address> find_address(bool slurm) const {
    if (auto address = own_address()) return address;
    const auto host = environment_("MASTER_ADDR");
    const auto port = environment_("MASTER_PORT");
    if (host && port) return Address{*host, torch_port(*port)};
    refuse_if(host || port,
              fmt::format("{} is set, but {} is not", host ? "MASTER_ADDR" : "MASTER_PORT",
                          host ? "MASTER_PORT" : "MASTER_ADDR"),
              "Set both, or RDMABENCH_RENDEZVOUS=HOST:PORT.");
    const auto nodes = slurm_nodes();
    if (nodes && slurm) return Address{slurm_hosts(*nodes).front(), kRendezvousPort};
    return std::nullopt;
  }

  /// torchrun's agent may listen on MASTER_PORT itself, for its own store.
  std::uint16_t torch_port(const std::string& text) const {
    const std::uint32_t port = parse_number(text, "MASTER_PORT", 65535);
    const bool taken = environment_("TORCHELASTIC_USE_AGENT_STORE") == "True";
    const std::uint32_t ours = port + (taken ? 1 : 0);
    refuse_if(port == 0 || ours > 65535,
              fmt::format("MASTER_PORT is '{}'", ascii_only(text, kShownOfVariable)),
              fmt::format("It has to be 1 to {}.", taken ? 65534 : 65535));
    return static_cast<std::uint16_t>(ours);
  }

  const RendezvousOptions& options_;
  const Environment& environment_;
};

}  // namespace

std::span<const Launcher> launchers() noexcept {
  return kLaunchers;
}

std::string this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

Launch read_launch(const RendezvousOptions& options, const Environment& environment,
                   const std::function<bool()>& pmix) {
  return Reader(options, environment).launch(pmix);
}

Address parse_address(std::string_view text, std::string_view source) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    host = {};  // of an IPv6 address without brackets the end cannot be told from a port
  }
  refuse_if(colon == std::string_view::npos || host.empty(),
            fmt::format("{} is '{}'", source, ascii_only(text, kShownOfVariable)),
            "It has to be HOST:PORT or [IPV6]:PORT.");
  const std::string_view port = text.substr(colon + 1);
  const std::uint32_t number = parse_number(port, fmt::format("the port of {}", source), 65535);
  refuse_if(
      number == 0, fmt::format("the port of {} is 0", source),
      "All ranks have to know it beforehand: 1 to 65535. A program whose ranks can talk already "
      "takes a free one by a `broadcast`.");
  return {std::string(host), static_cast<std::uint16_t>(number)};
}

std::vector<std::string> slurm_hosts(std::string_view nodes) {
  return host_names(nodes, kMaxRanks, [&](const std::string& what) {
    throw Error(
        Fault::usage,
        fmt::format("Slurm's list of nodes is '{}': {}", ascii_only(nodes, kShownOfVariable),
                    ascii_only(what, kShownOfVariable)),
        "Set RDMABENCH_RENDEZVOUS=HOST:PORT of rank 0.");
  });
}

}  // namespace rdmabench::inline v1::control
