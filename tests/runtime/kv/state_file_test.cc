// What survives in a state file: cuts at every byte, flipped bits, other people's files.
#include "runtime/kv/state_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace mxc::kv {
namespace {

constexpr StateOwner kOwner = {.job = 0x11, .plan = 0x22, .server = 3};

class StateFileTest : public testing::Test {
 protected:
  void SetUp() override {
    // In memory, if the machine has such a folder: thousands of files are made.
    path_ = (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : testing::TempDir()) + "/mxc_" + std::to_string(::getpid()) + "_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".state";
    std::remove(path_.c_str());
  }
  void TearDown() override { std::remove(path_.c_str()); }

  absl::StatusOr<std::unique_ptr<StateFile>> open(const StateOwner& owner = kOwner) { return StateFile::open(path_, owner, sizes_); }
  std::string refusal(const StateOwner& owner = kOwner) {
    const std::string message(open(owner).status().message());
    EXPECT_EQ(message.substr(0, path_.size() + 2), path_ + ": ");
    return message.substr(std::min(message.size(), path_.size() + 2));
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) { std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes; }

  static void write(StateFile& file, uint32_t record, uint64_t version, std::string_view bytes) { file.write(record, version, {{bytes}}); }
  // "version:bytes", or "nothing".
  static std::string shown(const std::optional<StateFile::Copy>& copy) {
    return copy.has_value() ? std::to_string(copy->version) + ":" + std::string(copy->bytes) : "nothing";
  }

  std::string path_;
  std::vector<uint32_t> sizes_ = {5, 70};
};

TEST_F(StateFileTest, KeepsTheLastTwo) {
  {
    auto file = open();
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(shown((*file)->newest(0)), "nothing");
    EXPECT_EQ(shown((*file)->before(0)), "nothing");
    write(**file, 0, 7, "seven");
    EXPECT_EQ(shown((*file)->newest(0)), "7:seven");
    EXPECT_EQ(shown((*file)->before(0)), "nothing");
    const std::string_view pieces[] = {"ei", "", "ght"};
    (*file)->write(0, 8, pieces);
    write(**file, 0, 9, "nine!");
    EXPECT_EQ(shown((*file)->newest(0)), "9:nine!");
    EXPECT_EQ(shown((*file)->before(0)), "8:eight");
    EXPECT_EQ(shown((*file)->newest(1)), "nothing");
  }
  auto again = open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(shown((*again)->newest(0)), "9:nine!");
  EXPECT_EQ(shown((*again)->before(0)), "8:eight");
  EXPECT_EQ(shown((*again)->newest(1)), "nothing");
  (*again)->remove();
  EXPECT_EQ(content(), "");
}

// Whatever part of a write's stores has been made when the writer is killed: first the header is made invalid, then come the bytes, then the fields of the
// header, and its checksum last.
TEST_F(StateFileTest, AWriteThatIsCutAnywhereLeavesTheRecordBeforeIt) {
  std::string before, after;
  size_t at = 0, size = 0;
  {
    auto file = open();
    write(**file, 1, 1, std::string(70, 'a'));
    write(**file, 1, 2, std::string(70, 'b'));
    before = content();
    write(**file, 1, 3, std::string(70, 'c'));
    after = content();
    std::tie(at, size) = (*file)->place(1, before.substr((*file)->place(1, 0).first + 64, 1) == "a" ? 0 : 1);
  }
  constexpr size_t kHead = 64, kSum = 60;
  ASSERT_EQ(size, kHead + 70);
  std::vector<size_t> order;  // of the bytes that are stored
  for (size_t i = kHead; i < size; ++i) order.push_back(i);
  for (size_t i = 0; i < kHead; ++i) order.push_back(i);
  for (size_t cut = 0; cut <= order.size(); ++cut) {
    std::string image = before;
    for (size_t i = kSum; i < kHead; ++i) image[at + i] = static_cast<char>(~before[at + i]);
    for (size_t i = 0; i < cut; ++i) image[at + order[i]] = after[at + order[i]];
    put(image);
    auto file = open();
    ASSERT_TRUE(file.ok()) << "cut at " << cut << ": " << file.status();
    const bool done = image == after;
    ASSERT_TRUE(done || cut < order.size());
    ASSERT_EQ(shown((*file)->newest(1)), (done ? "3:" + std::string(70, 'c') : "2:" + std::string(70, 'b'))) << "cut at " << cut;
    ASSERT_EQ(shown((*file)->before(1)), done ? "2:" + std::string(70, 'b') : "nothing") << "cut at " << cut;
    write(**file, 1, 4, std::string(70, 'd'));
    ASSERT_EQ(shown((*file)->newest(1)), "4:" + std::string(70, 'd')) << "cut at " << cut;
  }
}

TEST_F(StateFileTest, ADamagedCopyGivesWayToTheOther) {
  std::string whole;
  std::pair<size_t, size_t> places[2];
  {
    auto file = open();
    write(**file, 0, 1, "older");
    write(**file, 0, 2, "newer");
    for (int slot : {0, 1}) places[slot] = (*file)->place(0, slot);
    whole = content();
  }
  const int newer = whole.substr(places[0].first + 64, 5) == "newer" ? 0 : 1;
  for (int slot : {0, 1}) {
    const auto [at, size] = places[slot];
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      std::string image = whole;
      image[at + bit / 8] = static_cast<char>(image[at + bit / 8] ^ (1 << bit % 8));
      put(image);
      auto file = open();
      ASSERT_TRUE(file.ok()) << "bit " << bit << " of slot " << slot << ": " << file.status();
      ASSERT_EQ(shown((*file)->newest(0)), slot == newer ? "1:older" : "2:newer") << "bit " << bit;
      ASSERT_EQ(shown((*file)->before(0)), "nothing") << "bit " << bit;
    }
  }
  std::string image = whole;
  for (auto [at, size] : places) image[at + size - 1] = static_cast<char>(image[at + size - 1] ^ 1);
  put(image);
  EXPECT_EQ(refusal(), "record 0 is damaged, and so is its other copy");
}

