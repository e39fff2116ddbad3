type Key = Pick<KeyboardEvent, 'key' | 'keyCode' | 'isComposing' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>;

/** With Shift it is a key of another name on Linux, which WebKit calls unidentified. */
export function isTab(event: Pick<KeyboardEvent, 'key' | 'keyCode'>): boolean {
  return event.key === 'Tab' || event.keyCode === 9;
}

/** What a key in the composer means; `back` goes to what stands before it. */
export type ComposerKey = 'send' | 'stop' | 'back' | 'text';

/**
 * Enter sends, unless it belongs to an input method: while one composes, and for the Enter that ends it, which some
 * engines report after the composition with the key code 229.
 */
export function composerKey(event: Key): ComposerKey {
  if (event.isComposing || event.keyCode === 229) return 'text';
  if (event.key === 'Escape') return 'stop';
  if (isTab(event) && event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey) return 'back';
  if (event.key === 'Enter' && !event.shiftKey && !event.altKey) return 'send';
  return 'text';
}

/** What a key in the field for typing into a command means. */
export type TerminalKey = 'line' | 'end' | 'interrupt' | 'leave' | 'text';

/** As in a terminal; but Control C copies what is selected in the field. */
export function terminalKey(event: Key, hasSelection: boolean): TerminalKey {
  if (event.isComposing || event.keyCode === 229) return 'text';
  if (event.key === 'Escape') return 'leave';
  if (event.key === 'Enter' && !event.altKey && !event.ctrlKey && !event.metaKey) return 'line';
  if (!event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return 'text';
  if (event.key === 'd') return 'end';
  return event.key === 'c' && !hasSelection ? 'interrupt' : 'text';
}

/** Which option of a question a key chooses, by its kind; null for keys that mean nothing to it. */
export function permissionKey(event: Key): 'allow_once' | 'allow_always' | 'reject_once' | null {
  if (event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.key === 'Enter') return 'allow_once';
  if (event.key === 'a' || event.key === 'A') return 'allow_always';
  if (event.key === 'r' || event.key === 'R') return 'reject_once';
  return null;
}

/** How long a question that just appeared hears no key: what was being typed was not meant for it. */
export const DEAF_MS = 500;
