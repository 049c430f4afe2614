#include "base/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/number.h"
#include "base/text.h"

namespace rdmabench::inline v1 {
namespace {

class HostList {
 public:
  HostList(std::size_t most, const std::function<void(const std::string&)>& refuse)
      : most_(most), refuse_(refuse) {}

  std::vector<std::string> names(std::string_view list) {
    while (!list.empty()) {
      const std::size_t at = std::min(list.find_first_of(",[]"), list.size());
      check_length(at);
      for (std::string& name : item_) name += list.substr(0, at);
      list.remove_prefix(at);
      if (list.empty()) break;
      if (list.front() == ']') refuse_("a ] without its [");
      if (list.front() == ',') end_item();
      if (list.front() == '[') {
        const std::size_t close = list.find(']');
        if (close == std::string_view::npos) refuse_(fmt::format("'{}' lacks a ]", list));
        take(list.substr(1, close - 1));
        list.remove_prefix(close);
      }
      list.remove_prefix(1);
    }
    end_item();
    return std::move(done_);
  }

 private:
  /// Before an item grows by `more` characters: each may stand for `most_` names.
  void check_length(std::size_t more) {
    constexpr std::size_t kLongest = 255;  // HOST_NAME_MAX of POSIX
    if (item_.front().size() + more > kLongest) refuse_("a name of more than 255 characters");
  }

  void end_item() {
    if (item_.front().empty()) refuse_("an empty name");
    check_length(0);
    if (done_.size() + item_.size() > most_) refuse_(too_many());
    std::move(item_.begin(), item_.end(), std::back_inserter(done_));
    item_.assign(1, "");
  }

  /// What "01-03,7" stands for, each with as many digits as its first number.
  void take(std::string_view ranges) {
    std::vector<std::string> numbers;
    for (const std::string_view range : split(ranges, ',')) {
      const std::string_view first = trimmed(range.substr(0, range.find('-')));
      const std::string_view last = trimmed(range.substr(range.find('-') + 1));
      const auto from = parse_number<std::uint32_t>(first);
      const auto to = parse_number<std::uint32_t>(last);
      if (!from || !to || std::max(first.size(), last.size()) > 9) {
        refuse_(fmt::format("invalid range '{}'", range));
      }
      if (*to < *from) refuse_(fmt::format("range '{}' runs backwards", range));
      if (numbers.size() + (*to - *from) >= most_) refuse_(too_many());
      for (std::uint32_t i = *from; i <= *to; ++i) {
        numbers.push_back(fmt::format("{:0{}}", i, first.size()));
      }
    }
    if (item_.size() * numbers.size() > most_) refuse_(too_many());
    std::vector<std::string> longer;
    for (const std::string& name : item_) {
      for (const std::string& number : numbers) longer.push_back(name + number);
    }
    item_ = std::move(longer);
  }

  std::string too_many() const { return fmt::format("more than {} names", most_); }

  std::size_t most_;
  const std::function<void(const std::string&)>& refuse_;
  std::vector<std::string> done_;
  std::vector<std::string> item_{""};  // what the item that is being read stands for so far
};

}  // namespace

std::vector<std::string> host_names(std::string_view list, std::size_t most,
                                    const std::function<void(const std::string& what)>& refuse) {
  return HostList(most, refuse).names(list);
}

}  // namespace rdmabench::inline v1
