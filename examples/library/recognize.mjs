// examples/library/recognize.mjs: a trained model in JavaScript, as WebAssembly; a browser does the same but for the files.
//
//   node recognize.mjs digits.wasm digits_wasm.h PICTURES PROBABILITIES N
//
// Float32 numbers, 64 a picture in and 10 a picture out; N pictures a run. Sizes are read from the library's header.
import fs from "node:fs";

const [wasm, headerFile, source, target, samples] = process.argv.slice(2);
const header = fs.readFileSync(headerFile, "utf8");
const constant = (name) => Number(header.match(new RegExp(`#define DIGITS_${name} +(\\d+)`))[1]);
const n = Number(samples), picture = constant("INPUT_IMAGE_ELEMENTS"), answer = constant("OUTPUT_PROBABILITY_ELEMENTS");

const { instance } = await WebAssembly.instantiate(fs.readFileSync(wasm), {});
const digits = instance.exports;

// The memory behind the module's own is ours: everything is taken once, at the start.
let top = digits.__heap_base.value;
const take = (bytes) => {
  const at = Math.ceil(top / 64) * 64;
  top = at + bytes;
  const missing = top - digits.memory.buffer.byteLength;
  if (missing > 0) digits.memory.grow(Math.ceil(missing / 65536));
  return at;
};
const arena = take(constant("ARENA_BYTES")), context = take(4), inputs = take(4), outputs = take(4);
const image = take(n * picture * 4), probability = take(n * answer * 4);

const check = (status) => {
  if (status === 0) return;
  const bytes = new Uint8Array(digits.memory.buffer, digits.digits_status_text(status));
  throw new Error(new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0))));
};
check(digits.digits_open(arena, constant("ARENA_BYTES"), digits.digits_build(), context));
const words = new Uint32Array(digits.memory.buffer), floats = new Float32Array(digits.memory.buffer);
words[inputs / 4] = image;
words[outputs / 4] = probability;

const file = fs.readFileSync(source);
const pictures = new Float32Array(file.buffer, file.byteOffset, file.length / 4), results = [];
for (let at = 0; at < pictures.length; at += n * picture) {
  const some = pictures.subarray(at, at + n * picture), count = some.length / picture;
  floats.set(some, image / 4);
  check(digits.digits_run(words[context / 4], inputs, outputs, BigInt(count)));
  results.push(Buffer.from(floats.slice(probability / 4, probability / 4 + count * answer).buffer));
}
fs.writeFileSync(target, Buffer.concat(results));
