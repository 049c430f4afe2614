// Implements Net for one version of the table.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <type_traits>
#include <utility>

#include "netplugin/net_loops.h"

namespace rdmabench::inline v1::netplugin {

/// The logger that is passed to plugins.
void log_of_plugin(int level, unsigned long subsystems, const char* file, int line,
                   const char* format, ...);

template <class Table>
class NetOf final : public Net {
 public:
  static constexpr int kVersion = Table::kVersion;
  static constexpr int kMaxGroup = 64;  // more than any version of NCCL asks for

  explicit NetOf(const Table& exported) : exported_(exported), taken_(exported) {}

  int version() const noexcept override { return kVersion; }
  const char* name() const noexcept override { return exported_.name; }
  bool has_flush() const noexcept override { return table().flush != nullptr; }
  bool has_dma_buf() const noexcept override { return table().register_dma_buf != nullptr; }

  bool has_init() const noexcept override { return exported_.init != nullptr; }

  std::vector<std::string_view> missing() const override {
    std::vector<std::string_view> names;
    const auto need = [&](bool there, std::string_view name) {
      if (!there) names.push_back(name);
    };
    need(table().devices != nullptr, "devices");
    need(table().properties != nullptr, "getProperties");
    need(table().listen != nullptr, "listen");
    need(table().connect != nullptr, "connect");
    need(table().accept != nullptr, "accept");
    need(table().register_memory != nullptr, "regMr");
    need(table().deregister != nullptr, "deregMr");
    need(table().send != nullptr, "isend");
    need(table().receive != nullptr, "irecv");
    need(table().test != nullptr, "test");
    need(table().close_send != nullptr, "closeSend");
    need(table().close_receive != nullptr, "closeRecv");
    need(table().close_listen != nullptr, "closeListen");
    if constexpr (kVersion >= 11) need(table().more.finalize != nullptr, "finalize");
    return names;
  }

  abi::Result init() override {
    const abi::Result result = call_init();
    if (result == abi::kSuccess) taken_ = exported_;
    return result;
  }

  abi::Result finalize() override {
    if constexpr (kVersion >= 11) {
      return table().more.finalize(std::exchange(context_, nullptr));
    } else {
      return abi::kSuccess;
    }
  }

  abi::Result devices(int& count) override { return table().devices(&count); }

  abi::Result properties(int device, Properties& to) override {
    typename Table::Properties from{};
    const abi::Result result = table().properties(device, &from);
    if (result != abi::kSuccess) return result;
    to = {};
    if (from.name != nullptr) to.name = from.name;
    if (from.pci_path != nullptr) to.pci_path = from.pci_path;
    to.guid = from.guid;
    to.pointer_kinds = from.pointer_kinds;
    to.speed_mbps = from.speed_mbps;
    to.port = from.port;
    to.latency_us = double{from.latency_us};
    to.max_comms = from.max_comms;
    to.max_receives = from.max_receives;
    if constexpr (kVersion >= 7) {
      to.device_type = from.device_type;
      to.device_version = from.device_version;
    }
    if constexpr (kVersion >= 8) to.global_registration = from.global_registration;
    if constexpr (kVersion >= 9) {
      to.force_flush = from.force_flush;
      to.virtual_devices = from.virtual_devices.count;
      to.max_point_to_point_bytes = from.max_point_to_point_bytes;
      to.max_collective_bytes = from.max_collective_bytes;
    }
    if constexpr (kVersion >= 12) {
      to.rail_id = from.more.rail_id;
      to.plane_id = from.more.plane_id;
    }
    return result;
  }

  abi::Result listen(int device, void* handle, void** comm) override {
    if constexpr (kVersion >= 11) {
      return table().listen(context_, device, handle, comm);
    } else {
      return table().listen(device, handle, comm);
    }
  }

  abi::Result connect(int device, void* handle, void** comm) override {
    abi::DeviceHandle* on_device = nullptr;
    if constexpr (kVersion >= 11) {
      return table().connect(context_, device, handle, comm, &on_device);
    } else if constexpr (kVersion == 10) {
      return table().connect(device, &config_, handle, comm, &on_device);
    } else if constexpr (kVersion >= 7) {
      return table().connect(device, handle, comm, &on_device);
    } else {
      return table().connect(device, handle, comm);
    }
  }

