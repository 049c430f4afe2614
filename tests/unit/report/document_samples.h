// Documents of every schema, as text and as read, for the tests of their writers.
#pragma once

#include <string>
#include <vector>

#include "rdmabench/report/documents.h"

namespace rdmabench::inline v1::report {

/// What a node could call itself: markup of every language that we write, what ends a string, what
/// turns the direction of what follows, and a control character of C1.
inline constexpr const char* kHostileName =
    "<img src=x onerror=alert(1)></script><!-- ]]> | *b* `c` \" ' \\ & @all \xe2\x80\xa8 \xe2\x80\xae"
    "\xe2\x81\xa6 \xc2\x9b"
    "31m end";

/// Three nodes, two rails, a failed cell, a lost node, and a verdict on the one with kHostileName.
std::string fabric_text();
/// PASS, WARN, FAIL, SKIP and ERROR, one of each, and a status that nobody knows.
std::string doctor_text();
std::string compare_text();
std::string project_text();

/// One of each of the above and of rdmabench/1.
std::vector<Document> every_document();

}  // namespace rdmabench::inline v1::report
