// Which options go together; checked before anything is opened.
#pragma once

#include "run/protocol.h"

namespace rdmabench::run {

/// Throws Error(usage) that names two options which exclude each other, and what to change. Both
/// sides check: the server does not trust its client.
void check(const SessionSpec& spec);

}  // namespace rdmabench::run
