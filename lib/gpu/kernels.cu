// The kernels of kernels.h. make_kernels_ptx.py makes kernels.ptx of this file with nvcc; the fake
// driver of the tests compiles the same lines as C++ and runs them one thread after another, so
// nothing here may wait for another thread of the grid.
//
// Blocks of x share a message, blocks of y share the messages. Where addresses allow it 16 bytes
// are touched at a time: nothing less keeps a GPU's memory busy.

#ifndef RDMABENCH_DEVICE_MEMORY
#define RDMABENCH_DEVICE_MEMORY(address) reinterpret_cast<unsigned char*>(address)
#endif

namespace {

using Word = unsigned long long;

struct alignas(16) WordPair {
  Word low;
  Word high;
};

__device__ Word mix(Word z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// The pattern's 8 bytes at `index`, as memory/pattern.cc has them.
__device__ Word pattern_word(Word index, unsigned tag) {
  return mix((index << 8 | tag) + 0x9e3779b97f4a7c15ULL);
}

__device__ unsigned char pattern_byte(Word at, Word size, unsigned tag) {
  if (at + 1 == size) return static_cast<unsigned char>(tag);
  return static_cast<unsigned char>(pattern_word(at / 8, tag) >> (at % 8 * 8));
}

__device__ Word thread_index() {
  return static_cast<Word>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ Word thread_count() {
  return static_cast<Word>(gridDim.x) * blockDim.x;
}

__device__ bool is_aligned(const unsigned char* bytes) {
  return reinterpret_cast<Word>(bytes) % sizeof(WordPair) == 0;
}

/// Bytes at the start of a message that are handled in pairs; its last byte is not among them.
__device__ Word paired_bytes(const unsigned char* message, Word size) {
  return is_aligned(message) ? (size - 1) / sizeof(WordPair) * sizeof(WordPair) : 0;
}

__device__ Word lowest_byte(Word difference) {
  return static_cast<Word>(__ffsll(static_cast<long long>(difference)) - 1) / 8;
}

/// A tag of 0 to 255 is that of every message; a negative one leaves it to their numbers.
__device__ unsigned tag_of(int tag, Word message) {
  return tag < 0 ? static_cast<unsigned>(message % 255) + 1 : static_cast<unsigned>(tag);
}

__device__ void fill_message(unsigned char* message, Word size, unsigned tag) {
  const Word paired = paired_bytes(message, size);
  WordPair* pairs = reinterpret_cast<WordPair*>(message);
  for (Word i = thread_index(); i < paired / sizeof(WordPair); i += thread_count()) {
    pairs[i] = WordPair{pattern_word(2 * i, tag), pattern_word(2 * i + 1, tag)};
  }
  for (Word at = paired + thread_index(); at < size; at += thread_count()) {
    message[at] = pattern_byte(at, size, tag);
  }
}

/// Of the bytes that fall to this thread, the first wrong one; `size` if all are right.
__device__ Word first_mismatch(const unsigned char* message, Word size, unsigned tag) {
  const Word paired = paired_bytes(message, size);
  const WordPair* pairs = reinterpret_cast<const WordPair*>(message);
  for (Word i = thread_index(); i < paired / sizeof(WordPair); i += thread_count()) {
    const WordPair pair = pairs[i];
    const Word low = pair.low ^ pattern_word(2 * i, tag);
    const Word high = pair.high ^ pattern_word(2 * i + 1, tag);
    if (low != 0) return i * sizeof(WordPair) + lowest_byte(low);
    if (high != 0) return i * sizeof(WordPair) + sizeof(Word) + lowest_byte(high);
  }
  for (Word at = paired + thread_index(); at < size; at += thread_count()) {
    if (message[at] != pattern_byte(at, size, tag)) return at;
  }
  return size;
}

}  // namespace

extern "C" __global__ void rdmabench_fill(Word data, Word size, Word stride, Word count, Word first,
                                          int tag) {
  for (Word slot = blockIdx.y; slot < count; slot += gridDim.y) {
    fill_message(RDMABENCH_DEVICE_MEMORY(data + slot * stride), size, tag_of(tag, first + slot));
  }
}

namespace {

/// A row of a table: memory that repeats a period of elements. All in bytes; of whole elements.
struct Tile {
  Word data;
  Word bytes;
  Word period;
  Word period_bytes;
  Word tolerance;  // units in the last place
  Word differs;    // 0; becomes 1
};

/// Calls visit(index, index in the period) for the elements that fall to this thread.
template <class Element, class Visit>
__device__ void for_elements(const Tile& tile, Visit visit) {
  const Word count = tile.bytes / sizeof(Element);
  const Word length = tile.period_bytes / sizeof(Element);
  const Word step = thread_count() % length;
  Word place = thread_index() % length;
  for (Word i = thread_index(); i < count; i += thread_count()) {
    visit(i, place);
    place += step;
    if (place >= length) place -= length;
  }
}

/// Floating-point encodings as integers of the same order.
template <class Element>
__device__ long long in_order(Element bits) {
  const Word sign = 1ULL << (8 * sizeof(Element) - 1);
  const long long magnitude = static_cast<long long>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

template <class Element>
__device__ bool is_near(Element a, Element b, Word tolerance) {
  if (a == b) return true;
  if (tolerance == 0) return false;
  const long long difference = in_order(a) - in_order(b);
  return static_cast<Word>(difference < 0 ? -difference : difference) <= tolerance;
}

template <class Element>
__device__ void write_tile(const Tile& tile) {
  Element* data = reinterpret_cast<Element*>(RDMABENCH_DEVICE_MEMORY(tile.data));
  const Element* period = reinterpret_cast<const Element*>(RDMABENCH_DEVICE_MEMORY(tile.period));
  for_elements<Element>(tile, [&](Word i, Word place) { data[i] = period[place]; });
}

template <class Element>
__device__ void compare_tile(Tile& tile) {
  const Element* data = reinterpret_cast<const Element*>(RDMABENCH_DEVICE_MEMORY(tile.data));
  const Element* period = reinterpret_cast<const Element*>(RDMABENCH_DEVICE_MEMORY(tile.period));
  bool differs = false;
  for_elements<Element>(tile, [&](Word i, Word place) {
    if (!is_near(data[i], period[place], tile.tolerance)) differs = true;
  });
  if (differs) tile.differs = 1;
}

__device__ Tile& tile_of(Word table, Word row) {
  return reinterpret_cast<Tile*>(RDMABENCH_DEVICE_MEMORY(table))[row];
}

}  // namespace

/// `element`: 1, 2, 4 or 8 bytes, to which all addresses are aligned.
extern "C" __global__ void rdmabench_write_tiles(Word table, Word rows, Word element) {
  for (Word row = blockIdx.y; row < rows; row += gridDim.y) {
    const Tile& tile = tile_of(table, row);
    if (element == 1) write_tile<unsigned char>(tile);
    if (element == 2) write_tile<unsigned short>(tile);
    if (element == 4) write_tile<unsigned>(tile);
    if (element == 8) write_tile<Word>(tile);
  }
}

extern "C" __global__ void rdmabench_compare_tiles(Word table, Word rows, Word element) {
  for (Word row = blockIdx.y; row < rows; row += gridDim.y) {
    Tile& tile = tile_of(table, row);
    if (element == 1) compare_tile<unsigned char>(tile);
    if (element == 2) compare_tile<unsigned short>(tile);
    if (element == 4) compare_tile<unsigned>(tile);
    if (element == 8) compare_tile<Word>(tile);
  }
}

/// The word at `result`, all ones before, becomes slot * size + offset of the first wrong byte.
extern "C" __global__ void rdmabench_find_mismatch(Word data, Word size, Word stride, Word count,
                                                   Word first, int tag, Word result) {
  for (Word slot = blockIdx.y; slot < count; slot += gridDim.y) {
    const unsigned char* message = RDMABENCH_DEVICE_MEMORY(data + slot * stride);
    const Word at = first_mismatch(message, size, tag_of(tag, first + slot));
    if (at == size) continue;
    atomicMin(reinterpret_cast<Word*>(RDMABENCH_DEVICE_MEMORY(result)), slot * size + at);
    return;  // this thread's later slots cannot hold an earlier byte
  }
}
