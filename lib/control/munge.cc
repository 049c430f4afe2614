#include "munge.h"

#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "base/symbol.h"
#include "loaded/library.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {
namespace {

// munge.h, which few machines have: its functions and numbers have not changed since 0.5.
constexpr int kOptionCipher = 0;
constexpr int kOptionSocket = 8;
constexpr int kOptionOnlyForUser = 9;
constexpr int kAes128 = 4;
constexpr int kSuccess = 0;
constexpr int kNoDaemon = 6;  // EMUNGE_SOCKET
struct Context;

Symbol find(const char* name) {
  return {loaded::munge.function(name)};
}

struct Functions {
  Context* (*create)() = find("munge_ctx_create");
  void (*destroy)(Context*) = find("munge_ctx_destroy");
  int (*set)(Context*, int, ...) = find("munge_ctx_set");
  int (*encode)(char**, Context*, const void*, int) = find("munge_encode");
  int (*decode)(const char*, Context*, void**, int*, uid_t*, gid_t*) = find("munge_decode");
  const char* (*text)(int) = find("munge_strerror");
};

const Functions& functions() {
  static const Functions all;
  return all;
}

using OwnedContext = std::unique_ptr<Context, void (*)(Context*)>;

/// RDMABENCH_MUNGE_SOCKET is for a munged that listens elsewhere.
OwnedContext make_context() {
  const Functions& munge = functions();
  OwnedContext context(munge.create(), munge.destroy);
  if (context == nullptr) throw Error(Fault::failed, "munge_ctx_create()");
  const char* const socket = std::getenv("RDMABENCH_MUNGE_SOCKET");
  if (socket != nullptr && *socket != '\0') munge.set(context.get(), kOptionSocket, socket);
  return context;
}

[[noreturn]] void throw_failed(const char* call, int code) {
  throw Error(code == kNoDaemon ? Fault::unavailable : Fault::failed,
              fmt::format("{}(): {}", call, functions().text(code)),
              code == kNoDaemon ? "Start munged (systemctl start munge), or use a token." : "", 0,
              {.library = "libmunge", .call = call});
}

}  // namespace

void require_munge() {
  static_cast<void>(functions());
}

std::string munge_encode(std::string_view payload) {
  const Functions& munge = functions();
  const OwnedContext context = make_context();
  int code = munge.set(context.get(), kOptionCipher, kAes128);
  if (code == kSuccess) code = munge.set(context.get(), kOptionOnlyForUser, geteuid());
  if (code != kSuccess) throw_failed("munge_ctx_set", code);
  char* made = nullptr;
  code = munge.encode(&made, context.get(), payload.data(), static_cast<int>(payload.size()));
  const std::unique_ptr<char, void (*)(void*)> owner(made, std::free);
  if (code != kSuccess) throw_failed("munge_encode", code);
  return made;
}

std::unique_ptr<WipedText> munge_decode(const std::string& credential) {
  void* bytes = nullptr;
  int size = 0;
  uid_t user = 0;
  gid_t group = 0;
  const OwnedContext context = make_context();
  const int code =
      functions().decode(credential.c_str(), context.get(), &bytes, &size, &user, &group);
  const std::unique_ptr<void, void (*)(void*)> owner(bytes, std::free);
  if (code == kNoDaemon) throw_failed("munge_decode", code);
  std::unique_ptr<WipedText> payload;
  if (code == kSuccess && user == geteuid() && bytes != nullptr) {
    payload = std::make_unique<WipedText>(
        std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size)));
  }
  if (bytes != nullptr) Secret::wipe(bytes, static_cast<std::size_t>(size));
  return payload;
}

}  // namespace rdmabench::inline v1::control
