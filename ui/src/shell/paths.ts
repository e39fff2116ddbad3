/** A folder as people write it: the home folder as `~`. */
export function shortFolder(path: string): string {
  return path.replace(/^\/(?:home\/[^/]+|Users\/[^/]+|root)(?=\/|$)/, '~');
}

/** Whether a path can be sent as a session's folder: the protocol wants it absolute. */
export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path);
}
