// MUNGE: munged(8) of this machine says which user asks. libmunge is loaded when it is first
// called.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "secret.h"

namespace rdmabench::inline v1::control {

/// Throws Error(unavailable) with the package's name where libmunge is missing.
void require_munge();

/// A credential with `payload`, which only this user can decode, on a machine with the same key of
/// munged; its bytes are encrypted. Source: munge(3). Throws Error(failed) with libmunge's words.
std::string munge_encode(std::string_view payload);

/// The payload of a credential that this user made, which was not decoded on this machine before;
/// null of any other. Throws Error(unavailable) where munged does not answer.
std::unique_ptr<WipedText> munge_decode(const std::string& credential);

}  // namespace rdmabench::inline v1::control
