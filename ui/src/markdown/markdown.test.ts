// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { BlockSplitter, type Block } from './blocks';
import { renderBlock } from './render';

function rendered(markdown: string): HTMLElement {
  const element = document.createElement('div');
  element.innerHTML = renderBlock({ raw: markdown, definitions: {} });
  return element;
}

function raws(blocks: readonly Block[]): string[] {
  return blocks.map(({ raw }) => raw);
}

/** Everything that could act by itself or load something. */
function live(element: HTMLElement): string[] {
  return [...element.querySelectorAll('*')].flatMap((node) => {
    const found = ['IMG', 'SCRIPT', 'IFRAME', 'STYLE', 'LINK', 'OBJECT', 'FORM', 'INPUT', 'BUTTON', 'SVG', 'VIDEO'].includes(
      node.tagName.toUpperCase(),
    )
      ? [node.tagName]
      : [];
    const attributes = [...node.attributes].filter(
      ({ name, value }) => name.startsWith('on') || name === 'src' || name === 'style' || /^\s*(javascript|data|vbscript):/i.test(value),
    );
    return [...found, ...attributes.map(({ name }) => `${node.tagName}[${name}]`)];
  });
}

describe('markdown of a model is inert', () => {
  it.each([
    ['raw HTML', '<img src=x onerror=alert(1)> and <b onclick="x()">bold</b>'],
    ['a block of HTML', '<script>alert(1)</script>\n\n<style>*{display:none}</style>'],
    ['a frame', '<iframe src="https://example.org"></iframe>'],
    ['a script URL', '[x](javascript:alert(1)) and <javascript:alert(1)>'],
    ['a script URL in disguise', '[x](java&#115;cript:alert(1)) [y]( JaVaScRiPt:alert(1))'],
    ['a data URL', '[x](data:text/html;base64,PHNjcmlwdD4=)'],
    ['a remote image', '![graph](https://example.org/g.png)'],
    ['an image with markup in its words', '![<img src=x onerror=y>](https://example.org/"onload="x)'],
    ['a reference to an image', '![a][1]\n\n[1]: https://example.org/a.png'],
    ['a link with an attribute in its address', '[x](https://example.org/"onmouseover="alert(1))'],
    ['svg', '<svg onload=alert(1)><a xlink:href="javascript:alert(1)">x</a></svg>'],
    ['a fence that names a script', '```"><img src=x onerror=y>\ncode\n```'],
  ])('%s', (_name, markdown) => {
    expect(live(rendered(markdown))).toEqual([]);
  });

  it('shows an image as its words and address, and raw HTML as text', () => {
    const element = rendered('![a graph](https://example.org/g.png) <b>x</b>');
    expect(element.textContent?.trim()).toBe('a graph (https://example.org/g.png) <b>x</b>');
  });

  it('a web link opens elsewhere and tells nobody where it came from', () => {
    const link = rendered('[here](https://example.org/a?b=1&c=2)').querySelector('a');
    expect([link?.getAttribute('href'), link?.getAttribute('target'), link?.getAttribute('rel')]).toEqual([
      'https://example.org/a?b=1&c=2',
      '_blank',
      'noopener noreferrer',
    ]);
  });

  it('other links are words with their address', () => {
    const element = rendered('[here](file:///etc/passwd)');
    expect([element.querySelector('a'), element.textContent?.trim()]).toEqual([null, 'here (file:///etc/passwd)']);
  });

  it('a fence that is still open is code already', () => {
    expect(rendered('```rust\nfn main() {').querySelector('pre code')?.textContent?.trim()).toBe('fn main() {');
  });
});

