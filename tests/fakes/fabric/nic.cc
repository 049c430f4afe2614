// What an entry of fi_getinfo(3) says of its NIC.
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_fabric.h"
#include "real.h"

namespace rdmabench::inline v1::fake_fabric {
namespace {

/// The library frees and copies it by these functions.
struct Nic {
  fid_nic nic;
  fi_device_attr device;
  fi_bus_attr bus;
  fi_link_attr link;
};

int close_nic(fid* object) {
  Nic* const nic = reinterpret_cast<Nic*>(object);
  std::free(nic->device.name);
  std::free(nic);
  return 0;
}

int control_nic(fid* object, int command, void* argument);

fi_ops functions = {.size = sizeof(fi_ops),
                    .close = close_nic,
                    .bind = nullptr,
                    .control = control_nic,
                    .ops_open = nullptr,
                    .tostr = nullptr,
                    .ops_set = nullptr};

void point_to_itself(Nic& nic) {
  nic.nic.fid = {FI_CLASS_NIC, nullptr, &functions};
  nic.nic.device_attr = &nic.device;
  nic.nic.bus_attr = &nic.bus;
  nic.nic.link_attr = &nic.link;
}

int control_nic(fid* object, int command, void* argument) {
  if (command != FI_DUP) return -FI_ENOSYS;
  Nic* const copy = static_cast<Nic*>(std::calloc(1, sizeof(Nic)));
  *copy = *reinterpret_cast<Nic*>(object);
  if (copy->device.name != nullptr) copy->device.name = strdup(copy->device.name);
  point_to_itself(*copy);
  *static_cast<fid_nic**>(argument) = &copy->nic;
  return 0;
}

}  // namespace

void describe_nic(fi_info& entry, const Provider& provider) {
  if (entry.nic != nullptr) entry.nic->fid.ops->close(&entry.nic->fid);
  entry.nic = nullptr;
  if (provider.device.empty()) return;
  Nic* const nic = static_cast<Nic*>(std::calloc(1, sizeof(Nic)));
  point_to_itself(*nic);
  nic->device.name = strdup(provider.device.c_str());
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  if (std::sscanf(provider.pci.c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4) {
    nic->bus.bus_type = FI_BUS_PCI;
    nic->bus.attr.pci = {static_cast<std::uint16_t>(domain), static_cast<std::uint8_t>(bus),
                         static_cast<std::uint8_t>(device), static_cast<std::uint8_t>(function)};
  }
  nic->link.mtu = provider.mtu;
  nic->link.speed = provider.link_speed;
  nic->link.state = FI_LINK_UP;
  entry.nic = &nic->nic;
}

}  // namespace rdmabench::inline v1::fake_fabric
