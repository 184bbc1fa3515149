// Reading what NumPy wrote (data/*.npz: np.savez and np.savez_compressed of image = arange(24).reshape(4,2,3)/8, label = 3 1 0 2;
// mixed.npz also words = the strings a b c d, records = zeros(4, [('x', '<f4'), ('shape', '<i4')])),
// and writing what is read back; that NumPy itself reads it is tested by npz_with_numpy.
#include "runtime/io/npz.h"

#include <zlib.h>

#include <cstring>

#include "tests/runtime/io/source_test.h"

namespace mxc::io {
namespace {

using mxc::test::contents_of;
using mxc::test::TempDir;

std::string data_file(const std::string& name) { return MXC_SOURCE_DIR "/tests/runtime/io/data/" + name; }
const std::vector<Field> kInputs = {floats("image", {2, 3}), classes("label", 4)};

TEST(Npz, StoredDeflatedAndAllHeaderVersions) {
  for (const char* name : {"stored.npz", "deflated.npz", "version2.npz", "version3.npz"}) {
    auto data = open_data("npz:" + data_file(name), kInputs);
    ASSERT_TRUE(data.ok()) << data.status();
    ASSERT_EQ(data->train->count(), 4);
    EXPECT_EQ(read_rows<int32_t>(*data->train, "label", {0, 1, 2, 3}), (std::vector<int32_t>{3, 1, 0, 2}));
    const std::vector<float> image = read_rows<float>(*data->train, "image", {0, 1, 2, 3});
    for (int i = 0; i < 24; ++i) EXPECT_EQ(image[i], static_cast<float>(i) / 8);
  }
}

TEST(Npz, OtherTypes) {
  auto data = open_data(
      "npz:" + data_file("deflated.npz"),
      {{"w", plan::DType::f32, {}, 0, false}, {"b", plan::DType::i32, {}, 2, false}, {"u", plan::DType::i64, {}, 0, false}});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<float>(*data->train, "w", {0, 3}), (std::vector<float>{0, 3}));
  EXPECT_EQ(read_rows<int32_t>(*data->train, "b", {0, 1, 2, 3}), (std::vector<int32_t>{1, 0, 1, 1}));
  EXPECT_EQ(read_rows<int64_t>(*data->train, "u", {3}), std::vector<int64_t>{255});
}

// Arrays of kinds that are not read matter only if the model wants them.
TEST(Npz, OtherKindsAreLeftOut) {
  const std::string mixed = data_file("mixed.npz"), address = "npz:" + mixed;
  auto data = open_data(address, kInputs);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(read_rows<int32_t>(*data->train, "label", {0, 1, 2, 3}), (std::vector<int32_t>{3, 1, 0, 2}));
  const std::string words = mixed + ": array 'words': NumPy type '<U1'; supported: f4 f8 f2 u1 i1 b1 i4 i8";
  const std::string records =
      mixed + ": array 'records': NumPy type [('x', '<f4'), ('shape', '<i4')], a record; save its fields as arrays of their own";
  EXPECT_EQ(error_of(address, {floats("image", {2, 3}), classes("words", 4)}), words);
  EXPECT_EQ(error_of(address + "?label=records", kInputs), records);
  EXPECT_EQ(error_of(address, {floats("pixels", {9})}),
            address + ": no field for the model's input 'pixels' (9 f32); fields: image (2x3), label (scalar); left out: " + words +
                "; left out: " + records);
  // An optional input does without.
  auto optional = open_data(address, {floats("image", {2, 3}), {"words", plan::DType::i32, {}, 9, true}});
  EXPECT_TRUE(optional.ok()) << optional.status();
  EXPECT_EQ(read_npz(mixed).status().message(), words);
}

// As NumPy, which reads the arrays of an archive that holds other files, too.
TEST(Npz, OtherFilesAreLeftOut) {
  TempDir dir;
  const NpyArray array{plan::DType::f32, {2}, std::string(8, 'a')};
  std::string bytes = *npz_bytes({{"first", array}, {"read", array}, {"last", array}}, "x");
  const std::string entry = npy_bytes(array), name = "read.npy";
  std::string text = entry;
  text.replace(0, 6, "reader");  // no array any more
  const size_t data = bytes.find(name) + name.size();
  ASSERT_EQ(bytes.compare(data, entry.size(), entry), 0);
  bytes.replace(data, text.size(), text);
  const auto old_sum = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(entry.data()), static_cast<uInt>(entry.size())));
  const auto new_sum = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  for (size_t at : {bytes.find(name), bytes.rfind(name)}) {
    const size_t sum = bytes.rfind(std::string(reinterpret_cast<const char*>(&old_sum), 4), at);
    bytes.replace(sum, 4, reinterpret_cast<const char*>(&new_sum), 4);
    bytes.replace(at, name.size(), "read.txt");
  }
  auto back = read_npz(dir.write("x.npz", bytes));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].first, "first");
  EXPECT_EQ((*back)[1].first, "last");
}

