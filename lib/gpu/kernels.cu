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
