// A directory of a test's own that stands for / with its sys and proc.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rdmabench::health {

class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "rdmabench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    root_ = name;
  }
  ~Tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  std::string root() const { return root_.string(); }

  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  void link(const std::string& file, const std::string& target) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::filesystem::create_symlink(target, root_ / file);
  }

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

 private:
  std::filesystem::path root_;
};

}  // namespace rdmabench::health
