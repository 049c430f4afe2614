// A directory of a test's own that stands for / with its sys and proc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "../folder.h"

namespace rdmabench::inline v1::health {

class Tree : public Folder {
 public:
  std::string root() const { return path(); }

  /// A file with that value for each line of `names`; some drivers have names with spaces.
  void write_lines(const std::string& folder, std::string_view names, std::uint64_t value) const {
    while (!names.empty()) {
      const std::size_t end = std::min(names.find('\n'), names.size());
      const std::string name(names.substr(0, end));
      if (!name.empty()) write(folder + "/" + name, std::to_string(value) + "\n");
      names.remove_prefix(std::min(end + 1, names.size()));
    }
  }

  /// A PCI device whose driver is `driver`.
  void rdma_device(const std::string& name, const std::string& driver) const {
    const std::string folder = "sys/class/infiniband/" + name;
    write(folder + "/node_desc", name + "\n");
    link(folder + "/device/driver", "../../../bus/pci/drivers/" + driver);
  }
};

}  // namespace rdmabench::inline v1::health
