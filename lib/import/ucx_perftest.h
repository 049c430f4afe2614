// What a run of UCX's ucx_perftest printed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table.h"

namespace rdmabench::inline v1::import {

/// Of the whole run so far: its columns "overall".
struct UcxRow {
  double iterations = 0;
  std::optional<double> percentile_us{};
  double us = 0;
  double megabytes_per_s = 0;  ///< of 2^20 bytes
  double messages_per_s = 0;
  bool of_threads = false;  ///< of several: the rates are theirs together
};

/// A line that ran it.
struct UcxCommand {
  bool any = false;
  bool of_client = false;                 ///< it names a server
  bool goes_on = false;                   ///< in the next line
  std::map<char, std::string> options{};  ///< by their letters
  std::string transports{};               ///< UCX_TLS before it
  std::string devices{};                  ///< UCX_NET_DEVICES

  std::string option(char letter) const;
};

/// Of "$ UCX_TLS=rc ucx_perftest node2 -t tag_bw -s 4096".
UcxCommand ucx_command_in(std::string_view line);

struct UcxRun {
  UcxCommand command{};
  std::map<std::string, std::string> banner{};  ///< of its server: "Test": "tag match latency"
  std::string title{};                          ///< of a line of a script above it: "tag_bw"
  std::string batch{};                          ///< the test's name in a batch file; "" without one
  std::string times{};      ///< above the columns: "latency", "overhead"; "": not told
  double percentile = 50;   ///< of the column
  bool has_labels = false;  ///< "Final:" or "[thread 0]" before its rows, from UCX 1.9 on
  bool typical = true;      ///< the column is called so, up to UCX 1.11
  bool any_heading = false;
  std::optional<UcxRow> row{};  ///< the last one
  bool is_final = false;
  std::string error{};
  std::string doubt{};              ///< an error of UCX's, of a run that has its final row
  std::vector<std::string> said{};  ///< by UCX, in warnings and errors

  std::string fact(const std::string& label) const;
};

/// Whether a word is the name of one of its tests.
bool is_ucx_test(std::string_view name) noexcept;

/// "tag_lat" of a name that begins with it, as a file's does; "" where none is.
std::string ucx_test_of(std::string_view name);

/// Throws Error(usage) where nothing tells a latency from a bandwidth.
PairRun ucx_run(const UcxRun& run, const Source& source);

}  // namespace rdmabench::inline v1::import
