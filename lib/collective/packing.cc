#include "packing.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective {
namespace {

void put(std::uint64_t value, unsigned bytes, std::string& text) {
  for (unsigned i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i) & 0xffU);
}

std::uint64_t get(std::string_view text, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) {
    value = value << 8U | static_cast<unsigned char>(text[i]);
  }
  return value;
}

}  // namespace

std::string pack(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    put(text.size(), 4, all);
    all += text;
  }
  return all;
}

std::vector<std::string> unpack(std::string_view text, std::size_t count) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t length = text.size() < 4 ? ~std::uint64_t{0} : get(text, 4);
    if (length > text.size() - std::min<std::size_t>(text.size(), 4)) {
      throw Error(Fault::failed, fmt::format("text {} of {} is cut short", i + 1, count));
    }
    texts.emplace_back(text.substr(4, length));
    text.remove_prefix(4 + length);
  }
  if (!text.empty()) throw Error(Fault::failed, fmt::format("more than {} texts", count));
  return texts;
}

std::string pack_numbers(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  text.reserve(8 * numbers.size());
  for (const std::uint64_t number : numbers) put(number, 8, text);
  return text;
}

std::vector<std::uint64_t> unpack_numbers(std::string_view text, std::size_t count) {
  if (text.size() != 8 * count) {
    throw Error(Fault::failed,
                fmt::format("{} bytes instead of {} numbers of 8 bytes", text.size(), count));
  }
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(get(text.substr(8 * i), 8));
  return numbers;
}

}  // namespace rdmabench::inline v1::collective
