// A back end with its type erased: once a run, so that the loop is the only code compiled for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/collective/backend.h"
#include "rdmabench/collective/loop.h"

namespace rdmabench::collective {

/// See Backend for what each is.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  virtual std::string_view name() const = 0;
  virtual void open(Team team, Exchange& exchange, Deadline deadline) = 0;
  virtual std::string unsupported(const Call& call) const = 0;
  virtual Layout layout(const Call& call) const = 0;
  virtual void prepare(const Call& call, std::uint32_t slots, Deadline deadline) = 0;
  virtual void write(SlotBuffer side, std::uint32_t slot, std::uint64_t offset,
                     std::span<const std::byte> bytes, Deadline deadline) = 0;
  virtual void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset,
                    std::span<std::byte> bytes, Deadline deadline) = 0;
  virtual LoopEnd run(const LoopPlan& plan, std::span<Stamps> stamps, LiveRankState& state,
                      const std::atomic<bool>& over, std::size_t& at) noexcept = 0;
  virtual std::string failure() const = 0;
  virtual void abort() noexcept = 0;
  virtual void close(Deadline deadline) = 0;
  virtual report::Facts facts() const = 0;
  virtual report::Facts call_facts() const = 0;
};

/// `backend` has to outlive it.
template <Backend B>
class EngineOf final : public Engine {
 public:
  explicit EngineOf(B& backend) : backend_(backend) {}

  std::string_view name() const override { return B::kName; }
  void open(Team team, Exchange& exchange, Deadline deadline) override {
    backend_.open(team, exchange, deadline);
  }
  std::string unsupported(const Call& call) const override { return backend_.unsupported(call); }
  Layout layout(const Call& call) const override { return backend_.layout(call); }
  void prepare(const Call& call, std::uint32_t slots, Deadline deadline) override {
    backend_.prepare(call, slots, deadline);
  }
  void write(SlotBuffer side, std::uint32_t slot, std::uint64_t offset,
             std::span<const std::byte> bytes, Deadline deadline) override {
    backend_.write(side, slot, offset, bytes, deadline);
  }
  void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset, std::span<std::byte> bytes,
            Deadline deadline) override {
    backend_.read(side, slot, offset, bytes, deadline);
  }
  LoopEnd run(const LoopPlan& plan, std::span<Stamps> stamps, LiveRankState& state,
              const std::atomic<bool>& over, std::size_t& at) noexcept override {
    return run_loop(backend_, plan, stamps, state, over, at);
  }
  std::string failure() const override { return backend_.failure(); }
  void abort() noexcept override { backend_.abort(); }
  void close(Deadline deadline) override { backend_.close(deadline); }
  report::Facts facts() const override { return backend_.facts(); }
  report::Facts call_facts() const override { return backend_.call_facts(); }

 private:
  B& backend_;
};

}  // namespace rdmabench::collective
