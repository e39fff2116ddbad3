import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Connection } from './connection.svelte';
import { isRecord } from './wire';

// Recorded wires of agents that other people wrote; they are kept outside of the repository.
const folder = process.env['PLACARD_TRANSCRIPTS'] ?? '';
const there = folder !== '' && existsSync(folder);

function recordings(): string[] {
  if (!there) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.jsonl') && !file.startsWith('v2'))
    .sort();
}

function folded(file: string): Connection {
  const connection = new Connection();
  const lines = readFileSync(join(folder, file), 'utf8').split('\n').filter((line) => line !== '');
  let n = 0;
  for (const line of lines) {
    const { t, dir, raw } = JSON.parse(line) as { t: number; dir: string; raw: string };
    if (dir !== 'c2a' && dir !== 'a2c') continue;
    let frame: unknown;
    try {
      frame = JSON.parse(raw);
    } catch {
      continue;
    }
    if (isRecord(frame)) connection.apply({ n: (n += 1), t: t * 1000, dir, own: false, frame });
  }
  return connection;
}

describe.skipIf(!there)('wires of other agents (PLACARD_TRANSCRIPTS)', () => {
  it.each(recordings())('%s: a transcript with the prompt, and nothing left running', (file) => {
    const { sessions } = folded(file);
    expect(sessions.length).toBeGreaterThan(0);
    for (const session of sessions) {
      expect(session.turn).toBeNull();
      expect(session.openPermissions).toEqual([]);
      expect(session.entries.some((entry) => entry.kind === 'user')).toBe(true);
      const states = [...session.board.calls.values()].map((call) => call.pill(call.card, 0).state);
      expect(states.filter((state) => state === 'running' || state === 'asks')).toEqual([]);
    }
  });
});

it.runIf(!there)('wires of other agents are not read: PLACARD_TRANSCRIPTS names no folder', () => undefined);
