"""The arrays of two networks in the order in which forward uses them, as (elements, multiplications of the layer at one picture)."""


def resnet50():
    """161 arrays, 25.6 million elements (arXiv 1512.03385, with batch norm)."""
    def conv(inputs, outputs, kernel, side):
        elements = inputs * outputs * kernel**2
        return [(elements, elements * side**2), (outputs, 0), (outputs, 0)]  # batch norm's gamma and beta
    arrays = conv(3, 64, 7, 112)
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width, side = 64 << stage, 56 >> stage
        for block in range(blocks):
            arrays += conv(inputs, width, 1, side) + conv(width, width, 3, side) + conv(width, 4 * width, 1, side)
            if block == 0:
                arrays += conv(inputs, 4 * width, 1, side)
            inputs = 4 * width
    return arrays + [(2048 * 1000, 2048 * 1000), (1000, 0)]


def vgg16():
    """32 arrays, 138 million elements (arXiv 1409.1556)."""
    arrays, inputs = [], 3
    for stage, layers in enumerate((2, 2, 3, 3, 3)):
        outputs, side = min(64 << stage, 512), 224 >> stage
        for _ in range(layers):
            arrays += [(inputs * outputs * 9, inputs * outputs * 9 * side**2), (outputs, 0)]
            inputs = outputs
    for inputs, outputs in ((512 * 49, 4096), (4096, 4096), (4096, 1000)):
        arrays += [(inputs * outputs, inputs * outputs), (outputs, 0)]
    return arrays
