// What the sanitizers must not hold against us. They read these functions at start; elsewhere
// nothing calls them.

#define RDMABENCH_SANITIZER_HOOK extern "C" __attribute__((visibility("default"))) const char*

RDMABENCH_SANITIZER_HOOK __asan_default_options();
RDMABENCH_SANITIZER_HOOK __lsan_default_suppressions();

/// libfabric keeps no frame pointers; without them only slow unwinding tells its leaks from ours.
const char* __asan_default_options() {
  return "fast_unwind_on_malloc=0";
}

/// The `net` provider of libfabric 1.17 forgets the copy of fi_info that it makes for each endpoint
/// and for each connection that it accepts, some 600 bytes, and 24 bytes at the first post to a
/// peer.
const char* __lsan_default_suppressions() {
  return "leak:fi_endpoint\nleak:fi_cq_read\nleak:fi_send\nleak:fi_write\nleak:fi_read\n"
         "leak:fi_inject\nleak:fi_fetch_atomic\nleak:fi_compare_atomic\n";
}
