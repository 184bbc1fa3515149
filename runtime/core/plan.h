// The Plan: the one contract between the compiler, which writes it, and the runtime, which runs it.
//
// A Plan is a blob of fixed-size little-endian records in tables, found by offsets in the header; strings are NUL-terminated
// in one string section and referred to by byte offset (offset 0 is the empty string). The blob is position independent,
// is embedded as read-only data, and is never modified. Tests build one by hand with the same records.
//
// Shape: a Program has devices, buffers, hyper-parameters and several graphs (init, train, eval, infer, user graphs) that share
// parameters and one arena per device. A graph is a tree of blocks; a block is an ordered list of items, each a step or a
// nested block; a loop block repeats its items. Address of a step's argument =
//     base(space, device) + buffer.offset + sum over enclosing loops of iteration * argument.stride (innermost loop only).
//
// Run-time batch: everything is planned for the compiled batch N. A graph runs with any 1 <= n <= N. An axis that carries the
// batch has extent n * batch_unit at run time; strides stay those of N. Grids shrink with n as `Step` says.
#pragma once

#include <stdint.h>

namespace mxc::plan {

constexpr uint32_t kMagic = 0x5043584d;  // "MXCP"
constexpr uint32_t kVersion = 2;
constexpr int kMaxRank = 8;
constexpr uint32_t kNone = 0xffffffffu;  // "no such index"
constexpr uint64_t kAlign = 64;          // bytes; every offset and base address is a multiple of it

enum class DType : uint8_t { f32, f64, f16, bf16, i8, u8, i32, i64, boolean };
enum class DeviceKind : uint8_t { cpu, cuda };

// Where a buffer lies.
enum class Space : uint8_t {
  arena,       // planned: offset in the device's arena, shared with other buffers whose lifetimes do not overlap
  persistent,  // parameters, optimizer and layer state, hyper-parameters: lives as long as the program
  io,          // inputs and outputs of graphs; the caller may bind his own memory, the default lies at `offset` of the io area
};

enum class Role : uint8_t { parameter, gradient, state, hyper, input, output, activation, scratch };

// A tensor in memory. `dims` are logical extents (with the compiled batch N).
// Physical layout: logical axes in the order `order[0..rank)`, outermost first; if block_axis >= 0 that axis is split: its
// place in `order` counts blocks of `block` elements (rounded up), and the block's elements lie innermost.
// bytes = product of the physical extents * element size. The values of padding elements are unspecified, except that
// padding of `persistent` buffers is zero.
struct Buffer {
  uint32_t name;           // "conv2d0.weight"; activations: name of the value
  uint32_t location;       // "lenet.cpp:11:40" or empty
  Role role;
  DType dtype;
  Space space;
  uint8_t rank;
  int8_t batch_axis;       // -1: none
  int8_t block_axis;       // -1: plain
  uint16_t device;         // index into devices
  int32_t block;           // elements in a block; 0 if plain
  int32_t order[kMaxRank];
  int64_t batch_unit;      // extent of the batch axis = n * batch_unit; 0 if there is none
  int64_t dims[kMaxRank];
  uint64_t offset;         // bytes from the base of its space
  uint64_t bytes;
  int64_t upper_bound;     // integer inputs: values must lie in [0, upper_bound); 0: unchecked
};

struct Device {
  DeviceKind kind;
  uint8_t reserved[3];
  uint32_t index;            // CUDA ordinal
  uint64_t arena_bytes;      // the largest over all graphs
  uint64_t persistent_bytes;
  uint64_t io_bytes;
};

// A scalar buffer that the host writes before a run: "lr", "momentum", "weight_decay", "step", "seed", "loss_scale", ...
struct Hyper {
  uint32_t name;
  uint32_t buffer;
  double default_value;
};

enum class Access : uint8_t { read, write, read_write };

struct Arg {
  uint32_t buffer;
  Access access;
  uint8_t reserved[3];
  int64_t stride;  // bytes added per iteration of the innermost enclosing loop block; 0 outside loops
};

enum class StepKind : uint8_t { cpu_kernel, gpu_kernel, library_call, copy, communication };
enum class Lane : uint8_t { compute, copy, network, io };

// One kernel invocation. The kernel is called as
//     kernel(addresses of the arguments, n, begin, end)   for any partition of [0, grid(n)) into ranges,
// in any order and on any threads at once: results do not depend on the partition.
//     grid(n) = grid_cells                                            if grid_batch_unit == 0
//             = grid_cells * ceil(n * grid_batch_unit / grid_batch_tile)   otherwise
// `copy` steps copy args[0] to args[1] (same bytes) and have no kernel.
struct Step {
  uint32_t name;        // "conv2d0+tanh0"
  uint32_t location;
  StepKind kind;
  Lane lane;
  uint16_t device;
  int32_t priority;     // larger first among steps that are ready
  uint32_t kernel;      // index into the program's kernel table; kNone for copies
  uint32_t first_arg, arg_count;
  uint32_t first_dep, dep_count;  // into `deps`: steps of the same block that must have ended, memory reuse included
  int64_t grid_cells;
  int64_t grid_batch_unit;
  int64_t grid_batch_tile;
  int64_t flops;        // useful arithmetic at the compiled batch, for reports; 0 if not counted
};

enum class ItemKind : uint32_t { step, block };
struct Item {
  ItemKind kind;
  uint32_t index;
};

enum class BlockKind : uint8_t { sequence, loop };

// At the end of each iteration of a loop, each carried pair copies buffer `from` to buffer `to`.
struct Carried {
  uint32_t from, to;
};

struct Block {
  BlockKind kind;
  uint8_t reserved[3];
  uint32_t first_item, item_count;
  uint32_t trip_buffer;   // an i64 scalar buffer read when the loop starts, or kNone
  int64_t trip_count;     // used if trip_buffer == kNone
  uint32_t first_carried, carried_count;
};

enum class GraphKind : uint8_t { init, train, eval, infer, update, user };
enum class OutputKind : uint8_t { loss, metric, output, parameter, state, gradient };

// A named binding of a graph to a buffer. Inputs: `kind` is unused.
// Losses and metrics are scalars averaged over the n samples of the run. A gradient bears the name of the parameter or input that it is
// taken with respect to, and has its shape and layout. It is that of the loss; of a graph without a loss, that of the sum of all products
// of an output's elements with those of the input "<output>.head_gradient".
struct Binding {
  uint32_t name;
  uint32_t buffer;
  OutputKind kind;
  uint8_t reserved[3];
};

struct Graph {
  uint32_t name;
  GraphKind kind;
  uint8_t reserved[3];
  uint32_t block;                         // the root, a sequence
  uint32_t first_input, input_count;      // into `bindings`
  uint32_t first_output, output_count;    // into `bindings`
  // Where backward begins, as a position in the root block: the items before it make all results but gradients, those from it on make
  // gradients alone, and none before it reads a head gradient. So the two parts can be run apart, one after the other. (New state is an
  // exception where backward still reads the old one: then it is written behind that.) kNone: the graph has no gradients.
  uint32_t backward_item = kNone;
  int64_t batch;                          // compiled N; 0 if the graph has no batch axis
  uint64_t arena_bytes;                   // of device 0, this graph alone
};

// Facts for people and for checks: "model", "source", "target", "optimizer", "dtype", "hash", "compiler", ...
struct Fact {
  uint32_t key, value;
};

struct Table {
  uint64_t offset;  // bytes from the start of the blob
  uint64_t count;   // records (bytes for `strings`)
};

struct Header {
  uint32_t magic, version;
  uint64_t bytes;  // of the whole blob
  Table strings, facts, devices, buffers, hypers, args, deps /* uint32_t */, steps, items, carried, blocks, bindings, graphs;
  // `optimizer_slots`: bindings of persistent state buffers that belong to the optimizer ("conv2d0.weight/momentum").
  Table parameters /* uint32_t: buffer ids, trainable ones first, in model order */, optimizer_slots;
  uint64_t trainable_count;
};

// Kernels decode [begin, end) themselves; `args` follows the step's arguments in order.
using Kernel = void (*)(void* const* args, int64_t n, int64_t begin, int64_t end);

// What the compiler links into a binary, under the C symbol `mxc_program`; in a program with a main of the user's own, where there may be
// several, `mxc_program_<model>`.
//
// Such a program has a graph of kind `user` named "forward_backward" for each model: from the inputs of training (of inference, if the
// model has no loss) and head gradients to the loss, each report, each output as training computes it, new layer state, and gradients of
// all trainable parameters and of those inputs that ask for one. It has no optimizer.
struct Program {
  const void* plan;     // the blob, kAlign-aligned
  uint64_t plan_bytes;
  const Kernel* kernels;
  uint64_t kernel_count;
};

// What the compiler links into an embedded library as `mxc_embed_library` for runtime/embed. Graphs: inference; if it trains, training behind it.
// Then persistent memory holds, in this order: what contexts share; what training changes; behind the image: optimizer slots; hyper-parameters.
struct Library {
  Program program;
  const void* weights;      // image of the persistent area, kAlign-aligned; null: whoever uses the library brings a weight file
  uint64_t weights_layout;  // a number for the names, types and places of all that lies in the persistent area
  uint64_t build;           // the number that the library's header states, too
};

}  // namespace mxc::plan
