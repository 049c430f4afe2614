#include "transport/ofi/backend.h"
#include "rdmabench/transport/ofi/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rdma/fabric.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "transport/ofi/fits.h"

namespace rdmabench::inline v1::transport::ofi::backend_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

EndpointRequest request(std::string_view provider = "") {
  EndpointRequest r;
  r.options.ofi.provider = provider;
  r.local_ip = "127.0.0.1";
  return r;
}

// -- offers made by hand
// ----------------------------------------------------------------------------

Json fit(std::string_view provider, std::string_view fabric = "10.0.0.0/24",
         std::string_view source = "10.0.0.1", unsigned protocol_version = 1) {
  return {{"provider", provider}, {"domain", "eth0"}, {"fabric", fabric},
          {"source", source},     {"protocol", 11U},  {"protocol_version", protocol_version},
          {"addr_format", 2U}};
}

std::string offer_of(std::initializer_list<Json> fits, std::string_view host = "here") {
  return Json{{"host", host}, {"fits", Json(fits)}}.dump();
}

std::string chosen(const Choice& choice, const char* key = "provider") {
  return Json::parse(choice.client).at(key).get<std::string>();
}

TEST(OfiChoose, PrefersRdmaThenTheFasterTcp) {
  const std::string all =
      offer_of({fit("tcp;ofi_rxm"), fit("net"), fit("verbs;ofi_rxm"), fit("efa")});
  const std::string no_efa = offer_of({fit("net"), fit("verbs;ofi_rxm"), fit("tcp;ofi_rxm")});
  const std::string tcp = offer_of({fit("tcp;ofi_rxm"), fit("net")});
  EXPECT_EQ(chosen(choose(request(), all, all)), "efa");
  EXPECT_EQ(chosen(choose(request(), all, no_efa)), "verbs;ofi_rxm");
  EXPECT_EQ(chosen(choose(request(), all, tcp)), "net");
  EXPECT_EQ(chosen(choose(request(), tcp, offer_of({fit("tcp;ofi_rxm")}))), "tcp;ofi_rxm");
}

TEST(OfiChoose, TakesTheProviderThatIsNamedByItsCoreOrInFull) {
  const std::string all =
      offer_of({fit("net"), fit("tcp;ofi_rxm"), fit("udp;ofi_rxd"), fit("efa")});
  EXPECT_EQ(chosen(choose(request("tcp"), all, all)), "tcp;ofi_rxm");
  EXPECT_EQ(chosen(choose(request("tcp;ofi_rxm"), all, all)), "tcp;ofi_rxm");
  EXPECT_EQ(chosen(choose(request("udp;ofi_rxd"), all, all)), "udp;ofi_rxd");
  const std::string newer = offer_of({fit("tcp;ofi_rxm"), fit("tcp")});
  EXPECT_EQ(chosen(choose(request("tcp"), newer, newer)), "tcp");
}

TEST(OfiChoose, NeverTakesUnnamedWhatIsNoNetworkOrSlow) {
  const std::string odd = offer_of({fit("shm", "shm", ""), fit("udp;ofi_rxd"), fit("psm3")});
  EXPECT_THAT(complaint([&] { choose(request(), odd, odd); }, Fault::unavailable),
              AllOf(HasSubstr("shm (protocol"), HasSubstr("udp;ofi_rxd"), HasSubstr("psm3"),
                    HasSubstr("`provider`")));
}

TEST(OfiChoose, TakesSharedMemoryByNameOnOneHostOnly) {
  const std::string here = offer_of({fit("shm", "shm", "")}, "here");
  const std::string there = offer_of({fit("shm", "shm", "")}, "there");
  EXPECT_EQ(chosen(choose(request("shm"), here, here)), "shm");
  EXPECT_THAT(complaint([&] { choose(request("shm"), here, there); }, Fault::unavailable),
              AllOf(HasSubstr("'here'"), HasSubstr("'there'")));
}

TEST(OfiChoose, NeedsOneFabricWhereAddressesAreNotRouted) {
  const std::string efa = offer_of({fit("efa", "efa", "")});
  const std::string direct = offer_of({fit("efa", "efa-direct", "")});
  EXPECT_THROW(choose(request(), efa, direct), Error);
  const std::string other_network = offer_of({fit("net", "10.0.1.0/24", "10.0.1.7")});
  EXPECT_EQ(chosen(choose(request(), offer_of({fit("net")}), other_network)), "net");
}

TEST(OfiChoose, PrefersAPairWithinOneFabric) {
  const std::string client =
      offer_of({fit("net", "10.0.0.0/24", "10.0.0.1"), fit("net", "10.9.0.0/24", "10.9.0.1")});
  const std::string server = offer_of({fit("net", "10.9.0.0/24", "10.9.0.2")});
  EXPECT_EQ(chosen(choose(request(), client, server), "source"), "10.9.0.1");
}

TEST(OfiChoose, NamesBothSidesWhenNothingIsCommon) {
  EXPECT_THAT(complaint([] { choose(request(), offer_of({fit("efa")}), offer_of({fit("net")})); },
                        Fault::unavailable),
              AllOf(HasSubstr("the client has efa"), HasSubstr("the server has net")));
}

