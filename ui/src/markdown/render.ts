import createDOMPurify from 'dompurify';
import { Lexer, Marked } from 'marked';
import type { Block } from './blocks';

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Whether a model's link may be a link: only what opens in a browser. */
function isOpenable(href: string): boolean {
  return /^https?:\/\//i.test(href.trim());
}

const markdown = new Marked({
  gfm: true,
  breaks: false,
  async: false,
  renderer: {
    // Raw HTML is a model's text like any other: shown, never run.
    html({ text }) {
      return escaped(text);
    },
    // No remote loads: an image is its words and its address.
    image({ href, text }) {
      return `<span class="image-words">${escaped(text || 'image')} (${escaped(href)})</span>`;
    },
    link({ href, text, tokens }) {
      const inner = this.parser.parseInline(tokens);
      // An address of mail that stands there by itself is its own words.
      if (href === `mailto:${text}`) return inner;
      if (!isOpenable(href)) return `${inner} (${escaped(href)})`;
      return `<a href="${escaped(href)}" target="_blank" rel="noopener noreferrer">${inner}</a>`;
    },
    checkbox({ checked }) {
      return checked ? '☑ ' : '☐ ';
    },
  },
});

const TAGS = [
  'a', 'blockquote', 'br', 'code', 'del', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 'span',
  'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
];

let purify: ReturnType<typeof createDOMPurify> | null = null;

/** One block of markdown as inert HTML: the renderer lets nothing live through, and the sanitiser checks it. */
export function renderBlock({ raw, definitions }: Block): string {
  purify ??= createDOMPurify(window);
  const lexer = new Lexer(markdown.defaults);
  Object.assign(lexer.tokens.links, definitions);
  return purify.sanitize(markdown.parser(lexer.lex(raw)), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'target', 'rel', 'class', 'align', 'start'],
    // The check of addresses would otherwise be made on these words as well.
    ADD_URI_SAFE_ATTR: ['target', 'rel', 'class', 'align', 'start'],
    ALLOWED_URI_REGEXP: /^https?:\/\//i,
  });
}
