// node wasm.mjs LIBRARY.wasm INPUT OUTPUT N: what predict.c does, in JavaScript. Sizes are given by the test, which has read the header.
import fs from "node:fs";

const [file, input, output, batch, arenaBytes, pixels, classes] = process.argv.slice(2);
const n = Number(batch);
const { instance } = await WebAssembly.instantiate(fs.readFileSync(file), {});
const lenet = instance.exports;
let top = (lenet.__heap_base.value + 63) & ~63;
const take = (bytes) => {
  const at = top;
  top = (top + bytes + 63) & ~63;
  const missing = top - lenet.memory.buffer.byteLength;
  if (missing > 0) lenet.memory.grow(Math.ceil(missing / 65536));
  return at;
};
const text = (at) => {
  const bytes = new Uint8Array(lenet.memory.buffer);
  return Buffer.from(bytes.subarray(at, bytes.indexOf(0, at))).toString();
};
const ok = (status) => {
  if (status !== 0) throw new Error(text(lenet.lenet_status_text(status)));
};

const images = fs.readFileSync(input), sample = Number(pixels) * 4, samples = images.length / sample, result = Number(classes) * 4;
const arena = take(Number(arenaBytes)), context = take(4), inputs = take(4), outputs = take(4);
const image = take(sample * n), probability = take(result * n);
console.log(text(lenet.lenet_status_text(lenet.lenet_open(arena + 4, Number(arenaBytes), lenet.lenet_build(), context))));
ok(lenet.lenet_open(arena, Number(arenaBytes), lenet.lenet_build(), context));
const words = new Uint32Array(lenet.memory.buffer), bytes = new Uint8Array(lenet.memory.buffer);
words[inputs / 4] = image;
words[outputs / 4] = probability;
const results = [];
for (let i = 0; i < samples; i += n) {
  const now = Math.min(n, samples - i);
  bytes.set(images.subarray(i * sample, (i + now) * sample), image);
  ok(lenet.lenet_run(words[context / 4], inputs, outputs, BigInt(now)));
  results.push(Buffer.from(bytes.slice(probability, probability + now * result)));
}
fs.writeFileSync(output, Buffer.concat(results));