TEST(OfiChoose, RefusesAnotherVersionOfAProvidersProtocol) {
  const std::string older = offer_of({fit("net")});
  const std::string newer = offer_of({fit("net", "10.0.0.0/24", "10.0.0.2", 2)});
  EXPECT_THAT(
      complaint([&] { choose(request(), older, newer); }, Fault::unavailable),
      AllOf(HasSubstr("net (protocol 11, version 1)"), HasSubstr("net (protocol 11, version 2)")));
}

TEST(OfiChoose, RefusesWhatIsNoOffer) {
  const std::string good = offer_of({fit("net")});
  Json many = Json::parse(good);
  for (int i = 0; i < 300; ++i) many["fits"].push_back(fit("net"));
  Json wrong_type = Json::parse(good);
  wrong_type["fits"][0]["protocol"] = -1;
  Json too_large = Json::parse(good);
  too_large["fits"][0]["protocol"] = 1ULL << 40;
  Json long_name = Json::parse(good);
  long_name["fits"][0]["domain"] = std::string(5000, 'x');
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{\"host\":"), std::string("{}"), many.dump(),
        wrong_type.dump(), too_large.dump(), long_name.dump(), std::string(100000, ' ')}) {
    EXPECT_THROW(choose(request(), good, bad), Error) << bad.substr(0, 100);
  }
}

// -- what libfabric has here
// ------------------------------------------------------------------------

TEST(OfiOffer, IsBoundToTheAddressOfTheControlConnection) {
  const Json offered = Json::parse(offer(request()));
  bool ip = false;
  for (const Json& one : offered.at("fits")) {
    const std::string source = one.at("source");
    if (source.empty()) continue;
    ip = true;
    EXPECT_EQ(source, "127.0.0.1") << one;
  }
  EXPECT_TRUE(ip) << offered;
}

TEST(OfiOffer, NamesWhatExistsWhenTheProviderDoesNot) {
  EXPECT_THAT(complaint([] { offer(request("carrier-pigeon")); }, Fault::unavailable),
              AllOf(HasSubstr("'carrier-pigeon'"), HasSubstr("it has"), HasSubstr("tcp"),
                    HasSubstr("`provider`")));
}

TEST(OfiOffer, SaysWhichRequirementsRemovedAProvider) {
  EndpointRequest r = request("udp");  // plain udp is unreliable datagrams, and knows only messages
  r.operations = OperationCode::write_imm;
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
              AllOf(HasSubstr("udp removed by reliable-datagram endpoints"), HasSubstr("FI_RMA"),
                    HasSubstr("remote completion data"), HasSubstr("udp;ofi_rxd")));
}

TEST(OfiOffer, SaysWhichDevicesAProviderHas) {
  EndpointRequest r = request("tcp");
  r.device = "eth99";
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
              AllOf(HasSubstr("device 'eth99'"), HasSubstr("it has "), HasSubstr("lo")));
}

TEST(OfiOffer, RefusesSockets) {
  EXPECT_THAT(complaint([] { offer(request("sockets")); }, Fault::unavailable),
              AllOf(HasSubstr("deprecated"), HasSubstr("`provider`")));
}

TEST(OfiOffer, HasTheNicNearestToAGpuFirst) {
  std::vector<Found> found;
  for (const std::uint64_t far : {4, 2, 4, 0}) {
    Info info(fi_allocinfo());
    info->caps = far;
    Fit numbered;
    numbered.domain = std::to_string(found.size());
    found.push_back({std::move(numbered), std::move(info)});
  }
  std::size_t asked = 0;
  sort_by_distance(found, [&](const fi_info& info) {
    ++asked;
    return static_cast<PciDistance>(info.caps);
  });
  EXPECT_EQ(asked, found.size()) << "sysfs is read for it";
  std::string order;
  for (const Found& one : found) order += one.fit.domain;
  EXPECT_EQ(order, "3102");
}

TEST(OfiOffer, RefusesLinkedProviders) {
  for (const char* linked : {"lnx", "shm+cxi"}) {
    EXPECT_THAT(complaint([&] { offer(request(linked)); }, Fault::unavailable),
                AllOf(HasSubstr(linked), HasSubstr("never tried"), HasSubstr("`provider`")));
  }
}

TEST(OfiOffer, RefusesEachOptionOfVerbs) {
  using Change = void (*)(VerbsOptions&);
  for (const auto& [change, named] : std::initializer_list<std::pair<Change, const char*>>{
           {[](VerbsOptions& o) { o.shared_receives = true; }, "`shared_receives`"},
           {[](VerbsOptions& o) { o.completion_vector = 0; }, "`completion_vector`"},
           {[](VerbsOptions& o) { o.region_per_queue_pair = true; }, "`region_per_queue_pair`"},
           {[](VerbsOptions& o) { o.rdma_cm = true; }, "`rdma_cm`"},
           {[](VerbsOptions& o) { o.mtu = 1024; }, "`mtu`"},
           {[](VerbsOptions& o) { o.path.hop_limit = 2; }, "`hop_limit`"}}) {
    EndpointRequest r = request();
    change(r.options.verbs);
    EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
                AllOf(HasSubstr(named), HasSubstr("`backend` verbs")));
  }
}

TEST(OfiDevices, ListsEachProviderAndDomainOnce) {
  std::vector<std::string> seen;
  for (const DeviceInfo& device : devices()) {
    EXPECT_EQ(device.backend, "ofi");
    seen.push_back(device.provider + " " + device.name);
  }
  EXPECT_THAT(seen, Not(::testing::IsEmpty()));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::backend_test
