#include "control/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "control/admission.h"
#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using namespace std::string_literals;

constexpr std::string_view kPeer = "127.0.0.1:1234";

std::string text(const std::array<char, kHeaderBytes>& header) {
  return {header.data(), header.size()};
}

TEST(Header, IsTwelveBytesInNetworkOrder) {
  EXPECT_EQ(text(encode_header({TestMessage::abort, 0x010203})), kStart + "\0\1\0\1\2\3"s);
}

TEST(Header, OfEveryTypeIsReadBack) {
  for (const MessageType type : {MessageType(TestMessage::abort), MessageType(TestMessage::bye),
                                 MessageType(AdmissionMessage::welcome)}) {
    const Header header{type, kMaxPayload - type.code() % 16};
    const DecodedHeader decoded = decode_header(text(encode_header(header)) + "payload");
    EXPECT_EQ(decoded.fault, HeaderFault::none);
    EXPECT_EQ(decoded.header.type, header.type);
    EXPECT_EQ(decoded.header.length, header.length);
    EXPECT_NE(type.name(), "unknown");
    EXPECT_EQ(type.name_of_code(decoded.header.type.code()), type.name());
  }
  EXPECT_EQ(name_of(TestMessage::hello), "hello");
  EXPECT_EQ(name_of(TestMessage::bye), "bye");
  EXPECT_EQ(name_of(static_cast<TestMessage>(0)), "unknown");
  EXPECT_EQ(name_of(static_cast<TestMessage>(first_code(Protocol::user) + 6)), "unknown");
  EXPECT_NE(MessageType(AdmissionMessage::hello), MessageType(TestMessage::hello));
}

TEST(Header, IsIncompleteUntilItsTwelfthByte) {
  const std::string whole = text(encode_header({TestMessage::hello, 0}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(decode_header(whole.substr(0, size)).fault, HeaderFault::incomplete) << size;
  }
}

TEST(Header, OfAnotherProtocolIsToldFromItsFourthByte) {
  EXPECT_EQ(decode_header("GET").fault, HeaderFault::incomplete);
  const DecodedHeader decoded = decode_header("GET ");
  EXPECT_EQ(decoded.fault, HeaderFault::foreign);
  EXPECT_THAT(header_error(decoded, kPeer).what(),
              has_all("127.0.0.1:1234", "does not speak", "47 45 54 20", "'rdmabench serve'"));
}

TEST(Header, OfAnotherVersionNamesBothVersions) {
  // Type and length make no sense, which is another version's right.
  const DecodedHeader decoded = decode_header("RDMB\0\2\xff\xff\xff\xff\xff\xff"s);
  EXPECT_EQ(decoded.fault, HeaderFault::other_version);
  EXPECT_THAT(header_error(decoded, kPeer).what(),
              has_all("127.0.0.1:1234", "protocol version 2,",
                      "this is version " + std::to_string(kProtocolVersion), "same rdmabench"));
}

TEST(Header, OfAnUnknownTypeNamesIt) {
  for (const std::string& bytes :
       {kStart + "\0\0\0\0\0\0"s, kStart + "\0\7\0\0\0\0"s, kStart + "\x70\1\0\0\0\0"s}) {
    const DecodedHeader decoded = decode_header(bytes);
    EXPECT_EQ(decoded.fault, HeaderFault::unknown_type);
    EXPECT_THAT(header_error(decoded, kPeer).what(),
                ::testing::HasSubstr("unknown type " + std::to_string(decoded.value)));
  }
}

TEST(Header, OfTooLongAPayloadNamesTheLimit) {
  EXPECT_EQ(decode_header(kStart + "\0\1\0\x10\0\0"s).fault, HeaderFault::none);
  EXPECT_EQ(decode_header(kStart + "\0\1\0\x10\0\1"s).fault, HeaderFault::too_long);
  const DecodedHeader decoded = decode_header(kStart + "\0\1\xff\xff\xff\xff"s);
  EXPECT_EQ(decoded.fault, HeaderFault::too_long);
  EXPECT_THAT(header_error(decoded, kPeer).what(), has_all("4294967295 bytes", "1048576"));
}

}  // namespace
}  // namespace rdmabench::inline v1::control
