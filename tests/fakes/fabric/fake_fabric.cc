// libfabric's own functions, and the objects down to an endpoint.
#include "fake_fabric.h"

#include <dlfcn.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "loaded/versions.h"
#include "real.h"

namespace rdmabench::inline v1::fake_fabric {

void* real_function(const char* name) {
  static void* const library = dlopen(RDMABENCH_REAL_FABRIC, RTLD_NOW | RTLD_LOCAL);
  const std::string version = loaded::version_of(name);
  if (library != nullptr && !version.empty()) {
    if (void* const found = dlvsym(library, name, version.c_str())) return found;
  }
  std::fprintf(stderr, "no %s in %s\n", name, RDMABENCH_REAL_FABRIC);
  std::abort();
}

State& own_state() {
  static State state;
  return state;
}

bool read_environment() {
  const char* const receives = std::getenv("FI_OFI_RXM_MSG_RX_SIZE");
  own_state().rxm_receives = receives == nullptr ? "" : receives;
  return true;
}

namespace {

/// What carries the messages: the same code under two names (1.17, and from 2.0 on).
const char* carrier() {
  return FI_MAJOR(REAL(fi_version)()) >= 2 ? "tcp" : "net";
}

constexpr std::uint64_t kCarriedCaps = FI_MSG | FI_RMA | FI_TAGGED | FI_READ | FI_WRITE | FI_SEND |
                                       FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |
                                       FI_DIRECTED_RECV;

void rename(char*& text, const char* to) {
  std::free(text);
  text = to == nullptr ? nullptr : strdup(to);
}

/// The real library's entry for what is asked for, whoever is to have it.
int real_entry(std::uint32_t version, const fi_info* asked, fi_info** found) {
  fi_info* const hints = REAL(fi_dupinfo)(asked);
  rename(hints->fabric_attr->prov_name, carrier());
  rename(hints->fabric_attr->name, nullptr);
  rename(hints->domain_attr->name, nullptr);
  std::free(hints->src_addr);
  hints->src_addr = nullptr;
  hints->src_addrlen = 0;
  hints->addr_format = FI_FORMAT_UNSPEC;
  hints->fabric_attr->fabric = nullptr;
  hints->domain_attr->domain = nullptr;
  hints->caps &= kCarriedCaps;
  hints->domain_attr->mr_mode = 0;
  hints->domain_attr->cq_data_size = 0;
  hints->ep_attr->max_msg_size = 0;
  hints->ep_attr->protocol = FI_PROTO_UNSPEC;
  hints->ep_attr->protocol_version = 0;
  for (std::uint64_t* caps : {&hints->tx_attr->caps, &hints->rx_attr->caps}) *caps = 0;
  hints->domain_attr->caps = 0;
  hints->tx_attr->inject_size = 0;
  hints->tx_attr->size = hints->rx_attr->size = 0;
  const int result = REAL(fi_getinfo)(version, "127.0.0.1", nullptr, FI_SOURCE, hints, found);
  REAL(fi_freeinfo)(hints);
  return result;
}

std::size_t largest_message(const Provider& provider, const fi_info& hints) {
  return (hints.caps & FI_RMA) != 0 ? provider.max_msg_size
                                    : std::min(provider.max_msg_size, provider.largest_send);
}

bool is_asked(const char* asked, const std::string& own) {
  return asked == nullptr || own == asked;
}

std::uint32_t library_version() {
  const std::uint32_t version = own_state().version;
  return version != 0 ? version : REAL(fi_version)();
}

/// efa looks at its name from 2.4 on (efa_get_user_info()).
bool is_fabric(const fi_info& hints, const Provider& provider) {
  return (provider.name == "efa" && library_version() < FI_VERSION(2, 4)) ||
         is_asked(hints.fabric_attr->name, provider.fabric);
}

bool fits(const Provider& provider, const char* node, const fi_info& hints) {
  const bool ip = provider.addr_format == FI_SOCKADDR_IN;
  return (node == nullptr || ip) && is_asked(hints.fabric_attr->prov_name, provider.name) &&
         is_fabric(hints, provider) && is_asked(hints.domain_attr->name, provider.domain) &&
         (hints.caps & provider.lacks_caps) == 0 &&
         ((hints.caps & FI_HMEM) == 0 || provider.hmem) &&
         (hints.mode & provider.mode) == provider.mode &&
         hints.domain_attr->cq_data_size <= provider.cq_data_size &&
         hints.ep_attr->max_msg_size <= largest_message(provider, hints) &&
         hints.tx_attr->inject_size <= provider.inject_size &&
         ((hints.tx_attr->op_flags & FI_DELIVERY_COMPLETE) == 0 || provider.has_delivery);
}

void rewrite(fi_info& entry, const Provider& provider, const fi_info& hints) {
  rename(entry.fabric_attr->prov_name, provider.name.c_str());
  rename(entry.fabric_attr->name, provider.fabric.c_str());
  rename(entry.domain_attr->name, provider.domain.c_str());
  if (provider.addr_format != FI_SOCKADDR_IN) {
    std::free(entry.src_addr);
    entry.src_addr = nullptr;
    entry.src_addrlen = 0;
    entry.addr_format = provider.addr_format;
  }
  if (provider.hmem) {
    entry.caps |= hints.caps & FI_HMEM;
    entry.domain_attr->mr_mode |= hints.domain_attr->mr_mode & FI_MR_HMEM;
  }
  describe_nic(entry, provider);
  entry.mode = provider.mode;
  entry.ep_attr->max_msg_size = largest_message(provider, hints);
  entry.domain_attr->cq_data_size = provider.cq_data_size;
  if (provider.key_bytes != 0) entry.domain_attr->mr_key_size = provider.key_bytes;
  entry.tx_attr->inject_size = provider.inject_size;
  entry.tx_attr->size = std::max(hints.tx_attr->size, provider.tx_size);
  entry.rx_attr->size = std::max(hints.rx_attr->size, provider.rx_size);
}

// -- objects: their tables of functions are replaced, and stay when they are closed

struct Fabric {
  Provider provider;
  fi_ops object;
  fi_ops_fabric functions;
  const fi_ops_fabric* real;
  const fi_ops* real_object;
};

struct Domain {
  Provider provider;
  fi_ops_domain functions;
  fi_ops_mr registration;
  const fi_ops_domain* real;
  fi_ops_mr* real_registration;
};

std::mutex mutex;
std::map<const fid*, Fabric> fabrics;
std::map<const fid*, Domain> domains;
std::map<std::string, fid_fabric*> open_fabrics;  ///< by name

template <typename T>
T& of(std::map<const fid*, T>& all, const fid& object) {
  const std::lock_guard lock(mutex);
  return all.at(&object);
}

/// An entry names the fabric that is open in this process (util_lookup_existing_fabric_domain()).
void name_open_fabric(fi_info& entry) {
  const std::lock_guard lock(mutex);
  const auto open = open_fabrics.find(entry.fabric_attr->name);
  if (open != open_fabrics.end()) entry.fabric_attr->fabric = open->second;
}

int fake_entries(std::uint32_t version, const char* node, const fi_info* hints, fi_info** list) {
  // efa dereferences them from 2.3.1 on (efa_user_info_check_fabric_object(), ..._domain_object()).
  if (hints->fabric_attr->fabric != nullptr || hints->domain_attr->domain != nullptr) {
    ++own_state().calls.borrowed;
  }
  fi_info** next = list;
  *next = nullptr;
  for (const Provider& provider : own_state().providers) {
    if (version > provider.newest_interface || !fits(provider, node, *hints)) continue;
    fi_info* entries = nullptr;
    if (real_entry(std::min(version, REAL(fi_version)()), hints, &entries) != 0) continue;
    *next = REAL(fi_dupinfo)(entries);
    REAL(fi_freeinfo)(entries);
    rewrite(**next, provider, *hints);
    name_open_fabric(**next);
    next = &(*next)->next;
  }
  return *list == nullptr ? -FI_ENODATA : 0;
}

int close_fabric(fid* fabric) {
  State& state = own_state();
  Fabric& own = of(fabrics, *fabric);
  const bool counts = own.provider.close_waits;
  {
    const std::lock_guard lock(mutex);
    std::erase_if(open_fabrics, [&](const auto& open) { return &open.second->fid == fabric; });
  }
  const int result = own.real_object->close(fabric);
  if (!counts) return result;
  const std::lock_guard lock(state.mutex);
  ++state.closed;
  state.changed.notify_all();
  return result;
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
  const Domain& own = of(domains, domain->fid);
  const char* const name = info->fabric_attr->prov_name;
  if (name == nullptr || own.provider.name != name) {  // the real provider's, for a connection
    return own.real->endpoint(domain, info, endpoint, context);
  }
  fi_info* real = nullptr;
  int result = real_entry(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), info, &real);
  if (result != 0) return result;
  result = own.real->endpoint(domain, real, endpoint, context);
  REAL(fi_freeinfo)(real);
  if (result == 0) take_over(**endpoint, own.provider);
  return result;
}

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context) {
  const Domain& own = of(domains, domain->fid);
  const int result = own.real->cq_open(domain, attributes, queue, context);
  if (result == 0) take_over(**queue, own.provider);
  return result;
}

