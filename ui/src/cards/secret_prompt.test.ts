import { expect, it } from 'vitest';
import { asksForSecret } from './secret_prompt';

it.each([
  ['[sudo] password for ada: ', true],
  ["Enter passphrase for key '/home/ada/.ssh/id_ed25519':", true],
  ['Passwort:', true],
  ['Verification code: ', true],
  ['PIN?', true],
  ["ada@harbour's password:", true],
  ['What is your name? ', false],
  ['password: wrong', false],
  ['spinning:', false],
  ['', false],
])('%j asks for a secret: %s', (line, secret) => {
  expect(asksForSecret(line)).toBe(secret);
});
