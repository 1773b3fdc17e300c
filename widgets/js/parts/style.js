/** The style of a view of pictures: that of its parts. Every class has a prefix, because Jupyter has no shadow root. */

import { STYLE as CLOSEUP } from "../closeup/panel.js";
import { STYLE as PLATES } from "../plates/labels.js";
import { STYLE as DOCKING } from "../plates/docking.js";
import { STYLE as LINKS } from "../plates/links.js";
import { STYLE as FAILURES } from "../shared/failures.js";
import { STYLE as LANES } from "../shared/lanes.js";
import { STYLE as SPLITTING } from "../shared/splitting.js";
import { STYLE as SCENES } from "../scenes/style.js";
import { STYLE as FILM } from "./film.js";
import { STYLE as FOOT } from "./foot.js";
import { STYLE as FRAME, SYSTEM_STYLE } from "./frame.js";
import { STYLE as HELP } from "./help.js";
import { STYLE as HINT } from "./hint.js";
import { STYLE as INSPECTOR } from "./inspector.js";
import { STYLE as LEGEND } from "./legend.js";
import { STYLE as LENS } from "./lens.js";
import { STYLE as LOADING } from "./loading.js";
import { STYLE as BUFFERS } from "./buffers.js";
import { STYLE as MINIMAP } from "./minimap.js";
import { STYLE as PAGER } from "./pager.js";
import { STYLE as SEARCH } from "./search.js";
import { STYLE as SLIDES } from "./slides.js";
import { STYLE as STAGE } from "./stage.js";
import { STYLE as STEPPER } from "./stepper.js";
import { STYLE as STRIP } from "./strip.js";
import { STYLE as TABLE } from "./table.js";
import { STYLE as TIMELINE } from "./timeline.js";
import { STYLE as TOOLBAR } from "./toolbar.js";
import { STYLE as ZOOM } from "./zoom.js";

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
  PAGER,
  MINIMAP,
  HINT,
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
  CLOSEUP,
  LINKS,
  DOCKING,
  LENS,
  SLIDES,
  SYSTEM_STYLE,
].join("");