bool is_dirty(const fi_mr_attr& attributes) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&attributes);
  return std::any_of(bytes + kOldestStructure, bytes + kNewestAttributes,
                     [](std::byte byte) { return byte != std::byte{0}; });
}

/// A GPU's memory is registered by its address, which the real provider does not touch.
int register_memory(fid* domain, const fi_mr_attr* attributes, std::uint64_t flags, fid_mr** mr) {
  constexpr std::uint64_t kDmaBufFlag = std::uint64_t{1} << 40;  // FI_MR_DMABUF, from 1.20 on
  struct DmaBuf {                                                // fi_mr_dmabuf
    int fd;
    std::uint64_t offset;
    std::size_t length;
    std::byte* base;
  };
  const Domain& own = of(domains, *domain);
  if (is_dirty(*attributes)) ++own_state().calls.dirty;
  fi_mr_attr known = *attributes;
  iovec piece{};
  if ((flags & kDmaBufFlag) != 0 && !own.provider.reads_dma_buf) {
    ++own_state().calls.misread_dma_buf;
  } else if ((flags & kDmaBufFlag) != 0) {
    const auto& dma_buf = *reinterpret_cast<const DmaBuf*>(attributes->mr_iov);
    piece = {dma_buf.base + dma_buf.offset, dma_buf.length};
    known.mr_iov = &piece;
  }
  known.iface = FI_HMEM_SYSTEM;
  return own.real_registration->regattr(domain, &known, flags & ~kDmaBufFlag, mr);
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  const Fabric& own = of(fabrics, fabric->fid);
  fi_info* real = nullptr;
  int result = real_entry(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), info, &real);
  if (result != 0) return result;
  result = own.real->domain(fabric, real, domain, context);
  REAL(fi_freeinfo)(real);
  if (result != 0) return result;
  const std::lock_guard lock(mutex);
  Domain& opened = domains[&(*domain)->fid];
  fid_domain& object = **domain;
  opened = {own.provider, *object.ops, *object.mr, object.ops, object.mr};
  opened.functions.endpoint = open_endpoint;
  opened.functions.cq_open = open_queue;
  opened.registration.regattr = register_memory;
  object.ops = &opened.functions;
  object.mr = &opened.registration;
  return 0;
}

