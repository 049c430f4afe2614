// libnvidia-ml.so.1 without a GPU: every GPU that is asked for is healthy, but for what the words
// "KEY=NUMBER" of the environment variable FAKE_NVML say:
//   init=18         what nvmlInit_v2() answers
//   answer=15       what each GPU answers
//   hang=1          the second GPU that is asked for never answers
//   crash=1         the process ends there
//   fabric_info=2   the newest version of nvmlGpuFabricInfo that is known; 0: not supported
//   links=18        NVLinks that are there
//   KEY=...         a value: state, down, uncorrected, pending, slowed, power
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "health/nvml_abi.h"

namespace rdmabench::inline v1::health::nvml {
namespace {

unsigned word(const std::string& key, unsigned usual) {
  const char* const text = std::getenv("FAKE_NVML");
  const std::string words = std::string(" ") + (text == nullptr ? "" : text);
  const std::size_t at = words.find(" " + key + "=");
  return at == std::string::npos
             ? usual
             : static_cast<unsigned>(std::strtoul(&words[at + key.size() + 2], nullptr, 0));
}

template <class T, class Value>
Result put(T* to, Value value) {
  *to = static_cast<T>(value);
  return kSuccess;
}

}  // namespace

extern "C" {

Result nvmlInit_v2() {
  return static_cast<Result>(word("init", kSuccess));
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* address, Device* device) {
  static int asked = 0;
  if (++asked == 2) {
    if (word("crash", 0) != 0) _exit(1);
    while (word("hang", 0) != 0) pause();
  }
  if (std::strlen(address) != 12) return 2;
  *device = reinterpret_cast<Device>(1);
  return static_cast<Result>(word("answer", kSuccess));
}

Result nvmlDeviceGetGpuFabricInfoV(Device, FabricInfo* info) {
  const unsigned known = word("fabric_info", 3);
  if (known == 0) return kNotSupported;
  if (info->version != (known == 2 ? kFabricInfo2 : kFabricInfo3)) return 25;
  info->state = static_cast<unsigned char>(word("state", kFabricCompleted));
  info->health = 0x11aa;  // nothing wrong, and a partition is assigned
  info->clique = 1;
  info->cluster[15] = 0xab;
  if (known > 2) info->summary = 1;
  return kSuccess;
}

Result nvmlDeviceGetNvLinkState(Device, unsigned link, int* active) {
  const unsigned links = word("links", 18);
  if (link >= links) return kNotSupported;
  return put(active, link + word("down", 0) < links);
}

Result nvmlDeviceGetEccMode(Device, int* now, int* next) {
  *next = 1;
  return put(now, 1);
}

Result nvmlDeviceGetTotalEccErrors(Device, int type, int since, unsigned long long* count) {
  if (type != kUncorrected || since != kSinceLoad) return 2;
  return put(count, word("uncorrected", 0));
}

Result nvmlDeviceGetRemappedRows(Device, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* pending, unsigned* failed) {
  *corrected = *uncorrected = *failed = 0;
  return put(pending, word("pending", 0));
}

Result nvmlDeviceGetCurrentClocksThrottleReasons(Device, unsigned long long* bits) {
  return put(bits, word("slowed", 1));
}

Result nvmlDeviceGetMigMode(Device, unsigned* now, unsigned* next) {
  *next = 0;
  return put(now, 0);
}

Result nvmlDeviceGetPersistenceMode(Device, int* on) {
  return put(on, 1);
}

Result nvmlDeviceGetApplicationsClock(Device, int clock, unsigned* mhz) {
  return clock == kSmClock ? put(mhz, 1980) : 2;
}

Result nvmlDeviceGetDefaultApplicationsClock(Device, int clock, unsigned* mhz) {
  return clock == kSmClock ? put(mhz, 1980) : 2;
}

Result nvmlDeviceGetFieldValues(Device, int count, FieldValue* values) {
  if (count != 1 || values->field != kRecoveryAction) return 2;
  values->result = kSuccess;
  return put(&values->number, 0);
}
}

}  // namespace rdmabench::inline v1::health::nvml
