/** Tolerant reading of JSON-RPC: what is missing or of another shape is absent, never an exception. */

export type Json = { [key: string]: unknown };
export type RpcId = string | number | null;

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textIn(source: Json, key: string): string | undefined {
  const value = source[key];
  return typeof value === 'string' ? value : undefined;
}

export function numberIn(source: Json, key: string): number | undefined {
  const value = source[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function recordIn(source: Json, key: string): Json | undefined {
  const value = source[key];
  return isRecord(value) ? value : undefined;
}

export function listIn(source: Json, key: string): unknown[] | undefined {
  const value = source[key];
  return Array.isArray(value) ? value : undefined;
}

export function recordsIn(source: Json, key: string): Json[] {
  return (listIn(source, key) ?? []).filter(isRecord);
}

/** An id as a table key: the number 1 and the string "1" are different ids. */
export function idKey(id: RpcId): string {
  return JSON.stringify(id);
}

export type RpcMessage =
  | { kind: 'request'; id: RpcId; method: string; params: Json }
  | { kind: 'notification'; method: string; params: Json }
  | { kind: 'result'; id: RpcId; result: Json }
  | { kind: 'error'; id: RpcId; code: number; message: string; data: unknown };

/** Sorts a JSON-RPC message into one of its four kinds; null when it is none. */
export function readRpc(frame: Json): RpcMessage | null {
  const id = frame['id'];
  const hasId = typeof id === 'string' || typeof id === 'number' || id === null;
  const method = textIn(frame, 'method');
  const params = recordIn(frame, 'params') ?? {};
  if (method !== undefined) {
    return hasId ? { kind: 'request', id, method, params } : { kind: 'notification', method, params };
  }
  if (!hasId) return null;
  const error = recordIn(frame, 'error');
  if (error !== undefined) {
    return {
      kind: 'error',
      id,
      code: numberIn(error, 'code') ?? 0,
      message: textIn(error, 'message') ?? 'an error without a message',
      data: error['data'],
    };
  }
  return 'result' in frame ? { kind: 'result', id, result: recordIn(frame, 'result') ?? {} } : null;
}

/** An error in words for a person: its message, and what its data adds to it. */
export function errorWords(message: string, data: unknown): string {
  if (typeof data === 'string' && data !== '' && data !== message) return `${message}: ${data}`;
  if (isRecord(data)) {
    const detail = textIn(data, 'details') ?? textIn(data, 'detail') ?? textIn(data, 'message');
    if (detail !== undefined && detail !== message) return `${message}: ${detail}`;
  }
  return message;
}
