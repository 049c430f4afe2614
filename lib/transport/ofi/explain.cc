// Why nothing fits a request.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fits.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

/// Names in the order of the alphabet, so that the text is the same each time.
using Names = std::set<std::string>;

template <class Take>
Names names(const Info& list, Take&& take) {
  Names all;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    const char* name = take(*info);
    if (name != nullptr) all.insert(name);
  }
  return all;
}

const char* provider_name(const fi_info& info) {
  return info.fabric_attr->prov_name;
}

/// Every provider built into libfabric that has registered itself, with or
/// without anything to use.
Names registered() {
  fi_info* list = nullptr;
  fi_getinfo(api_version(), nullptr, nullptr, FI_PROV_ATTR_ONLY, nullptr, &list);
  return names(Info(list), [](const fi_info& info) -> const char* {
    const std::string_view name = provider_name(info);
    return name.starts_with("ofi_") ? nullptr : info.fabric_attr->prov_name;  // layers and hooks
  });
}

Names usable(EndpointRequest request) {
  request.options.ofi.provider.clear();
  request.device.clear();
  request.fabric.clear();
  Names all;
  for (const Found& found : find_fits(request)) all.insert(found.fit.provider);
  return all;
}

/// Each requirement is applied alone, so that a provider that fails several
/// names them all.
std::vector<std::string> obstacles(const std::string& provider, const EndpointRequest& request) {
  std::vector<std::string> all;
  for (const Requirement& requirement : requirements()) {
    if (!requirement.applies(request)) continue;
    const Info hints = open_hints();
    requirement.add(*hints);
    if (!names(get_info(*hints), provider_name).contains(provider)) {
      all.emplace_back(requirement.text);
    }
  }
  const Info hints = hints_for(request);
  if (!request.device.empty()) {
    Names domains = names(get_info(*hints), [&](const fi_info& info) -> const char* {
      return provider == provider_name(info) ? info.domain_attr->name : nullptr;
    });
    const bool has = std::any_of(domains.begin(), domains.end(), [&](const std::string& domain) {
      return is_domain(domain, request.device);
    });
    if (!has && !domains.empty()) {
      all.push_back(
          fmt::format("device '{}' (it has {})", request.device, fmt::join(domains, ", ")));
    }
  }
  if (all.empty() && !request.fabric.empty()) {
    const Names fabrics = names(get_info(*hints), [&](const fi_info& info) -> const char* {
      return provider == provider_name(info) ? info.fabric_attr->name : nullptr;
    });
    if (!fabrics.contains(request.fabric)) {
      all.push_back(
          fmt::format("fabric '{}' (it has {})", request.fabric, fmt::join(fabrics, ", ")));
    }
  }
  const Info list = all.empty() ? get_info(*hints) : nullptr;
  for (fi_info* entry = list.get(); all.empty() && entry != nullptr; entry = entry->next) {
    if (provider != provider_name(*entry)) continue;
    std::string reason = objection(*entry, request);
    if (!reason.empty()) all.push_back(std::move(reason));
  }
  if (all.empty() && !request.local_ip.empty()) {
    all.push_back(fmt::format("the address {} of the control connection", request.local_ip));
  }
  if (all.empty()) all.emplace_back("several requirements together");
  return all;
}

}  // namespace

Error explain_no_fit(const EndpointRequest& request) {
  const std::string library = fmt::format("libfabric {}", version_text(fi_version()));
  const Names fits = usable(request);
  const std::string remedy =
      fits.empty() ? "FI_LOG_LEVEL=info in the environment shows what each provider says."
                   : fmt::format("These fit: `provider` {}.", fmt::join(fits, ", "));
  if (const std::string_view refusal = refusal_of(request.options.ofi.provider); !refusal.empty()) {
    return {Fault::unavailable,
            fmt::format("provider '{}' {}", request.options.ofi.provider, refusal), remedy};
  }
  std::string text;
  for (const std::string& provider : names(get_info(*open_hints()), provider_name)) {
    if (!refusal_of(provider).empty() || !is_provider(provider, request.options.ofi.provider))
      continue;
    text += fmt::format("{}{} removed by {}", text.empty() ? "" : "; ", provider,
                        fmt::join(obstacles(provider, request), " and by "));
  }
  if (!text.empty()) return {Fault::unavailable, fmt::format("{}: {}", library, text), remedy};
  const Names known = registered();
  if (known.contains(request.options.ofi.provider)) {
    return {Fault::unavailable,
            fmt::format("{}: provider '{}' finds no device here", library,
                        request.options.ofi.provider),
            remedy};
  }
  return {Fault::unavailable,
          fmt::format(
              "{} has no provider{} here (it has {}; efa and verbs may show only where there "
              "is a device)",
              library,
              request.options.ofi.provider.empty() ? "" : " '" + request.options.ofi.provider + "'",
              fmt::join(known, ", ")),
          remedy};
}

}  // namespace rdmabench::inline v1::transport::ofi