TEST_F(StateFileTest, RefusesWhatIsNotItsOwn) {
  { ASSERT_TRUE(open().ok()); }
  const std::string whole = content();
  EXPECT_EQ(refusal({0x99, 0x22, 3}), "it is the state of another job (0000000000000011, and this is 0000000000000099)");
  EXPECT_EQ(refusal({0x11, 0x99, 3}),
            "it is of another plan (0000000000000022, and this is 0000000000000099): another build, or other keys, shapes or shards");
  EXPECT_EQ(refusal({0x11, 0x22, 4}), "it is the state of rank 3, and this is rank 4");
  put(whole + "x");
  EXPECT_EQ(refusal(), "it has " + std::to_string(whole.size() + 1) + " bytes, and should have " + std::to_string(whole.size()));
  put(whole.substr(0, whole.size() - 1));
  EXPECT_EQ(refusal(), "it has " + std::to_string(whole.size() - 1) + " bytes, and should have " + std::to_string(whole.size()));
  for (size_t bytes : {size_t{0}, size_t{63}}) {
    put(whole.substr(0, bytes));
    EXPECT_EQ(refusal(), "it is no state of a server");
  }
  put(std::string(500, 'x'));
  EXPECT_EQ(refusal(), "it is no state of a server");
  std::string image = whole;
  image[4] = 2;
  put(image);
  EXPECT_EQ(refusal(), "its format is 2, and this program's is 1");
  image = whole;
  image[9] = 1;
  put(image);
  EXPECT_EQ(refusal(), "its header is damaged");
}

TEST_F(StateFileTest, HasOneOwnerAtATime) {
  auto file = open();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(refusal(), "another process has it");
}

TEST_F(StateFileTest, SaysWhyItCannotBeMade) {
  path_ += "/nowhere/x";
  EXPECT_EQ(refusal(), "cannot make: No such file or directory");
  EXPECT_EQ(StateFile::open(testing::TempDir(), kOwner, {}).status().message(), testing::TempDir() + ": cannot open: Is a directory");
}

}  // namespace
}  // namespace mxc::kv
