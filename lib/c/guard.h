// What every function of rdmabench.h does around its work: no exception leaves, and results are
// texts of the caller's.
#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "rdmabench.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::c {

/// Stores a copy that rdmabench_free() frees.
inline void store(const std::string& text, char** result) noexcept {
  if (result != nullptr) *result = strdup(text.c_str());
}

/// The JSON of a failure.
std::string failure_text(const std::exception& error);

/// Calls work(text), which returns the code and fills in the result.
template <class Work>
int guarded(char** result, Work&& work) noexcept {
  if (result != nullptr) *result = nullptr;
  try {
    std::string text;
    const int code = work(text);
    if (!text.empty()) store(text, result);
    return code;
  } catch (const std::exception& error) {
    try {
      store(failure_text(error), result);
    } catch (...) {  // there is no memory for it
    }
    const auto* const known = dynamic_cast<const Error*>(&error);
    return static_cast<int>(known != nullptr ? known->fault() : Fault::failed);
  }
}

/// A text that the caller must give. Throws Error(usage).
inline std::string_view required(const char* text, std::string_view name) {
  if (text != nullptr) return text;
  throw Error(Fault::usage, std::string(name) + " is null", "Give a JSON object.");
}

}  // namespace rdmabench::inline v1::c
