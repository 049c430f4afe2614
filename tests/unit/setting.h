#pragma once

#include <stdlib.h>

#include <string>

namespace rdmabench::inline v1 {

/// Sets a variable of the environment for a scope.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

}  // namespace rdmabench::inline v1
