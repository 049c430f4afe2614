// A client over one back end: ONLY, a function of run/backends.h. Of a static library no other one
// is linked.
//
//   one_backend HOST    measures; without HOST it says which back ends are there
#include <cstdio>
#include <exception>

#include <rdmabench/run/backends.h>
#include <rdmabench/run/client.h>

namespace run = rdmabench::run;

std::span<const run::Backend> run::linked_backends() {
  static const Backend only[] = {ONLY()};
  return only;
}

int main(int argc, char** argv) try {
  if (argc < 2) {
    for (const run::Backend& backend : run::backends()) std::printf("%s\n", backend.name.data());
    return 0;
  }
  const auto report = run::run({.sizes = {8}}, argv[1], run::kDefaultPort);
  for (const auto& row : report.latency()) std::printf("p50 %.0f ns\n", row.latency.p50_ns);
  return report.error ? 1 : 0;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
