// A configuration as a user writes it in JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::run {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Kind = measure::StopRule::Kind;
using transport::OperationCode;
using workload::Shape;

Config config_given(std::string_view text) {
  return config_from_json(text).config;
}

std::string json_refusal(std::string_view text) {
  return rdmabench::complaint([&] { config_from_json(text); }, Fault::usage);
}

TEST(ConfigFromJson, WithoutKeysIsWhatTheCommandMeasures) {
  const ClientConfig client = config_from_json("{}");
  EXPECT_EQ(client.host, "");
  EXPECT_EQ(client.port, kDefaultPort);
  EXPECT_EQ(client.config.traffic.shape, Shape::latency);
  EXPECT_THAT(client.config.sizes, ElementsAre(8));
  EXPECT_EQ(client.config.stop.kind, Kind::stable);
  EXPECT_THAT(config_given(R"({"shape":"bandwidth"})").sizes, ElementsAre(65536));
  EXPECT_THAT(config_given(R"({"shape":"bidirectional"})").sizes, ElementsAre(65536));
  EXPECT_EQ(config_given(R"({"shape":"load"})").traffic.operation, OperationCode::send_imm);
  EXPECT_THAT(config_given(R"({"shape":"bandwidth","operation":"fetch-add"})").sizes,
              ElementsAre(8));
}

TEST(ConfigFromJson, ReadsOptionsOfBothSidesByTheNamesInErrors) {
  const Config config = config_given(
      R"({"shape":"bidirectional","operation":"write-imm","service":"rc","threads":2,"queue_pairs":3,
          "depth":64,"signal_every":4,"events":true,"validate":true,"incast_clients":2,"post_list":5,
          "inline_limit":-1,"traffic_class":104,"qp_timeout":17,"working_set_bytes":65536,"stride_bytes":128,
          "misalignment_bytes":3,"rdma_cm":true,"watch":false,"provider":"tcp",
          "gpu_mapping":"pcie"})");
  EXPECT_EQ(config.traffic.shape, Shape::bidirectional);
  EXPECT_EQ(config.traffic.operation, OperationCode::write_imm);
  EXPECT_EQ(config.endpoint.service, transport::Service::rc);
  EXPECT_EQ(config.traffic.threads, 2U);
  EXPECT_EQ(config.endpoint.queue_pairs, 3U);
  EXPECT_EQ(config.traffic.depth, 64U);
  EXPECT_EQ(config.traffic.signal_every, 4U);
  EXPECT_TRUE(config.endpoint.events && config.traffic.validate && config.endpoint.verbs.rdma_cm &&
              !config.traffic.watch);
  EXPECT_EQ(config.traffic.incast_clients, 2U);
  EXPECT_EQ(config.endpoint.post_list, 5U);
  EXPECT_EQ(config.endpoint.verbs.path.traffic_class, 104);
  EXPECT_EQ(config.endpoint.verbs.path.timeout, 17);
  EXPECT_EQ(config.traffic.working_set, 65536U);
  EXPECT_EQ(config.traffic.stride, 128U);
  EXPECT_EQ(config.endpoint.misalignment, 3U);
  EXPECT_EQ(config.endpoint.ofi.provider, "tcp");
  EXPECT_EQ(config.endpoint.gpu_mapping, memory::GpuMapping::pcie);
}

TEST(ConfigFromJson, ReadsOptionsOfThisSide) {
  const ClientConfig client = config_from_json(
      R"({"host":"node1","port":4242,"backend":"verbs","devices":["mlx5_0","mlx5_1"],"gid_index":3,
          "memory":"huge","numa":"none","cpus":[2,4],"requirements":"rdma-write,fabric=efa",
          "rate":1e5,"timeout_s":2.5,"interval_s":1,"warmup":10,"warmup_time_s":0.25,
          "connect_retry_s":0.5,"counts":[7]})");
  const Config& config = client.config;
  EXPECT_EQ(client.host, "node1");
  EXPECT_EQ(client.port, 4242);
  EXPECT_EQ(config.backend, "verbs");
  EXPECT_THAT(config.placement.devices, ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_EQ(config.traffic.threads, 2U);  // one for each device
  EXPECT_EQ(config.placement.gid_index, 3);
  EXPECT_EQ(config.placement.memory, "huge");
  EXPECT_EQ(config.placement.numa, "none");
  EXPECT_THAT(config.placement.cpus, ElementsAre(2, 4));
  EXPECT_THAT(config.requirements,
              ElementsAre(Requirement{"rdma-write", ""}, Requirement{"fabric", "efa"}));
  EXPECT_EQ(config.rate, 1e5);
  EXPECT_EQ(config.timeout, milliseconds(2500));
  EXPECT_EQ(config.interval, milliseconds(1000));
  EXPECT_EQ(config.warmup, 10);
  EXPECT_EQ(config.warmup_time, milliseconds(250));
  EXPECT_EQ(config.connect_retry, milliseconds(500));
  EXPECT_THAT(config.counts, ElementsAre(7));
}

