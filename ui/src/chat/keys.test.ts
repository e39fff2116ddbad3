import { describe, expect, it } from 'vitest';
import { composerKey, permissionKey, terminalKey } from './keys';

const PLAIN = { key: 'Enter', keyCode: 13, isComposing: false, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };

describe('keys of the composer', () => {
  it.each([
    ['Enter sends', {}, 'send'],
    ['Ctrl Enter sends', { ctrlKey: true }, 'send'],
    ['Shift Enter breaks the line', { shiftKey: true }, 'text'],
    ['Enter while an input method composes is its own', { isComposing: true }, 'text'],
    ['Enter that ends a composition is its own', { keyCode: 229 }, 'text'],
    ['Escape stops', { key: 'Escape', keyCode: 27 }, 'stop'],
    ['Escape out of a composition does not', { key: 'Escape', keyCode: 229, isComposing: true }, 'text'],
    ['Shift Tab goes back', { key: 'Tab', keyCode: 9, shiftKey: true }, 'back'],
    ['Shift Tab as WebKit on Linux names it goes back', { key: 'Unidentified', keyCode: 9, shiftKey: true }, 'back'],
    ['Tab alone is the browser\'s', { key: 'Tab', keyCode: 9 }, 'text'],
    ['a letter is text', { key: 'a', keyCode: 65 }, 'text'],
  ] as const)('%s', (_name, event, meaning) => {
    expect(composerKey({ ...PLAIN, ...event })).toBe(meaning);
  });
});

describe('keys of the field for typing into a command', () => {
  const CONTROL = { ctrlKey: true, keyCode: 0 };
  it.each([
    ['Enter sends the line', {}, false, 'line'],
    ['Enter of an input method is its own', { keyCode: 229 }, false, 'text'],
    ['Ctrl D ends the input', { ...CONTROL, key: 'd' }, false, 'end'],
    ['Ctrl C interrupts', { ...CONTROL, key: 'c' }, false, 'interrupt'],
    ['Ctrl C with a selection copies', { ...CONTROL, key: 'c' }, true, 'text'],
    ['Ctrl Shift C is not the terminal\'s', { ...CONTROL, key: 'c', shiftKey: true }, false, 'text'],
    ['Ctrl V pastes', { ...CONTROL, key: 'v' }, false, 'text'],
    ['Escape leaves', { key: 'Escape', keyCode: 27 }, false, 'leave'],
    ['Tab goes on', { key: 'Tab', keyCode: 9 }, false, 'text'],
    ['d is a letter', { key: 'd', keyCode: 68 }, false, 'text'],
  ] as const)('%s', (_name, event, selected, meaning) => {
    expect(terminalKey({ ...PLAIN, ...event }, selected)).toBe(meaning);
  });
});

describe('keys of a question', () => {
  it.each([
    ['Enter', {}, 'allow_once'],
    ['a', { key: 'a', keyCode: 65 }, 'allow_always'],
    ['A', { key: 'A', keyCode: 65, shiftKey: true }, 'allow_always'],
    ['r', { key: 'r', keyCode: 82 }, 'reject_once'],
    ['Ctrl A, which selects', { key: 'a', keyCode: 65, ctrlKey: true }, null],
    ['Ctrl R, which loads again', { key: 'r', keyCode: 82, ctrlKey: true }, null],
    ['x', { key: 'x', keyCode: 88 }, null],
    ['Enter of an input method', { keyCode: 229 }, null],
  ] as const)('%s', (_name, event, kind) => {
    expect(permissionKey({ ...PLAIN, ...event })).toBe(kind);
  });
});
