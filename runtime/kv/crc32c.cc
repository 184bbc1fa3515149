// Where the processor has an instruction for it (SSE 4.2), three runs of bytes at once, since the instruction takes three cycles and one can begin in each; elsewhere
// eight bytes a step through eight tables ("slicing by 8"). Tables are made by the compiler.
//
// A sum is linear: that of A, B and C behind each other is that of A moved over the length of B and C, plus that of B moved over the length of C, plus that of C.
//
// Where it multiplies polynomials in vectors, long runs are folded first: eight vectors are moved over the next eight and added to them, until eight are left that have the
// sum of all (V. Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", 2009).
#include "runtime/kv/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mxc::kv {

namespace {

static_assert(std::endian::native == std::endian::little, "the tables are used on words as they lie in memory");

template <size_t count>
using Tables = std::array<std::array<uint32_t, 256>, count>;

constexpr Tables<8> make_tables() {
  Tables<8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][i] = sum;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}

constexpr Tables<8> kTables = make_tables();

uint64_t word_at(const unsigned char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Here and below sums are as they are before the last inversion.
uint32_t by_bytes(const unsigned char* at, size_t size, uint32_t sum) {
  for (; size > 0; --size, ++at) sum = (sum >> 8) ^ kTables[0][(sum ^ *at) & 0xff];
  return sum;
}

uint32_t by_tables(const unsigned char* at, size_t size, uint32_t sum) {
  for (; size >= 8; size -= 8, at += 8) {
    const uint64_t word = word_at(at) ^ sum;
    sum = 0;
    for (size_t k = 0; k < 8; ++k) sum ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  return by_bytes(at, size, sum);
}

#ifdef __x86_64__

constexpr int kRunBits = 12;
constexpr size_t kRun = size_t{1} << kRunBits;  // bytes of each of three runs

// A linear function of sums, by what becomes of each bit.
using Linear = std::array<uint32_t, 32>;

constexpr uint32_t image_of(const Linear& function, uint32_t sum) {
  uint32_t result = 0;
  for (size_t bit = 0; bit < 32; ++bit) result ^= ((sum >> bit) & 1) != 0 ? function[bit] : 0;
  return result;
}

// Moves a sum over 2^bits bytes: the function of one byte, squared so many times.
constexpr Tables<4> make_moves(int bits) {
  Linear move{};
  for (size_t bit = 0; bit < 32; ++bit) {
    const uint32_t sum = uint32_t{1} << bit;
    move[bit] = (sum >> 8) ^ kTables[0][sum & 0xff];
  }
  for (int i = 0; i < bits; ++i) {
    Linear twice{};
    for (size_t bit = 0; bit < 32; ++bit) twice[bit] = image_of(move, move[bit]);
    move = twice;
  }
  Tables<4> tables{};
  for (uint32_t k = 0; k < 4; ++k)
    for (uint32_t i = 0; i < 256; ++i) tables[k][i] = image_of(move, i << (8 * k));
  return tables;
}

constexpr Tables<4> kMoveOverRun = make_moves(kRunBits);

uint32_t moved_over_run(uint32_t sum) {
  uint32_t moved = 0;
  for (size_t k = 0; k < 4; ++k) moved ^= kMoveOverRun[k][(sum >> (8 * k)) & 0xff];
  return moved;
}

__attribute__((target("sse4.2"))) uint32_t by_instruction(const unsigned char* at, size_t size, uint32_t begin) {
  uint64_t sum = begin;
  for (; size >= 3 * kRun; size -= 3 * kRun, at += 3 * kRun) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kRun; i += 8) {
      sum = __builtin_ia32_crc32di(sum, word_at(at + i));
      second = __builtin_ia32_crc32di(second, word_at(at + kRun + i));
      third = __builtin_ia32_crc32di(third, word_at(at + 2 * kRun + i));
    }
    sum = moved_over_run(moved_over_run(static_cast<uint32_t>(sum)) ^ static_cast<uint32_t>(second)) ^ static_cast<uint32_t>(third);
  }
  for (; size >= 8; size -= 8, at += 8) sum = __builtin_ia32_crc32di(sum, word_at(at));
  return by_bytes(at, size, static_cast<uint32_t>(sum));
}

constexpr size_t kVectors = 8;
constexpr size_t kFold = kVectors * sizeof(__m256i);  // bytes
constexpr size_t kAhead = 4096, kLine = 64;           // what is in memory alone comes a third faster if it is asked for so far ahead (10 to 13.6 GB/s)

// x^power, as multiplication of sums takes it: both are bits in reverse, and so their product stands one bit too low.
constexpr uint64_t factor(int power) {
  uint32_t sum = 0x80000000u;  // 1
  for (int i = 0; i < power; ++i) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0u);
  return uint64_t{sum} << 1;
}

constexpr uint64_t kMoveLow = factor(kFold * 8 + 32), kMoveHigh = factor(kFold * 8 - 32);  // the low and the high half of 16 bytes over kFold bytes

__attribute__((target("avx2,vpclmulqdq"))) inline __m256i folded(__m256i vector, __m256i next) {
  const __m256i moves = _mm256_set_epi64x(kMoveHigh, kMoveLow, kMoveHigh, kMoveLow);
  const __m256i low = _mm256_clmulepi64_epi128(vector, moves, 0x00), high = _mm256_clmulepi64_epi128(vector, moves, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

__attribute__((target("avx2"))) inline __m256i vector_at(const unsigned char* at, size_t i) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at) + i);
}

// Requires: size >= kFold.
__attribute__((target("avx2,vpclmulqdq,sse4.2"))) uint32_t by_folding(const unsigned char* at, size_t size, uint32_t begin) {
  __m256i vectors[kVectors];
  for (size_t i = 0; i < kVectors; ++i) vectors[i] = vector_at(at, i);
  vectors[0] = _mm256_xor_si256(vectors[0], _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, static_cast<int>(begin)));
  for (size -= kFold, at += kFold; size >= kFold; size -= kFold, at += kFold) {
    for (size_t ahead = 0; ahead < kFold; ahead += kLine) _mm_prefetch(at + kAhead + ahead, _MM_HINT_T0);
    for (size_t i = 0; i < kVectors; ++i) vectors[i] = folded(vectors[i], vector_at(at, i));
  }
  alignas(__m256i) unsigned char left[kFold];
  std::memcpy(left, vectors, kFold);
  return by_instruction(at, size, by_instruction(left, kFold, 0));
}

#endif

}  // namespace

uint32_t crc32c_by_tables(const void* data, size_t size, uint32_t before) {
  return ~by_tables(static_cast<const unsigned char*>(data), size, ~before);
}

uint32_t crc32c(const void* data, size_t size, uint32_t before) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  static const bool folds = has_instruction && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq");
  if (folds && size >= kFold) return ~by_folding(static_cast<const unsigned char*>(data), size, ~before);
  if (has_instruction) return ~by_instruction(static_cast<const unsigned char*>(data), size, ~before);
#endif
  return crc32c_by_tables(data, size, before);
}

}  // namespace mxc::kv
