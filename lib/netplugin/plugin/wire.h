// What the two ends of a connection write into slots. Both are of one build of this plugin: fields
// are in host byte order, and the hello of the set-up refuses another.
//
// The receiver announces each group of receives; the sender writes data for buffers that were
// announced, in pieces, and the receiver confirms each piece by the slot that it lay in. Nothing
// rests on an order between slots: libfabric promises none.
#pragma once

#include <cstdint>

namespace rdmabench::netplugin::plugin {

inline constexpr std::uint32_t kShortSlot =
    1024;                                        ///< bytes of a slot for small messages and notices
inline constexpr std::uint32_t kMaxGroup = 8;    ///< receives of one irecv()
inline constexpr std::uint32_t kMaxGroups = 32;  ///< announced and not yet taken back

enum class Kind : std::uint32_t { piece = 1, refusal, group, confirmation, farewell };

/// Which carrier a slot is of.
enum class Lane : std::uint16_t { small = 0, large = 1 };

/// From the sender. `refusal`: a message is larger than its receive, and no data follows.
struct Piece {
  Kind kind;
  std::uint32_t group;
  std::uint32_t member;
  Lane lane;
  std::uint16_t slot;
  std::uint64_t offset;
  std::uint64_t total;  ///< bytes of the message
  std::uint32_t bytes;  ///< of this piece, behind this header
  std::uint32_t unused;
};

struct Buffer {
  std::int32_t tag;
  std::uint32_t unused;
  std::uint64_t bytes;
};

/// From the receiver.
struct Group {
  Kind kind;
  std::uint32_t group;
  std::uint32_t count;  ///< 1..kMaxGroup
  std::uint32_t unused;
  Buffer buffers[kMaxGroup];
};

inline constexpr std::uint32_t kMaxConfirmed = 200;
struct Confirmation {
  Kind kind;
  std::uint32_t count;  ///< 1..kMaxConfirmed
  struct {
    Lane lane;
    std::uint16_t slot;
  } pieces[kMaxConfirmed];
};

/// From either: it closes. `pieces` were sent, or confirmed, in all.
struct Farewell {
  Kind kind;
  std::uint32_t unused;
  std::uint64_t pieces;
};

static_assert(sizeof(Piece) == 40 && sizeof(Group) <= kShortSlot &&
              sizeof(Confirmation) <= kShortSlot);

}  // namespace rdmabench::netplugin::plugin
