// What was meant by a mistyped word.
#pragma once

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mxc::frontend {

// "; did you mean 'units'?" with the candidate nearest to `word` by insertions, deletions and changes of letters, the first of equals;
// nothing if none is near: more than a third of the word would have to change.
template <class List>
std::string didYouMean(llvm::StringRef word, const List& candidates) {
  unsigned limit = static_cast<unsigned>(word.size()) / 3 + (word.size() < 3 ? 1 : 0), best = limit + 1;
  std::string found;
  for (llvm::StringRef candidate : candidates) {
    unsigned distance = word.edit_distance(candidate, /*AllowReplacements=*/true, best);
    if (distance >= best) continue;
    best = distance;
    found = candidate.str();
  }
  return found.empty() ? "" : "; did you mean '" + found + "'?";
}

}  // namespace mxc::frontend
