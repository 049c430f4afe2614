// Prints the tables of docs/perftest.md: see document_test.py.
#include <cstdio>

#include "perftest/flag_table.h"

int main() {
  std::fputs(rdmabench::tools::perftest::to_markdown().c_str(), stdout);
}