TEST(Npz, OneArrayOfAName) {
  TempDir dir;
  const NpyArray array{plan::DType::f32, {2}, std::string(8, 'a')};
  EXPECT_EQ(read_npz(dir.write("x.npz", *npz_bytes({{"a", array}, {"b", array}, {"a", array}}, "x"))).status().message(),
            dir.file("x.npz") + ": two arrays are called 'a'");
}

TEST(Npz, Faults) {
  TempDir dir;
  const std::string good = contents_of(data_file("stored.npz"));
  EXPECT_EQ(error_of("npz:" + dir.file("none"), kInputs), dir.file("none") + ": No such file or directory");
  EXPECT_EQ(error_of("npz:" + dir.write("text", "1,2,3\n4,5,6\n7,8,9\n1,2,3\n"), kInputs),
            dir.file("text") + ": byte 0: this is not an NPZ (zip) file");
  EXPECT_EQ(error_of("npz:" + dir.write("cut", good.substr(0, 300)), kInputs),
            dir.file("cut") + ": byte 300: the archive ends early");
  std::string bad = good;
  bad[200] ^= 1;
  EXPECT_EQ(error_of("npz:" + dir.write("bad", bad), kInputs), dir.file("bad") + ": array 'image': the checksum is wrong");
  const std::string stored = data_file("stored.npz");
  EXPECT_EQ(error_of("npz:" + stored, {floats("image", {2, 3}), classes("label", 3)}),
            stored + ": array 'label', row 0: label 3 is outside the model's classes [0, 3)");
  EXPECT_EQ(error_of("npz:" + stored, {floats("image", {4}), classes("label", 4)}),
            "npz:" + stored + ": field 'image' has shape 2x3, the model's input 'image' wants 4");
  EXPECT_EQ(error_of("npz:" + stored, {floats("image", {2, 3}), classes("label", 4), floats("extra", {})}),
            "npz:" + stored + ": no field for the model's input 'extra' (scalar f32); fields: image (2x3), label (scalar)");
}

// fortran.npz: image = np.asfortranarray([[0, 3], [6, 9], [12, 15], [18, 21]]) / 8; bigendian.npz: that of stored.npz as >f4.
TEST(Npz, FortransOrderAndBigEndian) {
  auto fortran = open_data("npz:" + data_file("fortran.npz"), {floats("image", {2})});
  ASSERT_TRUE(fortran.ok()) << fortran.status();
  EXPECT_EQ(read_rows<float>(*fortran->train, "image", {0, 1, 2, 3}), (std::vector<float>{0, 0.375f, 0.75f, 1.125f, 1.5f, 1.875f, 2.25f, 2.625f}));
  auto big = open_data("npz:" + data_file("bigendian.npz"), kInputs);
  ASSERT_TRUE(big.ok()) << big.status();
  const std::vector<float> image = read_rows<float>(*big->train, "image", {0, 1, 2, 3});
  for (int i = 0; i < 24; ++i) EXPECT_EQ(image[i], static_cast<float>(i) / 8);
}

// Element (i, j, k) of a Fortran-ordered 2 x 3 x 2 array is the i + 2 j + 6 k-th of the file.
TEST(Npy, ThreeAxesInFortransOrderBigEndian) {
  std::string text = npy_bytes({plan::DType::i32, {2, 3, 2}, std::string(48, '\0')});
  text.replace(text.find("<i4"), 3, ">i4");
  text.replace(text.find("False"), 5, "True ");
  for (int i = 0; i < 12; ++i) text[text.size() - 48 + 4 * i + 2] = 1, text[text.size() - 48 + 4 * i + 3] = static_cast<char>(i);
  const auto array = parse_npy(text, "x");
  ASSERT_TRUE(array.ok()) << array.status();
  int32_t values[12];
  std::memcpy(values, array->bytes.data(), 48);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k) EXPECT_EQ(values[6 * i + 2 * j + k], 256 + i + 2 * j + 6 * k);
}

