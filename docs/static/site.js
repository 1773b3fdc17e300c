/* Code that is wider than its box scrolls by keyboard, too. */
addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll("pre")) code.tabIndex = 0;
});

/* The folds of a lesson: one button opens or closes all, and all are open in print. */
addEventListener("DOMContentLoaded", () => {
  const folds = [...document.querySelectorAll("details.fold")];
  const title = document.querySelector("article h1");
  if (!folds.length || !title) return;
  const button = Object.assign(document.createElement("button"), { type: "button", className: "all" });
  const name = () => {
    button.textContent = folds.every((one) => one.open) ? "Close all" : "Open all";
  };
  button.addEventListener("click", () => {
    const open = folds.some((one) => !one.open);
    for (const one of folds) one.open = open;
  });
  for (const one of folds) one.addEventListener("toggle", name);
  name();
  title.after(button);
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds.filter((one) => !one.open);
    for (const one of closed) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
  });
});