TEST(ConfigFromJson, ReadsHowTheServerAndThisSideKnowOneAnother) {
  using Method = control::Authentication::Method;
  EXPECT_EQ(config_given("{}").authentication.method(), Method::token);
  EXPECT_EQ(config_given(R"({"token_file":"/a/token"})").authentication.file(), "/a/token");
  EXPECT_EQ(config_given(R"({"auth":"munge"})").authentication.method(), Method::munge);
  EXPECT_EQ(config_given(R"({"auth":"token","token_file":"t"})").authentication.file(), "t");
  EXPECT_TRUE(config_given(R"({"insecure":true})").authentication.is_insecure());
  EXPECT_FALSE(config_given(R"({"insecure":false,"auth":"token"})").authentication.is_insecure());
  EXPECT_THAT(json_refusal(R"({"auth":"password"})"), HasSubstr("`auth`"));
  for (const char* const both :
       {R"({"insecure":true,"token_file":"t"})", R"({"insecure":true,"auth":"munge"})",
        R"({"auth":"munge","token_file":"t"})"}) {
    EXPECT_THAT(json_refusal(both), has_all("more than one", "`insecure`", "`auth`"));
  }
}

TEST(ConfigFromJson, TakesSizesAsNumberListOrText) {
  EXPECT_THAT(config_given(R"({"sizes":64})").sizes, ElementsAre(64));
  EXPECT_THAT(config_given(R"({"sizes":[8,4096]})").sizes, ElementsAre(8, 4096));
  EXPECT_THAT(config_given(R"({"sizes":"8,64K"})").sizes, ElementsAre(8, 65536));
  EXPECT_THAT(config_given(R"({"sizes":"1:4"})").sizes, ElementsAre(1, 2, 4));
  EXPECT_THAT(json_refusal(R"({"sizes":[8,0]})"),
              HasSubstr("`sizes[1]` of the configuration is 0"));
  EXPECT_THAT(json_refusal(R"({"sizes":[]})"), HasSubstr("`sizes` of the configuration is empty"));
  EXPECT_THAT(json_refusal(R"({"sizes":"3Q"})"), HasSubstr("`sizes` of the configuration: "));
  EXPECT_THAT(json_refusal(R"({"sizes":"1:1G"})"), HasSubstr("1 to 256M"));
  EXPECT_THAT(json_refusal(R"({"sizes":true})"), HasSubstr("`sizes` of the configuration is true"));
}

TEST(ConfigFromJson, TakesOneStoppingRule) {
  EXPECT_EQ(config_given(R"({"stop":{"iterations":500}})").stop.count, 500U);
  EXPECT_EQ(config_given(R"({"stop":{"duration_s":0.25}})").stop.time, milliseconds(250));
  const measure::StopRule rule =
      config_given(R"({"stop":{"max_noise":0.01,"min_time_s":0.1,"max_time_s":0.2}})").stop;
  EXPECT_EQ(rule.kind, Kind::stable);
  EXPECT_EQ(rule.stability.max_noise, 0.01);
  EXPECT_EQ(rule.stability.min_time, milliseconds(100));
  EXPECT_EQ(rule.stability.max_time, milliseconds(200));
  EXPECT_EQ(config_given(R"({"stop":{"max_time_s":0.2}})").stop.stability.min_time,
            milliseconds(200));
  for (const char* text : {R"({"stop":{}})", R"({"stop":{"iterations":5,"duration_s":1}})",
                           R"({"stop":{"max_noise":0.1,"duration_s":1}})"}) {
    EXPECT_THAT(json_refusal(text), has_all("`stop`", "none", "several"));
  }
  EXPECT_THAT(json_refusal(R"({"stop":{"min_time_s":20}})"), HasSubstr("more than `max_time_s`"));
  EXPECT_THAT(json_refusal(R"({"stop":{"duration_s":0}})"),
              has_all("`duration_s` of `stop`", " is 0"));
  EXPECT_THAT(json_refusal(R"({"stop":{"iteration":1}})"), HasSubstr("mean `iterations`?"));
  EXPECT_THAT(json_refusal(R"({"stop":7})"), HasSubstr("`stop` of the configuration is 7"));
}

