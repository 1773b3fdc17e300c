/** The names of the parts of the close-up, from the table that Python reads too: links contain them. */

import themes from "../../explorer_widgets/theme.json" with { type: "json" };

/** The words on the buttons by name, in order. @type {Record<string, string>} */
export const PARTS = themes.closeup;
/** The part that is shown at first. */
export const FIRST = Object.keys(PARTS)[0];
