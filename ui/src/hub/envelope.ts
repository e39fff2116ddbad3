/** The envelope around ACP between page and hub; its contract is docs/hub.md. */

import { isRecord, numberIn, textIn, type Json } from '../acp/wire';

export type Direction = 'c2a' | 'a2c';

/** One JSON-RPC message as the hub numbered it. */
export interface Frame {
  /** From 1, without gaps; 0 for a frame that only this page sees. */
  n: number;
  /** Milliseconds of Unix time when the hub saw it. */
  t: number;
  dir: Direction;
  /** The ids in it are this page's own (see docs/hub.md, Ids). */
  own: boolean;
  frame: Json;
}

export interface AgentState {
  state: 'starting' | 'running' | 'ended';
  name: string;
  /** Why it ended, with the last words of its stderr. */
  message: string;
}

export type HubMessage =
  | { type: 'attached'; after: number; last: number; cwd: string; agent: AgentState }
  | { type: 'frames'; frames: Frame[] }
  | { type: 'agent'; agent: AgentState };

export type PageMessage =
  | { type: 'frame'; frame: Json }
  | { type: 'ack'; n: number }
  | { type: 'restart' };

function readAgent(value: unknown): AgentState {
  const source = isRecord(value) ? value : {};
  const state = source['state'];
  return {
    state: state === 'running' || state === 'ended' ? state : 'starting',
    name: textIn(source, 'name') ?? '',
    message: textIn(source, 'message') ?? '',
  };
}

function readFrame(value: unknown): Frame | null {
  if (!isRecord(value) || !isRecord(value['frame'])) return null;
  const dir = value['dir'];
  if (dir !== 'c2a' && dir !== 'a2c') return null;
  return {
    n: numberIn(value, 'n') ?? 0,
    t: numberIn(value, 't') ?? 0,
    dir,
    own: value['own'] === true,
    frame: value['frame'],
  };
}

/** Reads one message of the hub. Null for what this build does not know: a newer hub may say more. */
export function readHubMessage(text: string): HubMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  switch (value['type']) {
    case 'attached':
      return {
        type: 'attached',
        after: numberIn(value, 'after') ?? 0,
        last: numberIn(value, 'last') ?? 0,
        cwd: textIn(value, 'cwd') ?? '',
        agent: readAgent(value['agent']),
      };
    case 'frames': {
      const frames = Array.isArray(value['frames']) ? value['frames'] : [];
      return { type: 'frames', frames: frames.map(readFrame).filter((frame) => frame !== null) };
    }
    case 'agent':
      return { type: 'agent', agent: readAgent(value['agent']) };
    default:
      return null;
  }
}
