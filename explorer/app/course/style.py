"""The style of the course's pages, the font of their formulas, and a small script that opens folds, also in print."""

import base64
from functools import cache
from pathlib import Path

MATH_FONT = Path(__file__).parent / "fonts" / "noto-sans-math.woff2"
FONT_POLICY = "; font-src data:"
"""Lets a page use the font that it contains."""

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#16191d;--muted:#565d66;--line:#d5d9df;--soft:#f4f6f8;
--link:#0a5fb4;--note:#fff7e0;--column:50rem}
@media (prefers-color-scheme:dark){:root{--bg:#0f1216;--fg:#eceef1;--muted:#a9b1bb;--line:#3a414b;
--soft:#191d23;--link:#7cc0ff;--note:#2b2412}}
*{box-sizing:border-box}
html{background:var(--bg);color:var(--fg);scroll-padding-top:1rem}
body{margin:0 auto;padding:1rem 1.2rem 4rem;max-width:calc(var(--column) + 2.4rem);
font:17px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
main{min-width:0}
h1{font-size:1.9rem;line-height:1.25;margin:1.2rem 0 .8rem}
h2{font-size:1.35rem;line-height:1.3;margin:2.2rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.6rem 0 .4rem}
a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;font-size:.92rem}
nav a{display:inline-block;padding:.2rem 0}
.contents{display:block;margin:1rem 0;padding:.6rem .9rem;border:1px solid var(--line);border-radius:6px}
.contents ol{list-style:none;margin:0;padding:0;columns:2 16rem}
.contents a{color:inherit;text-decoration:none}
.contents a:hover{text-decoration:underline}
.contents .part{padding-left:1rem}
@media (min-width:88rem){body{position:relative}
.contents{position:fixed;top:1rem;left:max(1rem,calc(50vw - var(--column)/2 - 17rem));width:14.5rem;
max-height:calc(100vh - 2rem);overflow-y:auto;border-width:0 1px 0 0;border-radius:0}
.contents ol{columns:auto}}
button.all{font:inherit;font-size:.92rem;padding:.2rem .8rem;min-height:28px;color:inherit;background:var(--soft);
border:1px solid var(--muted);border-radius:6px;cursor:pointer}
pre,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.85rem}
p code,li code,td code,h2 code,h3 code{background:var(--soft);padding:.1em .3em;border-radius:4px;
overflow-wrap:anywhere}
td code{overflow-wrap:normal}
pre{margin:.5rem 0;padding:.6rem .9rem;overflow:auto;line-height:1.5;border-radius:6px}
pre.code{background:var(--soft);border:1px solid var(--line);margin-top:1rem}
pre.out{padding:.2rem .9rem;border-left:3px solid var(--line);border-radius:0;max-height:34rem}
pre.stderr{background:var(--note)}
table{border-collapse:collapse;margin:.6rem 0}
.table{overflow-x:auto}
th,td{text-align:left;padding:.2rem .9rem .2rem 0;border-bottom:1px solid var(--line);vertical-align:top}
.lessons td+td{white-space:nowrap}
.lessons td+td,.lessons th+th{text-align:right;padding:.2rem 0 .2rem .9rem;
font-variant-numeric:tabular-nums}
.goals{overflow-wrap:anywhere;margin:.2rem 0 .4rem;padding-left:1.1rem;font-size:.92rem;color:var(--muted)}
.goals p{margin:0}
dfn{font-style:inherit;text-decoration:underline dotted var(--muted);text-underline-offset:.2em;cursor:help;
position:relative}
dfn:focus::after{content:attr(title);position:absolute;left:0;top:1.6em;z-index:2;width:max-content;max-width:20rem;
padding:.4rem .7rem;font:14px/1.45 system-ui,sans-serif;color:var(--bg);background:var(--fg);border-radius:6px}
math{font-family:"Course Math",math;font-size:1.04em}
.whole{white-space:nowrap}
.math.block{margin:.7rem 0;overflow-x:auto}
img{max-width:100%}
.figure{margin:1rem 0;overflow-x:auto}
.figure svg{max-width:100%;height:auto}
.view{margin:.8rem 0}
@media (min-width:56rem){.view{--wide:min(66rem,100vw - 3rem);width:var(--wide);margin-left:calc(50% - var(--wide)/2)}}
@media (min-width:88rem){.view{--wide:min(66rem,50vw + var(--column)/2 - 2rem);margin-left:0}}
details.fold{margin:.8rem 0;padding:0 0 0 1rem;border-left:3px solid var(--line)}
.fold>summary{margin-left:-1rem;padding:.4rem 1rem;cursor:pointer;font-weight:600;background:var(--soft);
border-radius:0 6px 6px 0}
.fold>summary>span{font-weight:400;color:var(--muted)}
.fold.source>summary{font-weight:400;color:var(--muted)}
.behind[open]>summary>span{display:none}
.view>[data-step]{overflow:auto}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
@media print{.contents,button.all,nav{display:none}.view,.figure{break-inside:avoid}
details.fold::details-content{content-visibility:visible;block-size:auto}
pre.out{max-height:none}pre{white-space:pre-wrap}}
"""

FOLDS_SCRIPT = """
const folds = [...document.querySelectorAll("details.fold")];
const button = document.querySelector("button.all");
const words = () => { button.textContent = folds.every((one) => one.open) ? "Close all" : "Open all"; };
button.hidden = false;
button.addEventListener("click", () => {
  const open = folds.some((one) => !one.open);
  for (const one of folds) one.open = open;
  words();
});
for (const one of folds) one.addEventListener("toggle", words);
let closed = [];
addEventListener("beforeprint", () => {
  closed = folds.filter((one) => !one.open);
  for (const one of closed) one.open = true;
});
addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
"""
"""Opens all folds for the button and for printing, and closes again what was closed before printing."""


@cache
def math_font_style() -> str:
    """Return the CSS with the font of formulas, for a page that has some."""
    data = base64.b64encode(MATH_FONT.read_bytes()).decode()
    return f'@font-face{{font-family:"Course Math";src:url(data:font/woff2;base64,{data}) format("woff2")}}'
