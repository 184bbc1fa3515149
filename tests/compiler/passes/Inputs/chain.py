"""A function with a chain of so many elementwise operations."""
import sys

count = int(sys.argv[1])
print("func.func @chain(%x0: tensor<8x16xf32>) -> tensor<8x16xf32> {")
for i in range(count):
    print(f"  %x{i + 1} = mx.{'tanh' if i % 2 else 'relu'} %x{i} : (tensor<8x16xf32>) -> tensor<8x16xf32>")
print(f"  return %x{count} : tensor<8x16xf32>\n}}")
