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

/// What kernels.cc reads back.
struct Results {
  Word first;  ///< all ones before a kernel
  Word last;
  Word count;
  Word sum;
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

__device__ Word checksum_word(Word word, Word index) {
  return mix(word + (index + 1) * 0x9e3779b97f4a7c15ULL);
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

/// One addition for a warp instead of 32 to the same address.
__device__ void add(Word* sum, Word value) {
#ifdef __CUDA_ARCH__
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0U, value, lanes);
  if (threadIdx.x % 32 != 0) return;
#endif
  if (value != 0) atomicAdd(sum, value);
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

struct Difference {
  Word count = 0;
  Word first = ~0ULL;
  Word last = 0;
};

__device__ void note(Difference& difference, Word element) {
  ++difference.count;
  difference.first = element < difference.first ? element : difference.first;
  difference.last = element > difference.last ? element : difference.last;
}

/// `bits` are those in which 8 bytes from element `first` on differ.
__device__ void note_word(Difference& difference, Word bits, Word first, unsigned element_bytes) {
  if (bits == 0) return;
  const Word mask = element_bytes == 8 ? ~0ULL : (1ULL << (element_bytes * 8)) - 1;
  for (unsigned i = 0; i < 8 / element_bytes; ++i) {
    if ((bits >> (i * element_bytes * 8) & mask) != 0) note(difference, first + i);
  }
}

__device__ void note_pair(Difference& difference, const WordPair& a, const WordPair& b, Word index,
                          unsigned element_bytes) {
  const Word per_word = 8 / element_bytes;
  note_word(difference, a.low ^ b.low, 2 * index * per_word, element_bytes);
  note_word(difference, a.high ^ b.high, (2 * index + 1) * per_word, element_bytes);
}

__device__ bool differs(const unsigned char* a, const unsigned char* b, unsigned bytes) {
  bool found = false;
  for (unsigned i = 0; i < bytes; ++i) found = found || a[i] != b[i];
  return found;
}

/// The 8 bytes from `at` on, those behind `size` as zeros.
__device__ Word load_word(const unsigned char* bytes, Word at, Word size) {
  Word word = 0;
  for (Word i = 0; i < 8 && at + i < size; ++i) word |= static_cast<Word>(bytes[at + i]) << (i * 8);
  return word;
}

}  // namespace

extern "C" __global__ void rdmabench_fill(Word data, Word size, Word stride, Word count, Word first,
                                          int tag) {
  for (Word slot = blockIdx.y; slot < count; slot += gridDim.y) {
    fill_message(RDMABENCH_DEVICE_MEMORY(data + slot * stride), size, tag_of(tag, first + slot));
  }
}

/// results->first becomes slot * size + offset of the first wrong byte.
extern "C" __global__ void rdmabench_find_mismatch(Word data, Word size, Word stride, Word count,
                                                   Word first, int tag, Word results) {
  for (Word slot = blockIdx.y; slot < count; slot += gridDim.y) {
    const unsigned char* message = RDMABENCH_DEVICE_MEMORY(data + slot * stride);
    const Word at = first_mismatch(message, size, tag_of(tag, first + slot));
    if (at == size) continue;
    Results* found = reinterpret_cast<Results*>(RDMABENCH_DEVICE_MEMORY(results));
    atomicMin(&found->first, slot * size + at);
    return;  // this thread's later slots cannot hold an earlier byte
  }
}

extern "C" __global__ void rdmabench_compare(Word a_address, Word b_address, Word elements,
                                             unsigned element_bytes, Word results) {
  const unsigned char* a = RDMABENCH_DEVICE_MEMORY(a_address);
  const unsigned char* b = RDMABENCH_DEVICE_MEMORY(b_address);
  const Word pairs =
      is_aligned(a) && is_aligned(b) ? elements * element_bytes / sizeof(WordPair) : 0;
  Difference difference;
  for (Word i = thread_index(); i < pairs; i += thread_count()) {
    note_pair(difference, reinterpret_cast<const WordPair*>(a)[i],
              reinterpret_cast<const WordPair*>(b)[i], i, element_bytes);
  }
  const Word rest = pairs * (sizeof(WordPair) / element_bytes);
  for (Word i = rest + thread_index(); i < elements; i += thread_count()) {
    if (differs(a + i * element_bytes, b + i * element_bytes, element_bytes)) note(difference, i);
  }
  if (difference.count == 0) return;
  Results* found = reinterpret_cast<Results*>(RDMABENCH_DEVICE_MEMORY(results));
  atomicAdd(&found->count, difference.count);
  atomicMin(&found->first, difference.first);
  atomicMax(&found->last, difference.last);
}

extern "C" __global__ void rdmabench_checksum(Word data, Word size, Word results) {
  const unsigned char* bytes = RDMABENCH_DEVICE_MEMORY(data);
  const Word pairs = is_aligned(bytes) ? size / sizeof(WordPair) : 0;
  Word sum = 0;
  for (Word i = thread_index(); i < pairs; i += thread_count()) {
    const WordPair pair = reinterpret_cast<const WordPair*>(bytes)[i];
    sum += checksum_word(pair.low, 2 * i) + checksum_word(pair.high, 2 * i + 1);
  }
  const Word words = (size + 7) / 8;
  for (Word i = 2 * pairs + thread_index(); i < words; i += thread_count()) {
    sum += checksum_word(load_word(bytes, i * 8, size), i);
  }
  add(&reinterpret_cast<Results*>(RDMABENCH_DEVICE_MEMORY(results))->sum, sum);
}
