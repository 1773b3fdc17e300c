"""Tensors as shapes: rectangles for matrices, a cube for the weight of a Tucker layer."""

from pictures.svg import BLUE, GREEN, GREY, ORANGE, PINK, Drawing, Figure


def two_weights(inputs: int, middle: int, outputs: int) -> Figure:
    """Draw W2 and W1 and their product as rectangles, to scale."""
    drawing = Drawing(height=250)
    unit = 130 / max(inputs, middle, outputs)
    sizes = {"W₂": (outputs, middle, BLUE), "W₁": (middle, inputs, GREEN), "W₂ W₁": (outputs, inputs, ORANGE)}
    x = 60.0
    for at, (name, (rows, columns, colour)) in enumerate(sizes.items()):
        width, height = max(columns * unit, 3), max(rows * unit, 3)
        drawing.rect(x, 120 - height / 2, width, height, colour)
        drawing.text(x + width / 2, 215, f"{name}: {rows} × {columns}", at="middle")
        drawing.text(x + width / 2, 236, f"{rows * columns:,} numbers", at="middle", small=True)
        x += max(width, 110) + 60
        if at < 2:
            drawing.text(x - 34, 125, "×="[at], at="middle", bold=True)
    drawing.text(20, 28, f"Two sums through {middle} units, and the one that replaces them", bold=True)
    two, one = middle * (inputs + outputs), inputs * outputs
    return drawing.figure(
        f"W2 has {outputs} x {middle} numbers and W1 {middle} x {inputs}, {two:,} in all; W2 W1 has {one:,}."
    )


def tucker_core(inputs: int, outputs: int) -> Figure:
    """Draw the weight of a Tucker layer as a cube, with one vector along each of two edges."""
    drawing = Drawing(height=320)
    x, y, side, depth = 250, 90, 140, 60
    drawing.text(20, 28, "Tucker: a cube of weights, multiplied by a vector from two sides", bold=True)
    drawing.polygon([(x, y), (x + depth, y - depth / 2), (x + depth + side, y - depth / 2), (x + side, y)], GREEN)
    drawing.polygon(
        [
            (x + side, y),
            (x + side + depth, y - depth / 2),
            (x + side + depth, y - depth / 2 + side),
            (x + side, y + side),
        ],
        GREEN,
    )
    drawing.rect(x, y, side, side, GREEN)
    for cut in range(1, inputs):
        step = side * cut / inputs
        drawing.line([(x + step, y), (x + step, y + side)], GREEN, width=0.8)
        drawing.line([(x, y + step), (x + side, y + step)], GREEN, width=0.8)
        drawing.rect(x - 60, y + side * (cut - 1) / inputs, 20, side / inputs, BLUE)
        drawing.rect(x + side * (cut - 1) / inputs, y + side + 30, side / inputs, 20, PINK)
    drawing.rect(x - 60, y + side * (inputs - 1) / inputs, 20, side / inputs, BLUE)
    drawing.rect(x + side * (inputs - 1) / inputs, y + side + 30, side / inputs, 20, PINK)
    drawing.text(x - 68, y + side / 2 + 5, f"a: {inputs} units", at="end")
    drawing.text(x + side / 2, y + side + 70, f"b: {inputs} units", at="middle")
    drawing.text(x + side + depth + 12, y + 20, f"depth: {outputs} outputs")
    drawing.text(x + side + depth + 12, y + 44, "one sheet of weights per output o:")
    drawing.text(x + side + depth + 12, y + 68, "y[o] = Σ W[o, i, j] a[i] b[j]")
    return drawing.figure(
        f"A cube of {outputs} sheets of {inputs} x {inputs} weights. The vector a multiplies its rows, b its columns; "
        "each sheet yields one output."
    )


def exponentials(inputs: int, outputs: int) -> Figure:
    """Draw which numbers go through exp and log when a sum over a Kronecker product is computed on logarithms."""
    drawing = Drawing(height=240)
    drawing.text(20, 28, "Exponentials and logarithms of one example", bold=True)
    rows = (
        (
            "Kronecker, then sum",
            f"{inputs}² = {inputs**2} products",
            inputs**2,
            "added as logarithms, then exp of each",
        ),
        ("Tucker", f"2 · {inputs} = {2 * inputs} units", 2 * inputs, "exp of each unit, then multiplied"),
    )
    said = []
    for at, (name, what, count, how) in enumerate(rows):
        y = 56 + 88 * at
        drawing.text(20, y + 14, name, bold=True)
        for one in range(count):
            drawing.rect(190 + 11 * (one % 18), y + 11 * (one // 18), 10, 10, ORANGE)
        drawing.text(396, y + 18, "exp →", bold=True)
        drawing.text(446, y + 18, "W ·")
        drawing.text(480, y + 18, "→ log", bold=True)
        for one in range(outputs):
            drawing.rect(534 + 11 * one, y + 8, 10, 10, BLUE)
        total = f"{count} exp + {outputs} log = {count + outputs}"
        drawing.text(740, y + 18, total, at="end", bold=True)
        drawing.text(190, y + 48, f"{what}: {how}", small=True)
        said.append(f"{name}: {total}")
    return drawing.figure("; ".join(said) + ".")


def kronecker_product(P: int, J: int, R: int, Q: int) -> Figure:
    """Draw Y = A X Bᵀ: X between A and B transposed, all as rectangles to scale."""
    drawing = Drawing(height=270)
    drawing.text(20, 28, "x as a matrix X, between A and Bᵀ", bold=True)
    unit = 24
    parts = (("A", P, J, BLUE), ("X", J, Q, GREY), ("Bᵀ", Q, R, GREEN), ("Y", P, R, ORANGE))
    x = 60.0
    for at, (name, rows, columns, colour) in enumerate(parts):
        top = 130 - rows * unit / 2
        for row in range(rows):
            for column in range(columns):
                drawing.rect(x + unit * column, top + unit * row, unit, unit, colour)
        drawing.text(x + unit * columns / 2, 222, f"{name}: {rows} × {columns}", at="middle")
        x += unit * columns + 70
        if at < 3:
            drawing.text(x - 37, 135, "··="[at], at="middle", bold=True)
    one, two = P * R * J * Q, P * J * Q + P * R * Q
    words = (
        f"A ⊗ B has {P * R} × {J * Q} entries: {one} multiplications. In two steps: {P * J * Q} + {P * R * Q} = {two}."
    )
    drawing.text(20, 256, words)
    return drawing.figure(f"A is {P} x {J}, X {J} x {Q}, B transposed {Q} x {R}, Y {P} x {R}. {words}")
