const ESCAPES =
  // CSI, then the string sequences (OSC, DCS, SOS, PM, APC) up to their terminator, then two-character escapes.
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]/g;

/**
 * Terminal output as a person would copy it: escape sequences gone, overwritten progress lines as they ended.
 * An incomplete escape sequence at the end is left out.
 */
export function plainText(raw: string): string {
  const bare = raw.replace(ESCAPES, '').replace(/\x1b[^\n]*$/, '');
  return bare.split('\n').map(overwritten).join('\n');
}

function overwritten(line: string): string {
  const withoutEnd = line.endsWith('\r') ? line.replace(/\r+$/, '') : line;
  if (!/[\r\b]/.test(withoutEnd)) return withoutEnd.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '');
  const cells: string[] = [];
  let column = 0;
  for (const character of withoutEnd) {
    if (character === '\r') column = 0;
    else if (character === '\b') column = Math.max(0, column - 1);
    else if (character >= ' ' || character === '\t') {
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
