import { Script } from './script';
import type { Scene } from './played_transport';

/** Ten thousand messages and five hundred cards, for the clock and the memory. */
export function heavy(): Scene {
  const script = new Script(9000);
  const cwd = '/home/ada/code/harbour';
  script.session('s', cwd);
  for (let turn = 0; turn < 500; turn += 1) {
    const prompt = script.prompt('s', `Question ${turn}`);
    for (let part = 0; part < 9; part += 1) {
      script.say('s', `Paragraph ${part} of answer ${turn} with \`code\` and **weight**.`);
      script.update('s', {
        sessionUpdate: 'tool_call', toolCallId: `r${turn}-${part}`, title: `Read file ${part}`, kind: 'read', status: 'completed',
      });
    }
    script.command('s', `c${turn}`, `seq ${turn} | head -40`, cwd);
    script.print('s', `c${turn}`, Array.from({ length: 40 }, (_, line) => `${turn}.${line}\r\n`).join('')).exit('s', `c${turn}`, 0);
    script.result(prompt, { stopReason: 'end_turn' });
  }
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

/** A hundred megabytes of output, as fast as the page takes them. */
export function flood(): Scene {
  const script = new Script(2);
  const cwd = '/home/ada/code/harbour';
  script.session('s', cwd);
  script.prompt('s', 'Flood me.');
  script.command('s', 'f', 'yes | head -c 100000000', cwd);
  const spool = [...script.frames];
  const chunk = 'y\r\n'.repeat(21_000);
  const frames: Scene['live'] = [];
  for (let count = 0; count < 1600; count += 1) {
    const from = script.frames.length;
    script.print('s', 'f', chunk);
    for (const frame of script.frames.slice(from)) frames.push({ after: 100, frame });
  }
  script.exit('s', 'f', 0);
  for (const frame of script.frames.slice(-1)) frames.push({ after: 100, frame });
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool, live: frames, window: 16 };
}
