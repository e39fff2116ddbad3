/** The home folder that a path lies in, by the places where systems keep them; empty where it lies in none. */
export function homeOf(path: string): string {
  return /^\/(?:home\/[^/]+|Users\/[^/]+|root)(?=\/|$)/.exec(path)?.[0] ?? '';
}

/** A folder as people write it: the home folder as `~`. */
export function shortFolder(path: string, home: string): string {
  const inHome = home !== '' && (path === home || path.startsWith(`${home}/`));
  return inHome ? `~${path.slice(home.length)}` : path;
}

/** The folder that somebody wrote, whole again: `~` is the folder that `shortFolder` writes so. */
export function wholeFolder(written: string, home: string): string {
  return home !== '' && /^~(?=\/|$)/.test(written) ? home + written.slice(1) : written;
}

/** Whether a path can be sent as a session's folder: the protocol wants it absolute. */
export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path);
}