TEST(ConfigFromJson, NamesTheKeyItsValueAndWhatIsAllowed) {
  EXPECT_THAT(json_refusal(R"({"depth":0})"), EndsWith("invalid `depth` 0. It may be 1 to 16384."));
  EXPECT_THAT(json_refusal(R"({"threads":65})"), HasSubstr("`threads` 65"));
  EXPECT_THAT(json_refusal(R"({"depth":"8"})"), HasSubstr("is \"8\""));
  EXPECT_THAT(json_refusal(R"({"validate":1})"), HasSubstr("It must be true or false"));
  EXPECT_THAT(
      json_refusal(R"({"shape":"bw"})"),
      has_all("`shape` of the configuration is 'bw'", "latency, bandwidth, bidirectional, load"));
  EXPECT_THAT(json_refusal(R"({"operation":""})"), HasSubstr("send-imm"));
  EXPECT_THAT(json_refusal(R"({"devices":"mlx5_0"})"), HasSubstr("`devices` of the configuration"));
  EXPECT_THAT(json_refusal(R"({"devices":[7]})"), HasSubstr("`devices[0]`"));
  EXPECT_THAT(json_refusal(R"({"timeout_s":1e9})"), HasSubstr("`timeout_s`"));
  EXPECT_THAT(json_refusal(R"({"port":65536})"), HasSubstr("`port`"));
  EXPECT_THAT(json_refusal(R"({"sizes":[0]})"), EndsWith(" from 1 to 268435456."));
  EXPECT_THAT(json_refusal(R"({"sizes":0})"), EndsWith(" from 1 to 268435456."));
  EXPECT_THAT(json_refusal(R"({"stop":{"iterations":1},"counts":[7]})"),
              has_all("`stop` and `counts` together"));
}

TEST(ConfigFromJson, NamesTheNearestKeyForAnUnknownOne) {
  EXPECT_THAT(json_refusal(R"({"dept":8})"), has_all("`dept`", "mean `depth`?"));
  EXPECT_THAT(json_refusal(R"({"workers":2})"), HasSubstr("unknown key `workers`"));
  EXPECT_THAT(json_refusal(R"({"\u001b\n":1})"), HasSubstr("unknown key `??`"));
}

TEST(ConfigFromJson, LeavesOutWhatIsNull) {
  const ClientConfig client = config_from_json(R"({"host":null,"depth":null,"stop":null})");
  EXPECT_EQ(client.host, "");
  EXPECT_EQ(client.config.traffic.depth, std::nullopt);
  EXPECT_EQ(client.config.stop.kind, Kind::stable);
}

TEST(ConfigFromJson, RefusesHostileText) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{\"a\":"), std::string(1 << 19, '['),
        "{\"depth\":" + std::string(1 << 19, '{'), std::string("{\"depth\":1}}"),
        std::string("{\"memory\":\"\xff\"}")}) {
    EXPECT_THAT(json_refusal(text), HasSubstr("the configuration is not "));
  }
  EXPECT_THAT(json_refusal(std::string(1 << 21, ' ')), HasSubstr("2097152 bytes"));
  EXPECT_THAT(json_refusal("{\"memory\":\"" + std::string(5000, 'x') + "\"}"),
              HasSubstr("at most 4096 bytes"));
  EXPECT_LT(json_refusal("{\"" + std::string(1 << 19, 'k') + "\":1}").size(), 300U);
  EXPECT_THAT(json_refusal(R"({"rate":1e999})"), HasSubstr("the configuration is not"));
}

}  // namespace
}  // namespace rdmabench::inline v1::run
