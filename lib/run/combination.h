// Which wishes go together, known before anything is opened.
#pragma once

#include "run/protocol.h"

namespace rdmabench::run {

/// Throws Error(usage) that names the two wishes which exclude each other and what to change. Both
/// sides ask: the server does not trust its client to have done so.
void check(const SessionSpec& spec);

}  // namespace rdmabench::run
