import { recordIn, recordsIn, textIn, type Json, type RpcId } from './wire';

export interface PermissionOption {
  optionId: string;
  name: string;
  /** allow_once, allow_always, reject_once, reject_always, or what a newer agent says. */
  kind: string;
}

/** A question of the agent about one tool call. The first answer of any page counts; the others see it in the frames. */
export class Permission {
  readonly options: readonly PermissionOption[];
  /** What was chosen; `cancelled` when the turn was; null while nobody has answered. */
  answer = $state.raw<PermissionOption | 'cancelled' | null>(null);

  constructor(
    readonly requestId: RpcId,
    readonly sessionId: string,
    params: Json,
    readonly askedAt: number,
  ) {
    this.options = recordsIn(params, 'options').flatMap((option) => {
      const optionId = textIn(option, 'optionId');
      if (optionId === undefined) return [];
      return [{ optionId, name: textIn(option, 'name') ?? optionId, kind: textIn(option, 'kind') ?? '' }];
    });
  }

  get isOpen(): boolean {
    return this.answer === null;
  }

  get wasRefused(): boolean {
    return this.answer !== null && this.answer !== 'cancelled' && this.answer.kind.startsWith('reject');
  }

  /** Takes the answer that a page gave, as its result reads; a second one changes nothing. */
  settle(result: Json | null): void {
    if (this.answer !== null) return;
    const outcome = result === null ? undefined : recordIn(result, 'outcome');
    const chosen = outcome === undefined ? undefined : textIn(outcome, 'optionId');
    this.answer = this.options.find((option) => option.optionId === chosen) ?? 'cancelled';
  }
}