describe('streaming markdown', () => {
  const TEXT =
    '# Title\n\nOne paragraph\nof two lines.\n\n- a\n- b\n\n  more of b\n\n```sh\n# not a title\n\necho "---"\n```\n\n| a | b |\n|-|-|\n| 1 | 2 |\n\n> said\n\nend';

  it('has the same blocks however it arrives', () => {
    const atOnce = new BlockSplitter().blocks(TEXT);
    const bitByBit = new BlockSplitter();
    let last: Block[] = [];
    for (let length = 1; length <= TEXT.length; length += 1) last = bitByBit.blocks(TEXT.slice(0, length));
    expect(last).toEqual(atOnce);
    expect(atOnce.length).toBe(7);
  });

  it('changes only the last block when text is added', () => {
    const splitter = new BlockSplitter();
    const before = splitter.blocks('First.\n\nSecond');
    const after = splitter.blocks('First.\n\nSecond grows.\n\n```\ncode');
    expect([raws(before), raws(after), after[0] === before[0]]).toEqual([
      ['First.', 'Second'],
      ['First.', 'Second grows.', '```\ncode'],
      true,
    ]);
  });

  it('starts over when the text is another one', () => {
    const splitter = new BlockSplitter();
    splitter.blocks('a\n\nb');
    expect(raws(splitter.blocks('c'))).toEqual(['c']);
  });
});

describe('a link by reference', () => {
  /** Every link of the text: its words and its address. */
  function linksOf(blocks: readonly Block[]): (string | null)[][] {
    const element = document.createElement('div');
    element.innerHTML = blocks.map(renderBlock).join('');
    return [...element.querySelectorAll('a')].map((link) => [link.textContent, link.getAttribute('href')]);
  }

  it.each([
    ['after the block that uses it', 'See [the log][1].\n\nMore.\n\n[1]: https://example.org/log'],
    ['before it', '[1]: https://example.org/log\n\nSee [the log][1].'],
    ['under its own words, in whatever case', 'See [The  Log][].\n\n[the log]: https://example.org/log "Title"\n\nEnd.'],
    ['by its words alone', '- See [the log]\n\nEnd.\n\n[THE LOG]: <https://example.org/log>'],
    ['within a quotation', '> [1]: https://example.org/log\n\nSee [the log][1].'],
  ])('finds its address %s', (_name, text) => {
    const blocks = new BlockSplitter().blocks(text);
    expect(linksOf(blocks).map(([words, address]) => [words?.toLowerCase().replace(/\s+/g, ' '), address])).toEqual([
      ['the log', 'https://example.org/log'],
    ]);
  });

  it('goes to the first of two definitions, whichever came when', () => {
    const splitter = new BlockSplitter();
    splitter.blocks('[a][1]\n\n[1]: https://example.org/first\n\nEnd');
    expect(linksOf(splitter.blocks('[a][1]\n\n[1]: https://example.org/first\n\nEnd\n\n[1]: https://example.org/second'))).toEqual([
      ['a', 'https://example.org/first'],
    ]);
  });

  it('makes only its own block new when its definition comes, and a definition is no block', () => {
    const splitter = new BlockSplitter();
    const before = splitter.blocks('Plain.\n\nSee [a][1].\n\nSee [b][2].\n\nEnd.');
    const after = splitter.blocks('Plain.\n\nSee [a][1].\n\nSee [b][2].\n\nEnd.\n\n[1]: https://example.org/a');
    expect([raws(after), after.slice(0, 3).map((block, index) => block === before[index])]).toEqual([
      ['Plain.', 'See [a][1].', 'See [b][2].', 'End.'],
      [true, false, true],
    ]);
  });

  it('ends the same however it arrives', () => {
    const text = 'See [a][1] and [b][2].\n\n```\n[a][1]\n```\n\n[1]: https://example.org/a\n[2]: https://example.org/b\n\nEnd [a][1].';
    const bitByBit = new BlockSplitter();
    let last: Block[] = [];
    for (let length = 1; length <= text.length; length += 1) last = bitByBit.blocks(text.slice(0, length));
    expect([last, linksOf(last).length]).toEqual([new BlockSplitter().blocks(text), 3]);
  });

  it('is inert like every other', () => {
    const blocks = new BlockSplitter().blocks('[a][1] ![b][2]\n\n[1]: javascript:alert(1)\n[2]: https://example.org/b.png\n\n[constructor] [__proto__]');
    const element = document.createElement('div');
    element.innerHTML = blocks.map(renderBlock).join('');
    expect([live(element), linksOf(blocks)]).toEqual([[], []]);
  });
});
