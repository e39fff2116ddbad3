import type { ITheme } from '@xterm/xterm';

/**
 * Terminal colours of the two themes, legible (WCAG AA) as text on their ground. The shades of the ground itself (the
 * whites on light, black on dark) serve as backgrounds; as text the emulator's least contrast makes them legible.
 */
export const LIGHT: ITheme & { background: string } = {
  background: '#fbfaf6',
  foreground: '#2a2925',
  cursor: '#0b6e72',
  cursorAccent: '#fbfaf6',
  selectionBackground: '#0b6e7238',
  black: '#2a2925',
  red: '#a93328',
  green: '#2b7348',
  yellow: '#7d5712',
  blue: '#2a5f9e',
  magenta: '#8a3f86',
  cyan: '#0b6e72',
  white: '#dedbd2',
  brightBlack: '#6b675f',
  brightRed: '#bd3b2d',
  brightGreen: '#2f7d4f',
  brightYellow: '#86600f',
  brightBlue: '#2f6bb3',
  brightMagenta: '#9a4a95',
  brightCyan: '#0f767a',
  brightWhite: '#efeee9',
};

export const DARK: ITheme & { background: string } = {
  background: '#151615',
  foreground: '#dedcd4',
  cursor: '#5fc3c2',
  cursorAccent: '#151615',
  selectionBackground: '#5fc3c240',
  black: '#2d302e',
  red: '#ee8b7d',
  green: '#7cc79a',
  yellow: '#e2b85c',
  blue: '#82b1ea',
  magenta: '#d79ad2',
  cyan: '#5fc3c2',
  white: '#dedcd4',
  brightBlack: '#96938a',
  brightRed: '#f5a598',
  brightGreen: '#98d8b1',
  brightYellow: '#eecb7e',
  brightBlue: '#a3c7f2',
  brightMagenta: '#e5b5e1',
  brightCyan: '#85d6d5',
  brightWhite: '#f3f1ea',
};
