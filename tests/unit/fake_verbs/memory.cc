// Memory regions, and what a device says of on-demand paging.
#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "state.h"

#undef ibv_reg_mr

namespace rdmabench::inline v1::fake_verbs {
namespace {

constexpr std::uint64_t kPageMask = 4095;
constexpr int kDmaBufAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                              IBV_ACCESS_RELAXED_ORDERING;

const Device& device_of(ibv_context* context) {
  return fake(*context).device->config;
}

/// Source: Linux, efa_alloc_mr() in drivers/infiniband/hw/efa/efa_verbs.c, which takes no notice of
/// flags that are optional.
unsigned efa_access(const Device& device) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  access |= IBV_ACCESS_OPTIONAL_RANGE;
  if ((device.efa_capabilities & 0b0001) != 0) access |= IBV_ACCESS_REMOTE_READ;
  if ((device.efa_capabilities & 0b1000) != 0) access |= IBV_ACCESS_REMOTE_WRITE;
  return access;
}

ibv_mr* fail(int code) {
  errno = code;
  return nullptr;
}

ibv_mr* add(ibv_pd* domain, FakeRegion made) {
  State& now = state();
  auto* region = new FakeRegion(made);
  region->context = domain->context;
  region->pd = domain;
  region->lkey = now.next_number++;
  region->rkey = ~region->lkey;  // so that one taken for the other is found out
  now.regions[region->lkey] = region;
  ++static_cast<FakeDomain*>(domain)->children;
  ++now.live;
  return region;
}

}  // namespace

std::byte* gpu_bytes(std::uint64_t address) {
  using Find = void* (*)(unsigned long long);
  static const auto find = reinterpret_cast<Find>(dlsym(RTLD_DEFAULT, "fake_cuda_host_pointer"));
  auto* const bytes = find == nullptr ? nullptr : static_cast<std::byte*>(find(address));
  return bytes == reinterpret_cast<std::byte*>(address) ? nullptr : bytes;  // pinned host memory
}

void lose_gpu_bytes(bool lose) {
  const std::lock_guard lock(state().mutex);
  state().lose_gpu_bytes = lose;
}

void lose_bytes_of_mapping(const std::string& mapping) {
  const std::lock_guard lock(state().mutex);
  state().lost_mapping = mapping;
}

void hold_writes(bool hold) {
  const std::lock_guard lock(state().mutex);
  state().hold_writes = hold;
}

void hold_gpu_writes(bool hold) {
  const std::lock_guard lock(state().mutex);
  state().hold_gpu_writes = hold;
  state().held.clear();
}

int gpu_reads() {
  const std::lock_guard lock(state().mutex);
  return state().gpu_reads;
}

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* /*input*/,
                    ibv_device_attr_ex* attributes, std::size_t size) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::query_device_ex); code != 0) return code;
  std::memset(attributes, 0, size);
  attributes->odp_caps = device_of(context).on_demand;
  attributes->xrc_odp_caps = device_of(context).xrc_on_demand;
  attributes->device_cap_flags_ex = device_of(context).capabilities;
  return 0;
}

RegionFacts region(std::uint32_t local_key) {
  const std::lock_guard lock(state().mutex);
  const FakeRegion& found = *state().regions.at(local_key);
  return {.access = found.access, .dma_buf = found.dma_buf, .offset = found.offset};
}

}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t iova,
                         unsigned int access) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::reg_mr)) return nullptr;
  const Device& device = device_of(domain->context);
  const bool too_large = device.max_mr_size != 0 && length > device.max_mr_size;
  const bool can_page = (device.on_demand.general_caps & IBV_ODP_SUPPORT) != 0;
  if (too_large || ((access & IBV_ACCESS_ON_DEMAND) != 0 && !can_page)) return fail(EINVAL);
  if (device.efa && (access & ~efa_access(device)) != 0) return fail(EOPNOTSUPP);
  const bool of_gpu = gpu_bytes(reinterpret_cast<std::uintptr_t>(address)) != nullptr;
  if (of_gpu && !device.peer_memory) return fail(EFAULT);
  FakeRegion made{};
  made.addr = address;
  made.length = length;
  made.access = static_cast<int>(access);
  made.start = iova;
  return add(domain, made);
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, size_t length, int access) {
  return ibv_reg_mr_iova2(domain, address, length, reinterpret_cast<std::uintptr_t>(address),
                          static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset, size_t length, uint64_t iova, int fd,
                          int access) {
  const std::lock_guard lock(state().mutex);
  if (refused(Call::reg_dmabuf_mr)) return nullptr;
  if (!device_of(domain->context).takes_dma_buf) return fail(EOPNOTSUPP);
  if (fd < 0) return fail(EBADF);
  const bool same_page_offset = ((offset ^ iova) & kPageMask) == 0;
  if (!same_page_offset || (access & ~kDmaBufAccess) != 0) return fail(EINVAL);
  const Device& device = device_of(domain->context);
  if (device.efa && (static_cast<unsigned>(access) & ~efa_access(device)) != 0) {
    return fail(EOPNOTSUPP);
  }
  FakeRegion made{};
  made.addr = reinterpret_cast<void*>(offset);  // as libibverbs does: no address of the process
  made.length = length;
  made.access = access;
  made.start = iova;
  made.dma_buf = fd;
  using IsPcie = int (*)(int);
  static const auto is_pcie =
      reinterpret_cast<IsPcie>(dlsym(RTLD_DEFAULT, "fake_cuda_dma_buf_is_pcie"));
  made.mapping = is_pcie != nullptr && is_pcie(fd) != 0 ? "pcie" : "default";
  made.offset = offset;
  return add(domain, made);
}

// Newer than many a header, so found by name: the test exports them.
[[gnu::visibility("default")]] ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd* domain, uint64_t offset,
                                                            size_t length, uint64_t iova, int fd,
                                                            int access, int /*mlx5_access*/) {
  if (iova % (kPageMask + 1) != 0) return fail(EINVAL);
  return ibv_reg_dmabuf_mr(domain, offset, length, iova, fd, access);
}

[[gnu::visibility("default")]] int mlx5dv_get_data_direct_sysfs_path(ibv_context* context,
                                                                     char* path, size_t bytes) {
  const std::lock_guard lock(state().mutex);
  if (!device_of(context).data_direct) return ENODEV;
  if (bytes > 0) path[0] = '\0';
  return 0;
}

int ibv_dereg_mr(ibv_mr* region) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::dereg_mr); code != 0) return code;
  state().regions.erase(region->lkey);
  state().held.clear();  // their memory may go next
  --static_cast<FakeDomain*>(region->pd)->children;
  delete static_cast<FakeRegion*>(region);
  --state().live;
  return 0;
}

}  // extern "C"
