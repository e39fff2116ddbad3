const SECRET = /\b(?:passwor[dt]|passphrase|passcode|pin(?: code)?|secret|token|api key|verification code|one-time code|otp)\b[^\n]{0,120}[:?]\s*$/i;

/** Whether the last line of an output asks for something that nobody beside the screen should read. */
export function asksForSecret(lastLine: string): boolean {
  return SECRET.test(lastLine);
}
