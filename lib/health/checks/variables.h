// Environment variables of libraries, and the lists that some of them hold. Private to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "inventory.h"

namespace rdmabench::inline v1::health {

/// NCCL_IB_HCA and NCCL_SOCKET_IFNAME: "^" means all others, then "=" means whole names in place of
/// beginnings; after a name ":PORT:RAIL:PLANE". Source: NCCL src/misc/utils.cc parseStringList(),
/// matchIfList(); src/transport/net_ib.
struct NcclList {
  explicit NcclList(std::string_view text);

  struct Item {
    std::string name, port;  ///< port is "" for any
  };
  std::vector<Item> items;
  bool without = false;
  bool exact = false;

  /// Whether an item is of that device or network device; `port` is "" for any.
  bool is(const Item& item, std::string_view name, std::string_view port) const;
  /// Whether NCCL takes it; all are taken where there is no item.
  bool takes(std::string_view name, std::string_view port = {}) const;
};

/// A listed environment variable of the process that ran the doctor, or one of NCCL that its files
/// set; none if neither. `read` gives the bytes of a file of the tree.
template <class Read>
std::optional<std::string> variable(std::string_view name, Read read) {
  const auto find = [&](const std::string& bytes, bool after_tab) -> std::optional<std::string> {
    for (const std::string_view line : rdmabench::lines_of(bytes)) {
      const std::string_view set = after_tab ? line.substr(line.find('\t') + 1) : line;
      if (set.starts_with(name) && set.substr(name.size()).starts_with('=')) {
        return std::string(set.substr(name.size() + 1));
      }
    }
    return std::nullopt;
  };
  auto found = find(read("rdmabench/environment"), false);
  if (found || !name.starts_with("NCCL_")) return found;
  return find(read("rdmabench/nccl_files"), true);
}

/// UCX_NET_DEVICES, and what is expected of `ports` and `devices`: "mlx5_0:1,mlx5_[2-5]", "^" for
/// all others, "all". Source: UCX src/ucp/core/ucp_context.c, src/ucs/config/parser.c
/// ucs_config_array_expand_range().
struct UcxList {
  explicit UcxList(std::string_view text);

  std::vector<std::string> names;  ///< without ranges
  bool without = false;

  bool has(std::string_view name) const;
  bool takes(const RdmaPort& port) const;
};

/// Those between commas that are not empty.
std::vector<std::string> parts_of(std::string_view list);

}  // namespace rdmabench::inline v1::health
