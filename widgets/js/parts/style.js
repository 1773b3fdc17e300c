/** The style of a view of pictures: the styles of its parts. Every class has a prefix, because Jupyter has no shadow root. */

import { STYLE as CLOSEUP } from "../closeup/panel.js";
import { STYLE as DOCKING } from "../plates/docking.js";
import { STYLE as PLATES } from "../plates/labels.js";
import { STYLE as ATTEMPTS } from "../plates/attempt.js";
import { STYLE as LINKS } from "../plates/links.js";
import { STYLE as PINS } from "../plates/pins.js";
import { STYLE as TRIED } from "./attempt_caption.js";
import { STYLE as PORTS } from "../plates/ports.js";
import { STYLE as SCORE } from "../score/words.js";
import { STYLE as FAILURES } from "../shared/failures.js";
import { STYLE as LANES } from "../shared/lanes.js";
import { STYLE as SPLITTING } from "../shared/splitting.js";
import { STYLE as BUFFERS } from "./buffers.js";
import { STYLE as COLUMNS } from "./columns.js";
import { STYLE as EPOCHS } from "./epochs.js";
import { STYLE as FILM } from "./film.js";
import { STYLE as FOOT } from "./foot.js";
import { STYLE as FRAME, SYSTEM_STYLE } from "./frame.js";
import { STYLE as HELP } from "./help.js";
import { STYLE as HINT } from "./hint.js";
import { STYLE as INSPECTOR } from "./inspector.js";
import { STYLE as LEGEND } from "./legend.js";
import { STYLE as LENS } from "./lens.js";
import { STYLE as LIVING } from "./living.js";
import { STYLE as LOADING } from "./loading.js";
import { STYLE as MINIMAP } from "./minimap.js";
import { STYLE as SEARCH } from "./search.js";
import { STYLE as SLIDES } from "./slides.js";
import { STYLE as STAGE } from "./stage.js";
import { STYLE as STEPPER } from "./stepper.js";
import { STYLE as STRIP } from "./strip.js";
import { STYLE as TABLE } from "./table.js";
import { STYLE as TIMELINE } from "./timeline.js";
import { STYLE as TOOLBAR } from "./toolbar.js";
import { STYLE as ZOOM } from "./zoom.js";

const SCENES = `
.ce-root g.ce-box:focus-visible{outline:none}
.ce-tip{pointer-events:none}
.ce-stage text{font-family:inherit;dominant-baseline:central;user-select:none;-webkit-user-select:none}
.ce-box{cursor:pointer}
.ce-root text.ce-name{font-size:1px;fill:transparent;pointer-events:none}
.ce-title{font-size:calc(12.5px*var(--ce-near,1));font-weight:600}
.ce-detail{font-size:calc(11px*var(--ce-near,1))}
.ce-far-title{font-weight:600;display:none}
.ce-symbol path,.ce-big-symbol path{fill:none;stroke-width:1.7;stroke-linecap:round;stroke-linejoin:round}
.ce-disc{stroke-width:.8;stroke-opacity:.28}
.ce-big-symbol{display:none}
.ce-stage text.ce-big-number{font-size:32px;font-weight:700;text-anchor:middle}
.ce-hatch-removed{opacity:.32}.ce-hatch-missing{opacity:.75}
.ce-ring{fill:none;stroke:none;stroke-width:3}
.ce-hover .ce-ring{stroke:var(--ce-accent);stroke-width:1.5;stroke-opacity:.7}
.ce-found .ce-ring{stroke:var(--ce-accent);stroke-width:2;stroke-dasharray:3 3}
.ce-selected .ce-ring{stroke:var(--ce-accent);stroke-width:3;stroke-dasharray:none}
.ce-box:focus-visible .ce-ring{stroke:var(--ce-fg);stroke-width:2.5;stroke-dasharray:none}
.ce-box.ce-selected:focus-visible .ce-ring{stroke:var(--ce-accent);stroke-width:5}
.ce-dim{opacity:.34}
.ce-sign text,.ce-badge text,.ce-pill text,.ce-edge-label text{text-anchor:middle}
.ce-sign text{font-size:12px;font-weight:700}
.ce-badge text{font-size:10.5px;font-weight:700}
.ce-pill text{font-size:11px;font-weight:600}
.ce-line{fill:none}
.ce-near .ce-line{stroke:var(--ce-accent);stroke-width:2.6}
.ce-near .ce-tip{fill:var(--ce-accent)}
.ce-edge-label text{font-size:10px}
.ce-hull .ce-tint{opacity:.2}
.ce-hull-near-miss .ce-tint,.ce-hull-lost .ce-tint{opacity:.55}
.ce-lost-hatch{opacity:.35}
.ce-hull.ce-lit .ce-tint{opacity:.5}
.ce-tag{cursor:pointer}
.ce-tag rect{fill:var(--ce-panel);stroke-width:1.3}
.ce-tag text{font-size:11px;fill:var(--ce-fg)}
.ce-tag text.ce-tag-sign{font-weight:800;text-anchor:middle}
.ce-tag.ce-lit rect{stroke-width:2.6}
.ce-far .ce-detail,.ce-far .ce-title{display:none}
.ce-far .ce-edge-label *,.ce-far .ce-pill *,.ce-far .ce-badge *,.ce-far .ce-sign *{transform:scale(1.35);transform-box:fill-box;transform-origin:center}
.ce-far .ce-far-title{display:inline}
.ce-far .ce-edge-label.ce-plain{display:none}
.ce-farthest .ce-title,.ce-farthest .ce-detail,.ce-farthest .ce-symbol,.ce-farthest .ce-edge-label,.ce-farthest .ce-tag,.ce-farthest .ce-badge{display:none}
.ce-farthest .ce-big-symbol{display:inline}
.ce-farthest .ce-line,.ce-farthest .ce-face,.ce-farthest .ce-hull path{vector-effect:non-scaling-stroke;stroke-width:1px}
`;

export const STYLE = [
  FRAME,
  TOOLBAR,
  SEARCH,
  STEPPER,
  FILM,
  TIMELINE,
  BUFFERS,
  STRIP,
  STAGE,
  ZOOM,
  MINIMAP,
  HINT,
  LIVING,
  EPOCHS,
  COLUMNS,
  LOADING,
  INSPECTOR,
  TABLE,
  HELP,
  LEGEND,
  FOOT,
  FAILURES,
  LANES,
  SPLITTING,
  SCENES,
  PLATES,
  SCORE,
  CLOSEUP,
  LINKS,
  ATTEMPTS,
  PINS,
  TRIED,
  PORTS,
  DOCKING,
  LENS,
  SLIDES,
  SYSTEM_STYLE,
].join("");
