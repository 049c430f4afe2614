#include "division.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/refuse.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective {
namespace {

/// "0", "1", ... of so many parts as even as can be, for each of `count` things.
std::string part_of(std::size_t index, std::size_t count, std::size_t parts) {
  return fmt::format("{}", index * parts / count);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> members(const std::vector<std::uint32_t>& group_of,
                                                std::uint32_t ranks) {
  const std::size_t groups =
      group_of.empty() ? 1 : std::size_t{1} + *std::max_element(group_of.begin(), group_of.end());
  if ((!group_of.empty() && group_of.size() != ranks) || groups > ranks) {
    throw Error(Fault::failed, fmt::format("groups of {} ranks, not {}", group_of.size(), ranks));
  }
  std::vector<std::vector<std::uint32_t>> all(groups);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    all[group_of.empty() ? 0 : group_of[rank]].push_back(rank);
  }
  if (std::any_of(all.begin(), all.end(), [](const auto& group) { return group.empty(); })) {
    throw Error(Fault::failed, "a group without a rank");
  }
  return all;
}

std::string range_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::vector<std::string> GroupExchange::all_gather(std::string_view mine, Deadline deadline) {
  const std::vector<std::string> all = all_.all_gather(mine, deadline);
  std::vector<std::string> group;
  for (const std::uint32_t rank : ranks_) group.push_back(all[rank]);
  return group;
}

std::string GroupExchange::broadcast(std::string_view of_rank_0, Deadline deadline) {
  return all_gather(of_rank_0, deadline).front();
}

Division divide(std::string name, const std::vector<std::string>& labels) {
  Division division{.name = std::move(name)};
  std::map<std::string, std::uint32_t> groups;
  for (const std::string& label : labels) {
    const auto [group, fresh] = groups.try_emplace(label, groups.size());
    division.group_of.push_back(group->second);
  }
  return division;
}

std::vector<Division> divide_pairs(const std::string& name,
                                   const std::vector<std::string>& labels) {
  const std::vector<std::uint32_t> label_of = divide(name, labels).group_of;
  const std::uint32_t count = label_of.empty() ? 0 : *std::ranges::max_element(label_of) + 1;
  refuse_if(count < 2, fmt::format("{} of {} part", name, count), "Choose other groups.");
  // The circle method: the last place stays, the others move on by one each round. Of an odd number
  // one is by itself.
  const std::uint32_t moving = count + count % 2 - 1;
  std::vector<Division> rounds(moving, {.name = name});
  for (std::uint32_t turn = 0; turn < moving; ++turn) {
    std::vector<std::uint32_t> pair_of(moving + 1);
    for (std::uint32_t i = 0; i <= moving / 2; ++i) {
      pair_of[i == 0 ? moving : (turn + i) % moving] = pair_of[(turn + moving - i) % moving] = i;
    }
    for (const std::uint32_t label : label_of) rounds[turn].group_of.push_back(pair_of[label]);
  }
  return rounds;
}

Division divide_by(std::string_view how, const std::vector<std::string>& hosts) {
  std::map<std::string, std::size_t> nodes;
  std::map<std::string, std::size_t> ranks_of;
  for (const std::string& host : hosts) nodes.try_emplace(host, nodes.size());
  const bool one_node = nodes.size() == 1;
  const std::size_t count = one_node ? hosts.size() : nodes.size();
  const std::size_t parts = how == "halves" ? 2 : how == "quarters" ? 4 : 0;
  refuse_if(parts == 0 && how != "nodes" && how != "across",
            fmt::format("unknown groups '{}'", how),
            "Take halves, quarters, nodes or across, or leaf or leaf-pairs with a topology.");
  refuse_if(
      parts > count || (parts == 0 && one_node),
      fmt::format("{} of {} {}{}", how, count, one_node ? "rank" : "node", count == 1 ? "" : "s"),
      "Start more, or choose other groups.");
  std::vector<std::string> labels;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::size_t local = ranks_of[hosts[rank]]++;
    const std::size_t node = one_node ? rank : nodes[hosts[rank]];
    labels.push_back(parts != 0        ? part_of(node, count, parts)
                     : how == "across" ? fmt::format("{}", local)
                                       : hosts[rank]);
  }
  return divide(std::string(how), labels);
}

}  // namespace rdmabench::inline v1::collective
