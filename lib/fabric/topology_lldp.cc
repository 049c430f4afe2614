#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "topology_formats.h"

namespace rdmabench::inline v1::fabric {
namespace {

/// What `-f json` prints, of `-f json0`, where everything is a list, and has its name within.
nlohmann::json without_lists(const nlohmann::json& lldp) {
  nlohmann::json out = nlohmann::json::object();
  for (const nlohmann::json& item : lldp.at(0).value("interface", nlohmann::json::array())) {
    const nlohmann::json& chassis = item.at("chassis").at(0);
    nlohmann::json neighbour;
    neighbour["id"] = chassis.at("id").at(0);
    if (chassis.contains("name")) {
      neighbour = {{chassis["name"].at(0).at("value").get<std::string>(), neighbour}};
    }
    nlohmann::json entry;
    nlohmann::json& facts = entry[item.at("name").get<std::string>()];
    facts["chassis"] = neighbour;
    facts["port"]["id"] = item.at("port").at(0).at("id").at(0);
    out["interface"].push_back(entry);
  }
  return out;
}

}  // namespace

void LldpReader::read(TopologyDraft& draft, std::string_view text) {
  const std::string host = std::filesystem::path(draft.file).stem().string();
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    const nlohmann::json& told = json.at("lldp");
    const nlohmann::json lldp = told.is_array() ? without_lists(told) : told;
    if (lldp.is_object() && !lldp.contains("interface")) {  // no neighbour is known
      draft.point("host " + host, host, true);
      return;
    }
    const nlohmann::json& found = lldp.at("interface");
    // One interface is an object, several are a list of objects.
    const nlohmann::json list = found.is_array() ? found : nlohmann::json::array({found});
    for (const nlohmann::json& item : list) {
      for (const auto& [interface, facts] : item.items()) {
        const auto& chassis = facts.at("chassis");
        if (chassis.empty()) draft.refuse("an interface without a chassis");
        // Under its name; where it has none, its facts stand there themselves.
        const bool nameless = chassis.contains("id") && chassis.at("id").contains("value");
        const std::string neighbour =
            nameless ? chassis.at("id").at("value").get<std::string>() : chassis.begin().key();
        const nlohmann::json& known = nameless ? chassis : chassis.at(neighbour);
        const std::string id =
            known.contains("id") ? known.at("id").at("value").get<std::string>() : neighbour;
        // Another chassis may have the same name: a maker's.
        const bool same = chassis_.try_emplace(neighbour, id).first->second == id;
        const std::string full = fmt::format("{} {}", neighbour, id);
        const nlohmann::json& port = facts.at("port").at("id").at("value");
        const std::string name = fmt::format("{} {}", host, interface);
        draft.link(draft.point("host " + name, name, true), interface,
                   draft.point("switch " + (same ? neighbour : full), neighbour, false, {full}),
                   port.get<std::string>());
      }
    }
  } catch (const nlohmann::json::exception&) {
    draft.refuse("not what `lldpctl -f json` prints, or not all of it");
  }
}

}  // namespace rdmabench::inline v1::fabric
