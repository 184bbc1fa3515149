// The blob: the header, then the tables in the header's order, each aligned.
#include "codegen/plan_writer.h"

namespace mxc::codegen {

uint32_t PlanWriter::string(std::string_view text) {
  if (text.empty()) return 0;
  auto it = known_.find(text);
  if (it != known_.end()) return it->second;
  uint32_t offset = text_.size();
  text_.append(text).push_back('\0');
  known_.emplace(text, offset);
  return offset;
}

std::string PlanWriter::write() const {
  plan::Header header = {};
  header.magic = plan::kMagic;
  header.version = plan::kVersion;
  header.trainable_count = trainableCount;
  std::string blob(sizeof header, '\0');
  auto append = [&](plan::Table& table, const void* data, size_t count, size_t size) {
    blob.resize((blob.size() + plan::kAlign - 1) / plan::kAlign * plan::kAlign, '\0');
    table = {blob.size(), count};
    if (count != 0) blob.append(static_cast<const char*>(data), count * size);
  };
  auto records = [&](plan::Table& table, const auto& list) { append(table, list.data(), list.size(), sizeof(list[0])); };
  append(header.strings, text_.data(), text_.size(), 1);
  records(header.facts, facts);
  records(header.devices, devices);
  records(header.buffers, buffers);
  records(header.hypers, hypers);
  records(header.args, args);
  records(header.deps, deps);
  records(header.steps, steps);
  records(header.items, items);
  records(header.carried, carried);
  records(header.blocks, blocks);
  records(header.bindings, bindings);
  records(header.graphs, graphs);
  records(header.parameters, parameters);
  records(header.optimizer_slots, optimizerSlots);
  header.bytes = blob.size();
  std::memcpy(blob.data(), &header, sizeof header);
  return blob;
}

}  // namespace mxc::codegen
