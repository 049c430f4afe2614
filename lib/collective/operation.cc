#include "rdmabench/collective/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "base/letters.h"
#include "base/nearest.h"
#include "rdmabench/base/error.h"

namespace rdmabench::collective {
namespace {

constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "all-reduce", "all-gather",   "reduce-scatter", "broadcast", "reduce",
    "all-to-all", "all-to-all-v", "gather",         "scatter",   "send-receive"};
constexpr std::array<std::string_view, kDataTypes> kTypeNames = {
    "int8", "uint8",   "int32",   "uint32",   "int64",  "uint64",
    "half", "float32", "float64", "bfloat16", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, kReductions> kReductionNames = {"sum", "prod", "min",
                                                                       "max", "avg",  "mulsum"};

template <class E, std::size_t N>
E parse(std::string_view kind, std::string_view text,
        const std::array<std::string_view, N>& names) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<E>(i);
  }
  const std::string near = nearest(lower(text), {names.begin(), names.end()});
  throw Error(
      Fault::usage, fmt::format("{} '{}'", kind, text),
      fmt::format("{}Take one of {}.", near.empty() ? "" : fmt::format("Did you mean {}? ", near),
                  fmt::join(names, ", ")));
}

}  // namespace

std::string_view name(Operation operation) noexcept {
  return kOperationNames[static_cast<std::size_t>(operation)];
}
std::string_view name(DataType type) noexcept {
  return kTypeNames[static_cast<std::size_t>(type)];
}
std::string_view name(Reduction reduction) noexcept {
  return kReductionNames[static_cast<std::size_t>(reduction)];
}

Operation parse_operation(std::string_view text) {
  // MPI's and NCCL's names: allreduce, all_reduce, AllReduce.
  const auto plain = [](std::string_view word) {
    std::string letters = lower(word);
    std::erase_if(letters, [](char c) { return c == '-' || c == '_'; });
    return letters;
  };
  for (const std::string_view known : kOperationNames) {
    if (plain(known) == plain(text)) text = known;
  }
  return parse<Operation>("operation", text, kOperationNames);
}

DataType parse_type(std::string_view text) {
  if (text == "float") return DataType::float32;
  if (text == "double") return DataType::float64;
  return parse<DataType>("type", text, kTypeNames);
}

Reduction parse_reduction(std::string_view text) {
  return parse<Reduction>("reduction", text, kReductionNames);
}

}  // namespace rdmabench::collective
