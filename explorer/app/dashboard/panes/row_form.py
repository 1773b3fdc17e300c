"""The form of a row: a field for each variable, or one line of text where there are many."""

from collections.abc import Callable

import panel_material_ui as pmui

from explorer.app.dashboard.panes.layout import column, line
from explorer.app.queries.named_variables import MAX_SHOWN, UNKNOWN, UNREAD, Evidence, Variables

FREE = "not observed"
"""The choice of a categorical variable that is not observed."""
WIDTH = 150


class RowForm:
    """What is observed of a row, by name of the variable; an empty field is not observed."""

    def __init__(self, on_enter: Callable[[], object]) -> None:
        self._on_enter = on_enter
        self._variables = Variables(0)
        self.fields: list[pmui.TextInput | pmui.Select] = []
        self.text = pmui.TextInput(
            label=f"Row: a value or {UNKNOWN} for each variable", size="small", sizing_mode="stretch_width"
        )
        self.view = column()

    def fill(self, variables: Variables) -> None:
        """Ask for values of these variables, of which none is observed."""
        self._variables = variables
        self.fields = [self._field(v) for v in range(variables.count)] if variables.count <= MAX_SHOWN else []
        self.text.value = ", ".join([UNKNOWN] * variables.count)
        self.view[:] = [line(*self.fields) if self.fields else self.text]

    def follow(self, variables: Variables) -> None:
        """Ask for values of other variables; an entry stays if it is one of the variable of that name."""
        if variables == self._variables:
            return
        typed = dict(zip(self._variables.names, self._entries(), strict=False))
        self.fill(variables)
        kept = [typed.get(name, "") for name in variables.names]
        kept = [entry if variables.fits(v, entry) else "" for v, entry in enumerate(kept)]
        for field, entry in zip(self.fields, kept, strict=False):
            field.value = entry
        self.text.value = ", ".join(entry or UNKNOWN for entry in kept)

    def read(self) -> Evidence:
        """What is observed. Raises: FormError, and the errors of `Variables.read`."""
        return self._variables.read(self._entries()) if self.fields else self._variables.parse(str(self.text.value))

    def _entries(self) -> list[str]:
        """What was typed for each variable."""
        if not self.fields:
            return [entry.strip() for entry in str(self.text.value).replace(";", ",").split(",")]
        return [str(field.value or "").strip() for field in self.fields]

    def _field(self, variable: int) -> pmui.TextInput | pmui.Select:
        name, labels = self._variables.names[variable], self._variables.labels(variable)
        sizes = {"size": "small", "width": WIDTH, "label": name}
        if variable in self._variables.unread:
            return pmui.TextInput(placeholder=UNREAD, disabled=True, **sizes)
        if labels:
            return pmui.Select(options={FREE: "", **{label: label for label in labels}}, value="", **sizes)
        hint = self._variables.hint(variable)
        field = pmui.TextInput(placeholder=f"{hint}, or empty" if hint else "empty: not observed", **sizes)
        field.param.watch(lambda _: self._on_enter(), "enter_pressed")
        return field
