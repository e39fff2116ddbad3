// @vitest-environment jsdom
import { describe, expect, it } from 'vitest';
import { BlockSplitter } from './blocks';
import { renderBlock } from './render';

function rendered(markdown: string): HTMLElement {
  const element = document.createElement('div');
  element.innerHTML = renderBlock(markdown);
  return element;
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
    let last: string[] = [];
    for (let length = 1; length <= TEXT.length; length += 1) last = bitByBit.blocks(TEXT.slice(0, length));
    expect(last).toEqual(atOnce);
    expect(atOnce.length).toBe(7);
  });

  it('changes only the last block when text is added', () => {
    const splitter = new BlockSplitter();
    const before = splitter.blocks('First.\n\nSecond');
    const after = splitter.blocks('First.\n\nSecond grows.\n\n```\ncode');
    expect([before, after]).toEqual([
      ['First.', 'Second'],
      ['First.', 'Second grows.', '```\ncode'],
    ]);
  });

  it('starts over when the text is another one', () => {
    const splitter = new BlockSplitter();
    splitter.blocks('a\n\nb');
    expect(splitter.blocks('c')).toEqual(['c']);
  });
});
