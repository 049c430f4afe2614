// NCCL's settings in the environment: what the user has set, and what we set while NCCL makes a
// communicator.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmabench::inline v1::collective::nccl {

/// The directory in which this version of NCCL looks for the user's .nccl.conf: from the password
/// database, from 2.30 on $HOME. None if there is none. Source: NCCL's src/misc/param.cc.
std::optional<std::string> home_of_settings(int nccl_version);

/// Where the user has set one of these: "NCCL_DEBUG", or "NCCL_DEBUG in '/etc/nccl.conf'"; "" if
/// nowhere. What is lent does not count. Source: src/misc/param.cc.
std::string set_by_user(std::initializer_list<const char*> names,
                        const std::optional<std::string>& home);

/// Variables that are in the environment while one of these that sets them lives, and not
/// afterwards: the environment is the caller's. A variable that the user has set keeps its value.
/// Thread rule: any thread, as ranks may be threads; but setenv(3) is not for a program whose other
/// threads read the environment meanwhile.
class LentSettings {
 public:
  using Values = std::vector<std::pair<const char*, std::string>>;

  explicit LentSettings(const Values& values);
  ~LentSettings();
  LentSettings& operator=(LentSettings&&) = delete;

 private:
  std::vector<const char*> names_;
};

}  // namespace rdmabench::inline v1::collective::nccl
