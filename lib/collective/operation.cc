#include "rdmabench/collective/operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

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
  throw Error(Fault::usage, fmt::format("{} '{}'", kind, text),
              fmt::format("Take one of {}.", fmt::join(names, ", ")));
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

std::uint32_t bytes_of(DataType type) noexcept {
  switch (type) {
    case DataType::int8:
    case DataType::uint8:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return 1;
    case DataType::half:
    case DataType::bfloat16:
      return 2;
    case DataType::int32:
    case DataType::uint32:
    case DataType::float32:
      return 4;
    case DataType::int64:
    case DataType::uint64:
    case DataType::float64:
      return 8;
  }
  return 0;
}

bool is_integer(DataType type) noexcept {
  return type <= DataType::uint64;
}

bool is_signed(DataType type) noexcept {
  return type != DataType::uint8 && type != DataType::uint32 && type != DataType::uint64;
}

bool reduces(Operation operation) noexcept {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ||
         operation == Operation::reduce;
}

bool has_root(Operation operation) noexcept {
  return operation == Operation::broadcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}

}  // namespace rdmabench::collective
