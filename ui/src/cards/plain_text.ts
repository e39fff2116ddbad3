const ESCAPES =
  // CSI; the string sequences (OSC, DCS, SOS, PM, APC) up to their terminator; then the short escapes.
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-OQ-WYZ\\`-~]/g;
/** What stands for "erase to the end of the line" and "erase the line" while a line is put together. */
const ERASE_END = '\x01';
const ERASE_LINE = '\x02';

function bareEscape(sequence: string): string {
  if (sequence === '\x1b[K' || sequence === '\x1b[0K') return ERASE_END;
  return sequence === '\x1b[2K' ? ERASE_LINE : '';
}

/**
 * Terminal output as a person would copy it: escape sequences gone, overwritten progress lines as they ended.
 * An incomplete escape sequence at the end is left out.
 */
export function plainText(raw: string): string {
  const bare = raw
    .replace(/[\x01\x02]/g, '')
    .replace(ESCAPES, bareEscape)
    .replace(/\x1b[^\n]*$/, '');
  return bare.split('\n').map(asItEnded).join('\n');
}

function asItEnded(line: string): string {
  const withoutEnd = line.endsWith('\r') ? line.replace(/\r+$/, '') : line;
  if (!/[\r\b\x01\x02]/.test(withoutEnd)) return withoutEnd.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '');
  const cells: string[] = [];
  let column = 0;
  for (const character of withoutEnd) {
    if (character === '\r') column = 0;
    else if (character === '\b') column = Math.max(0, column - 1);
    else if (character === ERASE_END) cells.length = Math.min(cells.length, column);
    else if (character === ERASE_LINE) cells.length = 0;
    else if (character >= ' ' || character === '\t') {
      while (cells.length < column) cells.push(' ');
      cells[column] = character;
      column += 1;
    }
  }
  return cells.join('');
}

/** The last line that says something, for a collapsed card and the strip; read from the end only. */
export function lastLine(end: string): string {
  const lines = plainText(end).split('\n');
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = (lines[index] ?? '').trim();
    if (line !== '') return line.length > 240 ? `${line.slice(0, 240)}…` : line;
  }
  return '';
}
