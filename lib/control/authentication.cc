#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "base/refuse.h"
#include "munge.h"
#include "rdmabench/control/channel.h"
#include "secret.h"
#include "token_file.h"

namespace rdmabench::inline v1::control {

Authentication Authentication::token_file(std::string path) {
  Authentication made(Method::token);
  made.file_ = std::move(path);
  return made;
}

Authentication Authentication::munge() {
  return Authentication(Method::munge);
}

Authentication Authentication::insecure() {
  return Authentication(Method::none);
}

Authentication Authentication::secret(std::string_view bytes) {
  refuse_if(bytes.size() < kMinSecret || bytes.size() > kMaxSecret,
            fmt::format("a secret of {} bytes", bytes.size()),
            fmt::format("It has to have {} to {}.", kMinSecret, kMaxSecret));
  Authentication made(Method::token);
  made.secret_ = std::make_shared<const Secret>(bytes);
  return made;
}

Authentication Authentication::of_this_process() {
  if (!can_authenticate()) return insecure();
  const WipedText bytes(random_bytes(kMinSecret));
  return secret(bytes.text);
}

Authentication Authentication::loaded() const {
  Authentication made = *this;
  if (method_ == Method::none) return made;
  static_cast<void>(hmac_sha256("", ""));  // throws where libcrypto is missing
  if (method_ == Method::munge) {
    require_munge();
  } else if (secret_ == nullptr) {
    if (file_.empty()) made.file_ = named_token_file();
    if (!made.file_.empty()) {
      made.secret_ = read_token_file(made.file_);
    } else {
      made.file_ = own_token_file();
      made.secret_ = read_or_make_token_file(made.file_);
    }
  }
  return made;
}

Authentication Authentication::derived(std::string_view label) const {
  if (method_ != Method::token) return *this;
  const Authentication own = loaded();
  const Digest key = hkdf_extract("rdmabench job", own.secret_->bytes());
  return secret(view(hkdf_expand(view(key), label)));
}

std::string Authentication::copy_line(const std::string& host) const {
  if (file_.empty()) return "";
  const char* home = std::getenv("HOME");
  const std::string in_home = home == nullptr ? "" : std::string(home) + '/';
  const bool shortened = in_home.size() > 1 && file_.starts_with(in_home);
  return fmt::format("scp -p {}:{} {}", host, shortened ? file_.substr(in_home.size()) : file_,
                     shortened ? "~/" + file_.substr(in_home.size()) : file_);
}

}  // namespace rdmabench::inline v1::control
