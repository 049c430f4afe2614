// What a user brings: documents, what nccl-tests printed, another node's doctor, a profile, the
// topology of a network, and the files of a node. Each is read, and what was read is written in
// every format.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "good_text.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/base/error.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/health/doctor.h"
#include "rdmabench/report/documents.h"
#include "targets.h"

namespace rdmabench::inline v1::fuzz {
namespace {

using Texts = std::vector<std::pair<std::string_view, std::string>>;

/// Reads `text` and writes what was read. What is refused is the user's fault. What is written ends
/// on a terminal or in a file: no control character of the input is in it. An error's text may
/// quote the input; the command makes it printable.
Verdict judge(std::string_view text, auto&& read, auto&& write) {
  try {
    const auto value = read(text);
    for (const auto& [format, written] : Texts(write(value))) {
      if (has_control(written)) return {"a control character in " + std::string(format)};
    }
    return {"", true};
  } catch (const Error& error) {
    if (error.fault() == Fault::usage && std::string_view(error.what()).size() < 2000) return {};
    return {std::string("not the user's fault, or too long: ") + error.what()};
  }
}

/// Without HTML, which has the documents as escaped JSON and copies a template of 300 KB.
Texts write_documents(const std::vector<report::Document>& documents) {
  return {{"CSV", report::to_csv(documents)},
          {"JUnit", report::to_junit(documents)},
          {"Markdown", report::to_markdown(documents)},
          {"Prometheus", report::to_prometheus(documents)}};
}

Verdict judge_documents(std::string_view text) {
  const auto read = [](std::string_view from) {
    return report::parse_documents(from, "all_reduce_perf");
  };
  return judge(text, read, write_documents);
}

Verdict judge_launches(std::string_view text) {
  return judge(
      text,
      [](std::string_view from) { return analysis::read_launches(std::string(from), "file"); },
      [](const std::vector<analysis::Launch>& launches) {
        const auto middle = launches.begin() + static_cast<std::ptrdiff_t>(launches.size() / 2);
        const analysis::Comparison comparison =
            analysis::compare({launches.begin(), middle}, {middle, launches.end()}, {});
        return Texts{{"the table", analysis::to_table(comparison)},
                     {"the JSON", analysis::to_json(comparison)}};
      });
}

Verdict judge_peer(std::string_view text) {
  return judge(
      text, [](std::string_view from) { return health::read_peer(from, "file"); },
      [](const health::Peer&) { return Texts{}; });
}

Verdict judge_profile(std::string_view text) {
  return judge(
      text,
      [](std::string_view from) {
        health::Expectations expectations;
        expectations.add_profile(from, "file");
        return expectations;
      },
      [](const health::Expectations&) { return Texts{}; });
}

Verdict judge_topology(std::string_view text) {
  return judge(
      text,
      [](std::string_view from) {
        return fabric::parse_topology({{"node01.json", std::string(from)}});
      },
      [](const fabric::Topology& /*topology*/) { return Texts{}; });
}

/// A node with one RDMA port, on which the checks go far.
health::MemoryStore node() {
  constexpr std::string_view kFunction = "sys/devices/pci0000:00/0000:00:01.0";
  health::MemoryStore store;
  const auto add = [&](std::string_view path, std::string bytes) {
    store.add_file(std::string(path), std::move(bytes));
  };
  const auto add_function = [&](std::string_view name, std::string bytes) {
    add(std::string(kFunction) + "/" + std::string(name), std::move(bytes));
  };
  store.add_link("sys/class/infiniband/mlx5_0",
                 "../../devices/pci0000:00/0000:00:01.0/infiniband/mlx5_0");
  store.add_link("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:01.0/net/eth0");
  store.add_link(std::string(kFunction) + "/infiniband/mlx5_0/device", "../../../0000:00:01.0");
  store.add_link(std::string(kFunction) + "/net/eth0/device", "../../../0000:00:01.0");
  add_function("vendor", "0x15b3\n");
  add_function("device", "0x1021\n");
  add_function("numa_node", "0\n");
  add_function("net/eth0/mtu", "9000\n");
  add_function("infiniband/mlx5_0/fw_ver", "28.43.1014\n");
  add_function("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  add_function("infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  add_function("infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
  return store;
}

/// A line for each file, as in tests/fixtures/doctor: "PATH: TEXT" or "PATH -> TARGET".
void add_lines(health::MemoryStore& store, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.starts_with('/')) continue;  // open_store() has made such paths relative
    if (const std::size_t at = line.find(" -> "); at != std::string_view::npos) {
      store.add_link(std::string(line.substr(0, at)), std::string(line.substr(at + 4)));
    } else if (const std::size_t colon = line.find(": "); colon != std::string_view::npos) {
      std::string text(line.substr(colon + 2));
      for (std::size_t n = 0; (n = text.find("\\n", n)) != std::string::npos; ++n) {
        text.replace(n, 2, "\n");
      }
      store.add_file(std::string(line.substr(0, colon)), text);
    }
  }
}

Verdict judge_node(std::string_view lines) {
  return judge(
      lines,
      [](std::string_view from) {
        auto store = std::make_shared<health::MemoryStore>(node());
        add_lines(*store, from);
        return health::diagnose(health::FileTree(store), "/", {});
      },
      [](const health::Diagnosis& diagnosis) {
        return Texts{{"the text", health::to_text(diagnosis, true)},
                     {"the CSV", health::to_csv(diagnosis)},
                     {"the JSON", health::to_json(diagnosis)}};
      });
}

}  // namespace

Verdict judge_import(std::string_view bytes) {
  if (bytes.empty()) return {};
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 'd':
      return judge_documents(text);
    case 'l':
      return judge_launches(text);
    case 'p':
      return judge_peer(text);
    case 'e':
      return judge_profile(text);
    case 't':
      return judge_node(text);
    case 'n':
      return judge_topology(text);
    default:
      return {.known = false};
  }
}

}  // namespace rdmabench::inline v1::fuzz
