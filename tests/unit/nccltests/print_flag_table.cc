#include <cstdio>

#include "nccltests/flags.h"

int main() {
  std::fputs(rdmabench::tools::nccltests::to_markdown().c_str(), stdout);
  return 0;
}
