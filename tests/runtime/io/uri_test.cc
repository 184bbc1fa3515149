#include "runtime/io/uri.h"

#include <gtest/gtest.h>

namespace mxc::io {
namespace {

TEST(Uri, TakesApart) {
  const auto uri = parse_uri("csv:dir/a%3Fb.csv?label=64&image=0-63&scale=1e%2B1");
  ASSERT_TRUE(uri.ok());
  EXPECT_EQ(uri->scheme, "csv");
  EXPECT_EQ(uri->path, "dir/a?b.csv");
  ASSERT_NE(uri->find("image"), nullptr);
  EXPECT_EQ(*uri->find("image"), "0-63");
  EXPECT_EQ(*uri->find("scale"), "1e+1");
  EXPECT_EQ(uri->find("nothing"), nullptr);
}

TEST(Uri, Faults) {
  const auto error = [](const std::string& text) { return std::string(parse_uri(text).status().message()); };
  EXPECT_EQ(error("digits.csv"), "digits.csv: a data source is written SCHEME:PATH, for example mnist:DIR or csv:FILE?label=64");
  EXPECT_EQ(error("csv:"), "csv:: the path is empty");
  EXPECT_EQ(error("csv:f?label"), "csv:f?label: 'label' is not of the form key=value");
  EXPECT_EQ(error("csv:f?a=1&a=2"), "csv:f?a=1&a=2: 'a' is given twice");
  EXPECT_EQ(error("csv:f%2"), "csv:f%2: '%' must be followed by two hexadecimal digits");
}

}  // namespace
}  // namespace mxc::io
