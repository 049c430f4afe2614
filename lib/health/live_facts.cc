// Facts of the node that are in no file.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "checks/inventory.h"
#include "ethernet.h"
#include "firmware.h"
#include "kernel_log.h"
#include "loaded/library.h"
#include "nvml.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/handle.h"
#include "rdmabench/features.h"
#include "rdmabench/health/doctor.h"

#if RDMABENCH_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace rdmabench::inline v1::health {
namespace {

constexpr std::size_t kMostValue = 1024;

/// Opening a umad or issm node may change its state; these two kinds are safe.
std::string dev_nodes() {
  std::string text;
  int error = 0;
  for (const std::string& name : list_folder("/dev/infiniband", error)) {
    if (!name.starts_with("uverbs") && name != "rdma_cm") continue;
    const std::string path = "/dev/infiniband/" + name;
    const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const std::string state = descriptor >= 0 ? "opens" : errno_text(errno);
    if (descriptor >= 0) close(descriptor);
    text += fmt::format("infiniband/{} {}\n", name, state);
  }
  return text;
}

std::string file_systems() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return "";
  return fmt::format("/dev/shm {} {}\n", status.f_blocks * status.f_frsize,
                     status.f_bavail * status.f_frsize);
}

/// The longest that any program lets a CPU sleep, us. Opening the file for reading asks for
/// nothing. Source: Linux Documentation/power/pm_qos_interface.rst.
void collect_cpu_dma_latency(MemoryStore& facts) {
  constexpr const char* kPath = "rdmabench/cpu_dma_latency";
  const int descriptor = open("/dev/cpu_dma_latency", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == EACCES) facts.add_unreadable(kPath, EACCES);
    return;
  }
  std::int32_t microseconds = 0;
  if (read(descriptor, &microseconds, sizeof microseconds) == sizeof microseconds) {
    facts.add_file(kPath, fmt::format("{}\n", microseconds));
  }
  close(descriptor);
}