  abi::Result accept(void* listening, void** comm) override {
    if constexpr (kVersion >= 7) {
      abi::DeviceHandle* on_device = nullptr;
      return table().accept(listening, comm, &on_device);
    } else {
      return table().accept(listening, comm);
    }
  }

  abi::Result register_memory(void* comm, void* data, std::size_t bytes, int kind,
                              void** registration) override {
    if constexpr (kVersion >= 8) {
      return table().register_memory(comm, data, bytes, kind, registration);
    } else {
      return table().register_memory(comm, data, static_cast<int>(bytes), kind, registration);
    }
  }

  abi::Result deregister(void* comm, void* registration) override {
    return table().deregister(comm, registration);
  }

  abi::Result send(void* comm, const Message& m, void** request) override {
    if constexpr (kVersion >= 10) {
      return table().send(comm, m.data, m.bytes, m.tag, m.registration, nullptr, request);
    } else if constexpr (kVersion == 9) {
      return table().send(comm, m.data, m.bytes, m.tag, m.registration, request);
    } else {
      return table().send(comm, m.data, static_cast<int>(m.bytes), m.tag, m.registration, request);
    }
  }

  abi::Result receive(void* comm, std::span<const Message> group, void** request) override {
    using Size = std::conditional_t<kVersion >= 9, std::size_t, int>;
    std::array<void*, kMaxGroup> data{};
    std::array<Size, kMaxGroup> bytes{};
    std::array<int, kMaxGroup> tags{};
    std::array<void*, kMaxGroup> registrations{};
    const std::size_t count = std::min<std::size_t>(group.size(), kMaxGroup);
    for (std::size_t i = 0; i < count; ++i) {
      data[i] = group[i].data;
      bytes[i] = static_cast<Size>(group[i].bytes);
      tags[i] = group[i].tag;
      registrations[i] = group[i].registration;
    }
    const int n = static_cast<int>(count);
    if constexpr (kVersion >= 10) {
      std::array<void*, kMaxGroup> profiled{};
      return table().receive(comm, n, data.data(), bytes.data(), tags.data(), registrations.data(),
                             profiled.data(), request);
    } else {
      return table().receive(comm, n, data.data(), bytes.data(), tags.data(), registrations.data(),
                             request);
    }
  }

  abi::Result flush(void* comm, const Message& m, void** request) override {
    void* data = m.data;
    int bytes = static_cast<int>(m.bytes);
    void* registration = m.registration;
    return table().flush(comm, 1, &data, &bytes, &registration, request);
  }

  abi::Result test(void* request, int* done, int* bytes) override {
    return table().test(request, done, bytes);
  }
  abi::Result close_send(void* comm) override { return table().close_send(comm); }
  abi::Result close_receive(void* comm) override { return table().close_receive(comm); }
  abi::Result close_listen(void* comm) override { return table().close_listen(comm); }

  LoopResult ping_pong(const Exchange& exchange, bool first,
                       std::span<measure::Ticks> ticks) override {
    return measure::clock_choice().source == measure::ClockSource::tsc
               ? ping_pong_loop<measure::TscClock>(*this, exchange, first, ticks)
               : ping_pong_loop<measure::RawClock>(*this, exchange, first, ticks);
  }
  LoopResult stream(const Exchange& exchange, bool sender, std::uint64_t count,
                    int window) override {
    return measure::clock_choice().source == measure::ClockSource::tsc
               ? stream_loop<measure::TscClock>(*this, exchange, sender, count, window)
               : stream_loop<measure::RawClock>(*this, exchange, sender, count, window);
  }

 private:
  /// NCCL reads name and init when it loads the plugin. Of the rest it takes a copy after init(),
  /// from version 12 on none: then it reads a function when it calls it.
  const Table& table() const noexcept {
    if constexpr (kVersion >= 12) {
      return exported_;
    } else {
      return taken_;
    }
  }

  abi::Result call_init() {
    if constexpr (kVersion >= 11) {
      static std::atomic<std::uint64_t> next{1};
      return exported_.init(&context_, next++, &config_, &log_of_plugin, nullptr);
    } else if constexpr (kVersion == 10) {
      return exported_.init(&log_of_plugin, nullptr);
    } else {
      return exported_.init(&log_of_plugin);
    }
  }

  const Table& exported_;
  Table taken_;
  void* context_ = nullptr;
  abi::CommConfig config_{abi::kUndefinedTrafficClass};
};

}  // namespace rdmabench::inline v1::netplugin
