// @vitest-environment jsdom
import { expect, it } from 'vitest';
import { showOnlyTerminal } from './emulator';
import { LIGHT } from './palette';

/** The column of the bar behind each of these cells. */
function bars(cells: string[]): Promise<number[]> {
  const terminal = showOnlyTerminal(LIGHT, 40, 10);
  const rows = cells.map((cell) => `${cell}|`).join('\r\n');
  return new Promise((resolve) => {
    terminal.write(rows, () => {
      const buffer = terminal.buffer.active;
      const columns = cells.map((_, row) => {
        const line = buffer.getLine(row);
        return Array.from({ length: 40 }, (_, column) => column).find((column) => line?.getCell(column)?.getChars() === '|') ?? -1;
      });
      terminal.dispose();
      resolve(columns);
    });
  });
}

it('F11: what a person sees as one or two columns wide takes these', async () => {
  const cells = ['ab', '✅', '👨‍👩‍👧‍👦', '漢', 'e\u0301x', 'של', '🇩🇪'];
  expect(await bars(cells)).toEqual(cells.map(() => 2));
});
