"""Models as textbooks draw them."""

from pictures.svg import BLUE, GREY, Drawing, Figure

RADIUS = 22


def hidden_markov_model(steps: int) -> Figure:
    """Draw hidden states in a row, each with the observed variable below it."""
    drawing = Drawing(height=200)
    gap = (drawing.width - 160) / (steps - 1)
    for step in range(steps):
        x = 90 + gap * step
        if step:
            drawing.line([(x - gap + RADIUS, 60), (x - RADIUS - 2, 60)], arrow=True)
        drawing.line([(x, 60 + RADIUS), (x, 140 - RADIUS - 2)], arrow=True)
        drawing.circle(x, 60, RADIUS, GREY)
        drawing.text(x, 65, f"Z{step}", at="middle")
        drawing.circle(x, 140, RADIUS, BLUE)
        drawing.text(x, 145, f"X{step}", at="middle")
    drawing.text(90 + gap / 2, 50, "transition", at="middle", small=True)
    drawing.text(98, 105, "emission", small=True)
    drawing.text(20, 190, "Z: hidden states, never observed. X: observed variables.", small=True)
    return drawing.figure(
        f"A hidden Markov model: {steps} hidden states in a row, each leading to the next by a transition, "
        "and each to its observed variable by an emission."
    )