/// The kernel's options that GPU memory needs, of a file too long for the checks: "CONFIG_X=y".
std::string kernel_options() {
  std::string release = read_file("/proc/sys/kernel/osrelease").text;
  release.resize(std::min(release.find('\n'), release.size()));
  std::string found;
  constexpr std::size_t kMost = 1U << 20;
  const int descriptor = open(("/boot/config-" + release).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  const std::string text = read_up_to(descriptor, kMost).text;
  close(descriptor);
  for (const std::string_view line : rdmabench::lines_of(text)) {
    if (line.starts_with("CONFIG_DMABUF_MOVE_NOTIFY=") || line.starts_with("CONFIG_PCI_P2PDMA=")) {
      found += fmt::format("{}\n", line);
    }
  }
  // So that options that are off are known to be off.
  return text.empty() ? "" : found + "read /boot/config-" + release + "\n";
}

std::string listed_environment() {
  std::string text;
  for (const std::string_view name : environment_names()) {
    const char* const value = std::getenv(std::string(name).c_str());
    if (value == nullptr) continue;
    std::string line(value);
    line.resize(std::min(line.size(), kMostValue));
    for (char& c : line) c = c == '\n' ? ' ' : c;
    text += fmt::format("{}={}\n", name, line);
  }
  return text;
}

/// A line "FILE<tab>LINE" for each line of NCCL's files that sets a listed variable, or seems to;
/// the first of a variable counts, and before it that of the environment. Source: NCCL,
/// src/misc/param.cc.
std::string nccl_files() {
  std::string text;
  const auto add = [&](const std::string& path) {
    const std::string file = read_file(path).text;
    for (const std::string_view line : rdmabench::lines_of(file)) {
      if (line.starts_with('#') || line.find('=') == std::string_view::npos) continue;
      std::string_view name = trimmed(line.substr(0, line.find('=')));
      if (name.starts_with("export ")) name = trimmed(name.substr(7));
      const auto listed = environment_names();
      if (std::find(listed.begin(), listed.end(), name) == listed.end()) continue;
      text += fmt::format("{}\t{}\n", path, line.substr(0, std::min(line.size(), kMostValue)));
    }
  };
  const char* const own = std::getenv("NCCL_CONF_FILE");
  const char* const home = std::getenv("HOME");
  if (own != nullptr && *own != '\0') {
    add(own);
  } else if (home != nullptr) {
    add(std::string(home) + "/.nccl.conf");
  }
  add("/etc/nccl.conf");
  return text;
}

/// Whether it begins as a shared object of this program's word size does. Source: elf(5).
bool is_elf_of_this_class(const std::filesystem::path& path) {
  const std::string head = read_file(path).text;
  return head.size() > EI_CLASS && head.starts_with(ELFMAG) &&
         head[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32);
}

/// Where a library exists in the loader's folders, but for its cache; "" where it is in none of
/// them, or no library stands before it. Whether it loads is not known. Nothing is loaded: PSM,
/// which comes with libfabric, takes 50 ms to measure its clock.
std::string file_in_folders(const char* name) {
  void* const self = dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo size{};
  if (self == nullptr || dlinfo(self, RTLD_DI_SERINFOSIZE, &size) != 0) return "";
  std::vector<std::byte> memory(size.dls_size);
  auto* const folders = reinterpret_cast<Dl_serinfo*>(memory.data());
  if (dlinfo(self, RTLD_DI_SERINFOSIZE, folders) != 0 ||
      dlinfo(self, RTLD_DI_SERINFO, folders) != 0) {
    return "";
  }
  for (unsigned i = 0; i < folders->dls_cnt; ++i) {
    const std::string path = fmt::format("{}/{}", folders->dls_serpath[i].dls_name, name);
    std::error_code error;
    const std::filesystem::path file = std::filesystem::canonical(path, error);  // has the version
    if (error) continue;
    // The loader may stop at a file that is none: let it say so.
    return is_elf_of_this_class(file) ? file.string() : "";
  }
  return "";
}

/// "libfabric.so.1 /usr/lib/libfabric.so.1.19.1", or "libfabric.so.1 missing: " and the loader's
/// words.
std::string libraries() {
  std::string text;
  for (const loaded::Library* const library :
       {&loaded::ibverbs, &loaded::rdmacm, &loaded::fabric}) {
    // libfabric alone takes long to load.
    std::string file = library == &loaded::fabric ? file_in_folders(library->name()) : "";
    if (file.empty()) {
      const loaded::Found& found = library->load();
      file = found.handle != nullptr ? found.file : "missing: " + found.absence;
    }
    text += fmt::format("{} {}\n", library->name(), file);
  }
  return text;
}

#if RDMABENCH_HAVE_HWLOC
/// Network devices, GPUs and other accelerators with the CPUs near them. Without hwloc's plugins
/// for GPUs: they take seconds and do not tell where a device is.
std::string hwloc_devices() {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return "";
  const Handle<hwloc_topology, hwloc_topology_destroy> topology(made);
  for (const char* const plugin : {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"}) {
    hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, plugin);
  }
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(made) != 0) return "";
  std::string text;
  for (hwloc_obj_t at = hwloc_get_next_pcidev(made, nullptr); at != nullptr;
       at = hwloc_get_next_pcidev(made, at)) {
    hwloc_obj* const near = hwloc_get_non_io_ancestor_obj(made, at);
    if (near == nullptr || near->complete_cpuset == nullptr) continue;
    std::array<char, 512> cpus{};
    // Complete: a container may not use all CPUs that are near.
    hwloc_bitmap_list_snprintf(cpus.data(), cpus.size(), near->complete_cpuset);
    const auto& pci = at->attr->pcidev;
    text += fmt::format("{:04x}:{:02x}:{:02x}.{:x} cpus={}\n", pci.domain, pci.bus, pci.dev,
                        pci.func, cpus.data());
  }
  return text;
}
#endif

/// Of the network devices of RDMA ports.
void collect_ethernet(MemoryStore& facts) {
  const EthernetKernel kernel = live_ethernet_kernel();
  const FileTree tree(std::make_shared<FolderStore>("/"));
  for (const std::string& name : Inventory(tree).roce_interfaces()) {
    facts.add_file("rdmabench/ethernet/" + name, ethernet_facts(kernel, name));
  }
}

/// Those that NVIDIA's driver has: without one its library is not loaded.
std::vector<std::string> nvidia_gpus() {
  const FileTree tree(std::make_shared<FolderStore>("/"));
  std::vector<std::string> addresses;
  for (const Gpu& gpu : Inventory(tree).gpus) {
    if (gpu.nvidia && tree.link_name(gpu.pci.folder + "/driver") == "nvidia") {
      addresses.push_back(gpu.pci.address);
    }
  }
  return addresses;
}

/// Which of NVIDIA's services run, a line for each, as proc(5) cuts their names; none where the
/// processes of the whole node are not seen: in a container, or where they are hidden.
std::optional<std::string> nvidia_services() {
  const std::string first = read_file("/proc/1/comm").text;
  const bool whole = first == "systemd\n" || first == "init\n";
  if (!whole || access("/run/systemd/container", F_OK) == 0) return std::nullopt;
  std::string text;
  int error = 0;
  for (const std::string& process : list_folder("/proc", error)) {
    if (!to_number(process)) continue;
    const std::string name = read_file("/proc/" + process + "/comm").text;
    if (name == "nv-fabricmanage\n" || name == "nvidia-imex\n") text += name;
  }
  return text;
}

