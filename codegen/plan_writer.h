// PlanWriter: collects the records of a Plan and writes the blob that plan.h specifies.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/plan.h"

namespace mxc::codegen {

class PlanWriter {
 public:
  PlanWriter() { text_.push_back('\0'); }

  // The offset of a string in the string section; equal strings are stored once.
  uint32_t string(std::string_view text);
  void fact(std::string_view key, std::string_view value) { facts.push_back({string(key), string(value)}); }

  // The blob. All tables are aligned; the same records give the same bytes.
  std::string write() const;

  std::vector<plan::Fact> facts;
  std::vector<plan::Device> devices;
  std::vector<plan::Buffer> buffers;
  std::vector<plan::Hyper> hypers;
  std::vector<plan::Arg> args;
  std::vector<uint32_t> deps;
  std::vector<plan::Step> steps;
  std::vector<plan::Item> items;
  std::vector<plan::Carried> carried;
  std::vector<plan::Block> blocks;
  std::vector<plan::Binding> bindings;
  std::vector<plan::Graph> graphs;
  std::vector<uint32_t> parameters;
  std::vector<plan::Binding> optimizerSlots;
  uint64_t trainableCount = 0;

 private:
  std::string text_;
  std::map<std::string, uint32_t, std::less<>> known_;
};

}  // namespace mxc::codegen
