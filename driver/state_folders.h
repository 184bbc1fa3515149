// StateFolders: where the processes of a job keep what they must not forget when they die (runtime/kv/server_state.h): a folder; and if the job shrinks,
// one below it for each number of processes that it has had, "1" of those it began with, "2" of those that went on without the first dead, ...
//
// Those who go on begin with what is in the folder before theirs. A folder is whole when each of its servers has made its file: before that none of them
// has changed a value, and so if one of them dies, the folder before counts.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "driver/child.h"

namespace mxc::driver {

class StateFolders {
 public:
  // `elsewhere`: on other machines, of which nothing is known. Error: there is no such folder here.
  absl::Status open(const std::string& folder, bool shrinks, bool elsewhere);
  // Makes the folder of so many processes, of which so many hold values; after those of before have ended. Error: it cannot be made.
  absl::Status begin(int processes, int servers);
  // What these processes are to be told.
  Variables variables() const;
  // Once those of now are all there, those before are not needed any more, and are removed. Call it now and then.
  void look();
  // The job is over.
  void remove();

 private:
  struct Generation {
    std::string path;
    int processes = 0;  // 0: there is none
    int servers = 0;    // of them
  };
  static bool is_whole(const Generation& generation);
  static void remove(Generation& generation);

  std::string folder_;
  bool shrinks_ = false;
  int count_ = 0;  // of generations
  Generation now_, before_;
};

}  // namespace mxc::driver
