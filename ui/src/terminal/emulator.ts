import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes';
import { Terminal, type ITheme } from '@xterm/xterm';

/** Lines that an emulator keeps above its screen; older ones stay in the card's text. */
export const SCROLLBACK = 10_000;
/** The screen of a card: as high as programs that draw in place expect, however many lines are shown of it. */
export const SCREEN_ROWS = 24;

/** OSC numbers that would reach beyond the card: titles, the palette, the working folder, the clipboard, notifications. */
const SWALLOWED_OSC = [0, 1, 2, 4, 5, 7, 9, 10, 11, 12, 13, 14, 17, 19, 21, 52, 99, 104, 105, 110, 111, 112, 777, 1337];

/** Whether a link in output may be followed at all. */
export function isWebAddress(uri: string): boolean {
  try {
    const { protocol } = new URL(uri);
    return protocol === 'http:' || protocol === 'https:';
  } catch {
    return false;
  }
}

/**
 * A terminal that only shows. It has no input: nothing is listened to, so a device query gets no answer; what output
 * could do beyond drawing (titles, palette, clipboard) is swallowed; a link opens only on a click with Ctrl or Meta held.
 */
export function showOnlyTerminal(theme: ITheme, cols: number, rows: number): Terminal {
  const terminal = new Terminal({
    allowProposedApi: true,
    cols,
    rows,
    theme,
    scrollback: SCROLLBACK,
    disableStdin: true,
    convertEol: true,
    cursorBlink: false,
    cursorStyle: 'block',
    cursorInactiveStyle: 'block',
    fontFamily: 'ui-monospace, "JetBrains Mono", "DejaVu Sans Mono", monospace',
    fontSize: 12.5,
    lineHeight: 1.2,
    fontWeightBold: 600,
    drawBoldTextInBrightColors: false,
    minimumContrastRatio: 4.5,
    logLevel: 'off',
    linkHandler: {
      activate: (event, uri) => {
        if ((event.ctrlKey || event.metaKey) && isWebAddress(uri)) window.open(uri, '_blank', 'noopener,noreferrer');
      },
    },
  });
  terminal.loadAddon(new UnicodeGraphemesAddon());
  for (const number of SWALLOWED_OSC) terminal.parser.registerOscHandler(number, () => true);
  // Keys belong to the page: Tab must leave the card, Ctrl+C must copy.
  terminal.attachCustomKeyEventHandler(() => false);
  return terminal;
}