/// Serves the facts below "rdmabench", which no real file has, and files from the node.
class LiveStore : public FileStore {
 public:
  explicit LiveStore(std::shared_ptr<const MemoryStore> facts) : facts_(std::move(facts)) {}
  Entry look(const std::string& path) const override { return store(path).look(path); }
  FileBytes read(const std::string& path) const override { return store(path).read(path); }
  std::vector<std::string> list(const std::string& path) const override {
    return store(path).list(path);
  }

 private:
  const FileStore& store(const std::string& path) const {
    if (path == "rdmabench" || path.starts_with("rdmabench/")) return *facts_;
    return files_;
  }

  std::shared_ptr<const MemoryStore> facts_;
  FolderStore files_{"/"};
};

}  // namespace

std::span<const std::string_view> environment_names() {
  static const auto kNames = rdmabench::words_of(
      "NCCL_IB_DISABLE NCCL_IB_HCA NCCL_IB_GID_INDEX NCCL_IB_TC NCCL_IB_SL NCCL_IB_TIMEOUT "
      "NCCL_IB_RETRY_CNT NCCL_IB_ADDR_FAMILY NCCL_IB_ADDR_RANGE NCCL_IB_ROCE_VERSION_NUM "
      "NCCL_SOCKET_IFNAME NCCL_NET NCCL_NET_GDR_LEVEL NCCL_NET_GDR_READ "
      "NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_DEBUG UCX_TLS UCX_NET_DEVICES "
      "UCX_IB_GID_INDEX FI_PROVIDER FI_EFA_USE_DEVICE_RDMA FI_EFA_FORK_SAFE RDMAV_FORK_SAFE "
      "IBV_FORK_SAFE RDMAV_HUGEPAGES_SAFE MLX5_SINGLE_THREADED");
  return kNames;
}

void collect_live_facts(MemoryStore& facts, std::chrono::milliseconds gpu_limit) {
  const std::vector<std::string> nvidia = nvidia_gpus();
  GpuQuestion gpus(nvidia, "/usr/bin/nv-fabricmanager", gpu_limit);  // answers meanwhile
  if (!nvidia.empty()) {
    if (const auto services = nvidia_services()) facts.add_file("rdmabench/services", *services);
  }
  facts.add_file("rdmabench/dev_nodes", dev_nodes());
  facts.add_file("rdmabench/statvfs", file_systems());
  facts.add_file("rdmabench/environment", listed_environment());
  facts.add_file("rdmabench/nccl_files", nccl_files());
  facts.add_file("rdmabench/page_size", fmt::format("{}\n", sysconf(_SC_PAGESIZE)));
#if RDMABENCH_HAVE_HWLOC
  if (loaded::hwloc.load().handle != nullptr) facts.add_file("rdmabench/hwloc", hwloc_devices());
#endif
  facts.add_file("rdmabench/libraries", libraries());
  collect_cpu_dma_latency(facts);
  if (const std::string options = kernel_options(); !options.empty()) {
    facts.add_file("rdmabench/kernel_options", options);
  }
  collect_ethernet(facts);
  int error = 0;
  const std::string log = known_lines_of_kernel(error);
  if (error == 0) {
    facts.add_file("rdmabench/kernel_log", log);
  } else {
    facts.add_unreadable("rdmabench/kernel_log", error);
  }
  gpus.take(facts);
}

void ask_firmware(MemoryStore& facts) {
  constexpr std::array<std::string_view, 2> kFolders{"/usr/bin", "/usr/sbin"};
  const FileTree tree(std::make_shared<FolderStore>("/"));
  for (const RdmaDevice& device : Inventory(tree).devices) {
    if (device.driver != "mlx5" || !device.physical()) continue;
    const std::string path = "rdmabench/firmware/" + device.pci.address;
    if (geteuid() != 0) {
      facts.add_unreadable(path, EACCES);
    } else {
      facts.add_file(path, firmware_facts(device.pci.address, kFolders, std::chrono::seconds(10)));
    }
  }
}

std::shared_ptr<const FileStore> live_store(std::shared_ptr<const MemoryStore> facts) {
  if (facts == nullptr) {
    const auto collected = std::make_shared<MemoryStore>();
    collect_live_facts(*collected);
    facts = collected;
  }
  return std::make_shared<LiveStore>(std::move(facts));
}

}  // namespace rdmabench::inline v1::health