int open_fabric(const Provider& provider, fid_fabric** fabric, void* context) {
  fi_info* const hints = REAL(fi_dupinfo)(nullptr);
  fi_info* real = nullptr;
  int result = real_entry(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), hints, &real);
  REAL(fi_freeinfo)(hints);
  if (result != 0) return result;
  result = REAL(fi_fabric)(real->fabric_attr, fabric, context);
  REAL(fi_freeinfo)(real);
  if (result != 0) return result;
  const std::lock_guard lock(mutex);
  Fabric& opened = fabrics[&(*fabric)->fid];
  opened = {provider, *(*fabric)->fid.ops, *(*fabric)->ops, (*fabric)->ops, (*fabric)->fid.ops};
  opened.object.close = close_fabric;
  open_fabrics[provider.fabric] = *fabric;
  (*fabric)->fid.ops = &opened.object;
  opened.functions.domain = open_domain;
  (*fabric)->ops = &opened.functions;
  return 0;
}

}  // namespace
}  // namespace rdmabench::inline v1::fake_fabric

namespace fake = rdmabench::fake_fabric;

extern "C" {

fake::State* rdmabench_fake_fabric() {
  return &fake::own_state();
}

std::uint32_t fi_version() {
  return fake::library_version();
}

int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
               const fi_info* hints, fi_info** list) {
  [[maybe_unused]] static const bool first = fake::read_environment();
  if (fake::own_state().providers.empty() || hints == nullptr) {
    return REAL(fi_getinfo)(version, node, service, flags, hints, list);
  }
  fake::own_state().asked = version;
  if (version > fake::library_version()) return -FI_ENOSYS;
  return fake::fake_entries(version, node, hints, list);
}

int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  for (const fake::Provider& provider : fake::own_state().providers) {
    if (provider.name == attributes->prov_name && provider.fabric == attributes->name) {
      return fake::open_fabric(provider, fabric, context);
    }
  }
  return REAL(fi_fabric)(attributes, fabric, context);
}

void fi_freeinfo(fi_info* info) {
  REAL(fi_freeinfo)(info);
}

fi_info* fi_dupinfo(const fi_info* info) {
  return REAL(fi_dupinfo)(info);
}

// In two versions, as releases have them whose structures changed: the older is that of the
// headers.
__asm__(".symver older_strerror, fi_strerror@" RDMABENCH_VERSION_OF_FI_STRERROR);
__asm__(".symver newer_strerror, fi_strerror@@RDMABENCH_NEWER");

const char* older_strerror(int error) {
  return REAL(fi_strerror)(error);
}

const char* newer_strerror(int /*error*/) {
  return "the function of a newer release, for structures that this build does not have";
}

char* fi_tostr_r(char* text, std::size_t bytes, const void* data, fi_type type) {
  return REAL(fi_tostr_r)(text, bytes, data, type);
}
}