TEST(Npy, DamagedHeaders) {
  const NpyArray array{plan::DType::u8, {2, 2}, "abcd"};
  const std::string good = npy_bytes(array);
  ASSERT_TRUE(parse_npy(good, "x").ok());
  EXPECT_EQ(parse_npy(good, "x")->bytes, "abcd");
  EXPECT_EQ(parse_npy(good.substr(0, good.size() - 1), "x").status().message(), "x: byte 131: the array should end at byte 132");
  EXPECT_EQ(parse_npy(good.substr(0, 40), "x").status().message(), "x: byte 40: the NPY header ends early");
  EXPECT_EQ(parse_npy("hello, world", "x").status().message(), "x: byte 0: wrong magic, this is no NPY array");
  const auto with_shape = [&](const std::string& shape) {
    std::string text = good;
    text.replace(text.find("(2, 2), }"), 9 + shape.size() - 6, shape + ", }");
    return std::string(parse_npy(text, "x").status().message());
  };
  EXPECT_EQ(with_shape("(2, x)"), "x: the NPY header has a bad shape ' x'");
  EXPECT_EQ(with_shape("(-2, 2)"), "x: the NPY header has a bad shape '-2'");
  EXPECT_EQ(with_shape("(4000000000000000000, 4)"), "x: the NPY header has an impossible shape");
  EXPECT_EQ(with_shape("(0, 4000000000, 4000000000)"), "x: the NPY header has an impossible shape");
}

// Any cut or flipped bit gives an error or a data set, never more.
TEST(Npz, SurvivesDamage) {
  TempDir dir;
  const std::string good = contents_of(data_file("deflated.npz"));
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    (void)read_npz(dir.write("bad", bad));
    (void)read_npz(dir.write("cut", good.substr(0, i)));
  }
}

// A zip64 locator in a file too short for what it points to.
TEST(Npz, ShortZip64) {
  TempDir dir;
  const std::string locator = std::string("PK\3\4") + "PK\6\7" + std::string(16, '\x7f') + "PK\5\6" + std::string(18, '\0');
  EXPECT_EQ(read_npz(dir.write("y", locator)).status().message(), dir.file("y") + ": the zip64 directory is damaged");
}

TEST(Npz, NoArrays) {
  TempDir dir;
  auto back = read_npz(dir.write("x.npz", *npz_bytes({}, "x")));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(back->empty());
}

// What could not be read again is not written.
TEST(Npz, NamesThatDoNotFit) {
  const NpyArray array{plan::DType::u8, {1}, "a"};
  const auto error = [&](const std::string& name) { return std::string(npz_bytes({{name, array}}, "x.npz").status().message()); };
  EXPECT_EQ(error(std::string(70000, 'k')),
            "x.npz: the name '" + std::string(60, 'k') + "...' has 70000 bytes: an .npz file takes at most 65531");
  EXPECT_EQ(error("a\xff"), "x.npz: the name 'a\\xff' is no UTF-8");
  TempDir dir;
  const std::string longest(65531, 'k');
  auto back = read_npz(dir.write("x.npz", *npz_bytes({{longest, array}}, "x")));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)[0].first, longest);
  EXPECT_EQ(npz_bytes(std::vector<std::pair<std::string, NpyArray>>(65535, {"a", array}), "x").status().message(),
            "x: 65535 arrays: an .npz file holds at most 65534");
}

TEST(Npz, WritesTheSameBytesAgain) {
  TempDir dir;
  const std::vector<std::pair<std::string, NpyArray>> arrays = {{"p", {plan::DType::f32, {1, 2}, std::string(8, 'a')}},
                                                                {"s", {plan::DType::i64, {1}, std::string(8, 'b')}}};
  const std::string bytes = *npz_bytes(arrays, "x");
  EXPECT_EQ(bytes, *npz_bytes(arrays, "x"));
  auto back = read_npz(dir.write("x.npz", bytes));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].first, "p");
  EXPECT_EQ((*back)[0].second.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((*back)[1].second.bytes, std::string(8, 'b'));
}

}  // namespace
}  // namespace mxc::io
