// Files of /dev/shm that outlive a process which is killed: their names, and their removal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmabench::inline v1 {

/// A name for a new one, which nobody can guess. It tells which process made it, and in which PID
/// namespace. Throws Error(failed) where the kernel has no random numbers.
std::string shared_memory_name();

/// Whether shared_memory_name() of this process made what `name` contains. No, where the PID
/// namespace is not known.
bool is_of_this_process(std::string_view name);

struct RemovedFiles {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};

/// For people.
std::string to_text(const RemovedFiles& removed);

/// Removes those that this user's processes made by shared_memory_name() and that are dead. Another
/// process that has one mapped keeps the memory. What other PID namespaces made (containers that
/// share /dev/shm) stays: whether its process lives cannot be seen from here. Thread rule: any.
RemovedFiles remove_abandoned_memory(const std::string& folder = "/dev/shm") noexcept;

}  // namespace rdmabench::inline v1
