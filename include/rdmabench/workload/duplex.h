// Duplex: a stream in each direction at the same time, over the same queue pairs, timed as one.
#pragma once

#include <span>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/pump.h"
#include "rdmabench/workload/stream.h"

namespace rdmabench::inline v1::workload {

/// Takes the peer's markers where nothing else arrives. It knows no operation, so that a program
/// has the poll for it once for each endpoint type.
template <transport::Transport T>
struct MarkerTaker {
  EpochIo<T>& io;
  unsigned count = 0;

  void operator()(const transport::Received& received) noexcept {
    io.moved();
    if (received.bytes == 0) {
      ++count;
    } else {
      io.end(Outcome::wrong_size, Wait::message);
    }
    io.give_back_together(received.slot);
  }
};

/// One side of a duplex: pumps its own messages while it takes the peer's, so that neither ever
/// waits for a receive that the other owes it.
///
/// Markers: the initiator's first says "go"; where the target is not told of each message, or may
/// miss some, the initiator's second says "all of mine have completed". The target sends one:
/// its own messages have completed and the initiator's were correct.
template <transport::Transport T, class Op, bool kValidate>
class Duplex {
 public:
  Duplex(T& endpoint, const EpochPlan& plan, Watch& watch, EpochResult& result)
      : endpoint_(endpoint),
        plan_(plan),
        result_(result),
        io_(endpoint, plan, watch, result),
        arrivals_(endpoint, plan, io_, result),
        pace_(plan),
        pump_(endpoint, plan, io_, result, pace_, false) {}

  bool go() noexcept { return io_.post_marker(taker()) && good(); }

  /// Any message of the initiator counts as its "go", because messages may overtake the marker.
  bool wait_go() noexcept {
    while (markers_.count == 0 && result_.arrived == 0) {
      if (!turn(Wait::message)) return false;
    }
    return true;
  }

  bool pump() noexcept {
    while (!pump_.done()) {
      if (!pump_.turn()) return false;
      if (!turn(Wait::completion)) {
        if (!is_about_data(result_.outcome)) result_.message = pump_.under_way();
        return false;
      }
    }
    return pump_.finish();
  }

  /// The initiator's end: the target is satisfied, and all that it sent is here.
  bool wait_confirmation() noexcept {
    if constexpr (T::kReliable) {
      if (!Op::kNotifies && !io_.post_marker(taker())) return false;
      while (markers_.count == 0) {
        if (!turn(Wait::confirmation)) return false;
      }
    } else {
      if (!io_.resend_marker_until([this]() noexcept { return markers_.count != 0; }, taker()))
        return false;
    }
    confirmed_ = true;
    return wait_arrivals();
  }

  /// The target's: all that the initiator sent is here, and no marker of it is left to come.
  bool wait_peer() noexcept {
    constexpr unsigned kMarkers = Op::kNotifies ? 1 : 2;
    if constexpr (!T::kReliable) {
      if (Op::kNotifies) return wait_arrivals();
    }
    while (markers_.count < kMarkers) {
      if (!turn(Op::kNotifies ? Wait::message : Wait::confirmation)) return false;
    }
    return wait_arrivals();
  }

  /// When both directions have come to rest.
  bool check() noexcept {
    result_.message = result_.arrived;
    if constexpr (Op::kNotifies) return arrivals_.check_all();
    EpochPlan whole = plan_;
    return io_.settle(whole) && check_window_after<Op, kValidate>(endpoint_, whole, io_, result_);
  }

  bool confirm() noexcept { return io_.post_marker(taker()); }

  bool drain() noexcept {
    while (endpoint_.completed() != endpoint_.posted()) {
      if (!turn(Wait::completion)) return false;
    }
    return true;
  }

 private:
  decltype(auto) taker() noexcept {
    if constexpr (Op::kNotifies) {
      return [this](const transport::Received& received) noexcept { take(received); };
    } else {
      return (markers_);
    }
  }

  void take(const transport::Received& received) noexcept {
    io_.moved();
    if (received.bytes == 0) {
      ++markers_.count;
      io_.give_back_together(received.slot);
    } else {
      arrivals_.add(received);
    }
  }

  bool good() const noexcept { return result_.outcome == Outcome::ok; }
  bool turn(Wait wait) noexcept { return io_.poll(wait, taker()) && good(); }

  /// Where messages may be lost: those that are still missing when the peer is done and silent are.
  bool wait_arrivals() noexcept {
    if constexpr (Op::kNotifies) {
      ArrivalTimeout timeout;
      while (!arrivals_.all()) {
        if (!T::kReliable && told() && timeout.passed(result_.arrived)) return true;
        if (!turn(Wait::message)) {
          if (!is_about_data(result_.outcome)) result_.message = result_.arrived;
          return false;
        }
      }
    }
    return true;
  }

  /// Whether the peer has said that nothing more comes. A "go" may be lost, and a last marker too;
  /// but the last one is sent again until it is answered, so two have come in the end.
  bool told() const noexcept { return confirmed_ || markers_.count > 1; }

  T& endpoint_;
  const EpochPlan& plan_;
  EpochResult& result_;
  EpochIo<T> io_;
  Arrivals<T, Op, kValidate> arrivals_;
  Unpaced pace_;
  Pump<T, Op, kValidate> pump_;
  MarkerTaker<T> markers_{io_};
  bool confirmed_ = false;
};

/// Between the initiator's `begin` and `end` lies all traffic of both directions.
template <transport::Transport T, class Op, bool kValidate>
EpochResult run_duplex(T& endpoint, const EpochPlan& plan, Watch& watch, Side side) noexcept {
  EpochResult result;
  Duplex<T, Op, kValidate> duplex(endpoint, plan, watch, result);
  const bool initiates = side == Side::initiator;
  if (initiates) result.begin = measure::stamp_now();
  const bool peer_is_done = (initiates ? duplex.go() : duplex.wait_go()) && duplex.pump() &&
                            (initiates ? duplex.wait_confirmation() : duplex.wait_peer());
  if (!peer_is_done) return result;
  if (initiates) result.end = measure::stamp_now();
  static_cast<void>(initiates ? duplex.drain() && duplex.check()
                              : duplex.check() && duplex.confirm() && duplex.drain());
  return result;
}

template <transport::Transport T, class Op, bool kValidate, Side kSide>
EpochResult duplex(T& endpoint, const EpochPlan& plan, Watch& watch,
                   std::span<measure::Ticks> /*intervals*/) noexcept {
  return run_duplex<T, Op, kValidate>(endpoint, plan, watch, kSide);
}

}  // namespace rdmabench::inline v1::workload
