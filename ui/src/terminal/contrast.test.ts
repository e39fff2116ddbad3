import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DARK, LIGHT } from './palette';

function luminance(hex: string): number {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, '$&$&') : hex;
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = parseInt(long.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const CSS = readFileSync(new URL('../app.css', import.meta.url), 'utf8');

function tokens(theme: 'light' | 'dark'): Record<string, string> {
  const [light = '', dark = ''] = CSS.split('@media (prefers-color-scheme: dark)');
  return Object.fromEntries([...(theme === 'light' ? light : dark).matchAll(/--([\w-]+): (#[0-9a-f]{3,6});/g)].map(([, name, hex]) => [name, hex]));
}

describe('text is legible (WCAG AA, 4.5 to 1)', () => {
  const pairs = [
    ['text', 'bg'], ['text', 'card'], ['text', 'panel'], ['dim', 'bg'], ['dim', 'card'], ['dim', 'panel'], ['dim', 'term'],
    ['faint', 'bg'], ['faint', 'card'], ['faint', 'panel'], ['accent-ink', 'accent'], ['text', 'accent-soft'],
    ['ok', 'ok-soft'], ['bad', 'bad-soft'], ['warn', 'warn-soft'], ['run', 'run-soft'], ['bad', 'card'], ['ok', 'card'],
    ['accent', 'bg'], ['term-text', 'term'], ['term-text', 'ok-soft'], ['term-text', 'bad-soft'],
  ] as const;
  it.each(['light', 'dark'] as const)('the tokens of the %s theme', (theme) => {
    const colours = tokens(theme);
    const poor = pairs.filter(([ink, ground]) => contrast(colours[ink] ?? '#888888', colours[ground] ?? '#888888') < 4.5);
    expect(poor).toEqual([]);
  });

  it.each([
    ['light', LIGHT, ['white', 'brightWhite']],
    ['dark', DARK, ['black']],
  ] as const)('the terminal colours of the %s theme', (_name, theme, grounds) => {
    const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'].flatMap((name) => [
      name,
      `bright${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    ]);
    const colours = theme as unknown as Record<string, string>;
    const poor = ['foreground', ...names].filter(
      (name) => !(grounds as readonly string[]).includes(name) && contrast(colours[name] ?? '', theme.background) < 4.5,
    );
    expect(poor).toEqual([]);
  });
});
