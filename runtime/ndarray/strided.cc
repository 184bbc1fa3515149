// See strided.h. Elements move as integers of their size.
#include "runtime/ndarray/strided.h"

#include <algorithm>
#include <cstring>

namespace mxc::ndarray {
namespace {

// Calls `move` with a value of an unsigned type of that many bytes.
template <typename Move>
void by_size(int64_t element_bytes, Move move) {
  switch (element_bytes) {
    case 1: return move(uint8_t{});
    case 2: return move(uint16_t{});
    case 4: return move(uint32_t{});
    default: return move(uint64_t{});
  }
}

template <typename T>
void copy_run(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else if (to_stride == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_stride];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// The last two axes, in squares: each cache line of both sides is used whole while it is there.
constexpr int64_t kSquare = 16;
template <typename T>
void copy_matrix(const T* from, int64_t from_row, int64_t from_column, T* to, int64_t to_row, int64_t to_column, int64_t rows,
                 int64_t columns) {
  for (int64_t row = 0; row < rows; row += kSquare) {
    const int64_t row_end = std::min(row + kSquare, rows);
    for (int64_t column = 0; column < columns; column += kSquare) {
      const int64_t n = std::min(kSquare, columns - column);
      for (int64_t r = row; r < row_end; ++r) {
        copy_run(from + r * from_row + column * from_column, from_column, to + r * to_row + column * to_column, to_column, n);
      }
    }
  }
}

// Splits [first, first + n) into pieces of rows: piece(position, elements, done before).
template <typename Piece>
void for_each_piece(const Walk& walk, int64_t first, int64_t n, Piece piece) {
  const int64_t row = walk.extents.back();
  Position position = at_element(walk, first);
  int64_t within = first % row;
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(row - within, n - done);
    piece(position, length, done);
    done += length;
    for (int r = 0; r < walk.regions; ++r) position.offset[r] -= within * walk.strides[r].back();
    within = 0;
    if (done < n) next_row(walk, &position);
  }
}

}  // namespace

Walk collapsed(const Walk& walk) {
  Walk out;
  out.regions = walk.regions;
  for (int axis = 0; axis < walk.extents.size(); ++axis) {
    const int64_t extent = walk.extents[axis];
    if (extent == 1) continue;
    bool joins = out.extents.size() > 0;
    for (int r = 0; r < walk.regions && joins; ++r) joins = out.strides[r].back() == extent * walk.strides[r][axis];
    if (joins) {
      const int last = out.extents.size() - 1;
      out.extents[last] *= extent;
      for (int r = 0; r < walk.regions; ++r) out.strides[r][last] = walk.strides[r][axis];
      continue;
    }
    out.extents.push_back(extent);
    for (int r = 0; r < walk.regions; ++r) out.strides[r].push_back(walk.strides[r][axis]);
  }
  if (out.extents.size() == 0) {
    out.extents.push_back(1);
    for (int r = 0; r < walk.regions; ++r) out.strides[r].push_back(1);
  }
  return out;
}

Position at_element(const Walk& walk, int64_t element) {
  Position position;
  position.index = walk.extents;
  for (int r = 0; r < walk.regions; ++r) position.offset[r] = 0;
  for (int axis = walk.extents.size() - 1; axis >= 0; --axis) {
    const int64_t index = element % walk.extents[axis];
    element /= walk.extents[axis];
    position.index[axis] = index;
    for (int r = 0; r < walk.regions; ++r) position.offset[r] += index * walk.strides[r][axis];
  }
  return position;
}

void next_row(const Walk& walk, Position* position) {
  for (int axis = walk.extents.size() - 2; axis >= 0; --axis) {
    if (++position->index[axis] < walk.extents[axis]) {
      for (int r = 0; r < walk.regions; ++r) position->offset[r] += walk.strides[r][axis];
      return;
    }
    position->index[axis] = 0;
    for (int r = 0; r < walk.regions; ++r) position->offset[r] -= (walk.extents[axis] - 1) * walk.strides[r][axis];
  }
}

void gather(const Walk& walk, int region, int64_t first, int64_t n, int64_t element_bytes, const void* base, void* to) {
  const int64_t stride = walk.strides[region].back();
  by_size(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    for_each_piece(walk, first, n, [&](const Position& at, int64_t length, int64_t done) {
      copy_run(static_cast<const T*>(base) + at.offset[region], stride, static_cast<T*>(to) + done, 1, length);
    });
  });
}

void scatter(const Walk& walk, int region, int64_t first, int64_t n, int64_t element_bytes, const void* from, void* base) {
  const int64_t stride = walk.strides[region].back();
  by_size(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    for_each_piece(walk, first, n, [&](const Position& at, int64_t length, int64_t done) {
      copy_run(static_cast<const T*>(from) + done, 1, static_cast<T*>(base) + at.offset[region], stride, length);
    });
  });
}

void copy_strided(const Dims& extents, int64_t element_bytes, const void* from, const Dims& from_strides, void* to, const Dims& to_strides) {
  for (int64_t extent : extents) {
    if (extent == 0) return;
  }
  Walk walk{extents, {from_strides, to_strides}, 2};
  walk = collapsed(walk);
  if (walk.extents.size() == 1) walk = {{1, walk.extents[0]}, {{0, walk.strides[0][0]}, {0, walk.strides[1][0]}}, 2};
  const int columns = walk.extents.size() - 1, rows = columns - 1;
  const int64_t row_count = walk.extents[rows], column_count = walk.extents[columns];
  // Rows go as wholes where both sides have them so; only a transposition needs squares.
  const bool straight = walk.strides[0][columns] <= 1 && walk.strides[1][columns] == 1;
  Walk outer = walk;
  outer.extents.pop_back();
  for (Dims& strides : outer.strides) {
    if (strides.size() > 0) strides.pop_back();
  }
  // Walked row by row of `outer`, whose last axis is `rows`.
  int64_t matrices = 1;
  for (int axis = 0; axis < rows; ++axis) matrices *= walk.extents[axis];
  Position position = at_element(outer, 0);
  by_size(element_bytes, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < matrices; ++i, next_row(outer, &position)) {
      const T* a = static_cast<const T*>(from) + position.offset[0];
      T* b = static_cast<T*>(to) + position.offset[1];
      if (straight) {
        for (int64_t row = 0; row < row_count; ++row) {
          copy_run(a + row * walk.strides[0][rows], walk.strides[0][columns], b + row * walk.strides[1][rows], 1, column_count);
        }
      } else {
        copy_matrix(a, walk.strides[0][rows], walk.strides[0][columns], b, walk.strides[1][rows], walk.strides[1][columns], row_count,
                    column_count);
      }
    }
  });
}

}  // namespace mxc::ndarray
