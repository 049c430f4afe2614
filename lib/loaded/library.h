// Other projects' shared libraries, loaded when one of their functions is first called: one program
// starts on nodes with and without each of them. `forward.h` defines their functions.
#pragma once

#include <span>
#include <string>

namespace rdmabench::inline v1::loaded {

/// What dlopen(3) found.
struct Found {
  void* handle = nullptr;  ///< null where the library is missing
  std::string file;  ///< the file that serves, behind its symbolic links: its name has the version
  std::string absence;  ///< the loader's words where it is missing
};

class Library {
 public:
  /// `file` as dlopen(3) wants it; `older` is a second file name, tried if `file` is missing.
  constexpr Library(const char* file, const char* remedy, const char* older = nullptr) noexcept
      : file_(file), remedy_(remedy), older_(older) {}

  const char* name() const noexcept { return file_; }
  const char* remedy() const noexcept { return remedy_; }

  /// Loads it if it is not loaded yet, by the usual rules of the loader. It stays loaded: such
  /// libraries start threads. The signal handlers stay those of the caller.
  const Found& load() const;

  /// The same. Throws Error(unavailable) with its name, the searched folders and the loader's words
  /// where it is missing.
  const Found& require() const;

  /// One of its functions, in the version that this build was compiled for; null where it or the
  /// library is missing.
  void* find(const char* function) const;

  /// The same. Throws Error(unavailable) with the library's name.
  void* function(const char* name) const;

 private:
  const char* file_;
  const char* remedy_;
  const char* older_;
};

// Thread rule of all that follows: any thread.
extern const Library ibverbs;
extern const Library rdmacm;
extern const Library mlx5;
extern const Library efa;
extern const Library fabric;
extern const Library ucp;  ///< brings libucs, whose functions are found here too
extern const Library hwloc;
extern const Library sqlite;
extern const Library archive;
extern const Library crypto;
extern const Library munge;
extern const Library pmix;
extern const Library cuda;
extern const Library nvml;  ///< only where a GPU has NVIDIA's driver, so not among libraries()

/// All that this build can load.
std::span<const Library* const> libraries() noexcept;

}  // namespace rdmabench::inline v1::loaded
