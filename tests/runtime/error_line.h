// What an error says, and of which line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "mxc/error.h"

namespace mxc {

// A message without the place of the call whose operation failed when it ran.
inline std::string without_call(const std::string& message) { return message.substr(0, message.rfind(" (called at ")); }

// `call` throws this message (without_call), and names the line on which this stands.
template <typename Call>
void expect_here(Call call, const std::string& message, Here here = Here::current()) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown at line " << here.line();
  } catch (const Error& error) {
    EXPECT_EQ(without_call(error.message), message);
    EXPECT_EQ(error.where.line(), here.line()) << message;
    EXPECT_STREQ(error.where.file_name(), here.file_name()) << message;
  }
}

}  // namespace mxc
