// examples/autoencoder/autoencoder.cpp: pictures of digits through a bottleneck of eight numbers and back.
//
//   ./autoencoder train --data 'csv:examples/data/digits.csv.gz?image=0-63&scale=16&holdout=0.2' --epochs 40
#include <mxc/mxc.h>
using namespace mxc;

MXC_MODEL(autoencoder) {
  Symbol image = input("image", {batch(32), 64});

  Symbol code = dense(relu(dense(image, {.units = 48})), {.units = 8});
  Symbol restored = sigmoid(dense(relu(dense(code, {.units = 48})), {.units = 64}));

  minimize(mse_loss(restored, image));
  report("error", l1_loss(restored, image));  // of a pixel
  output("code", code);
  output("restored", restored);
  optimizer(adam{.lr = 0.003});
}
