import { flood, heavy } from './heavy';
import type { Scene } from './played_transport';
import { Script } from './script';

const HOME = '/home/ada/code';

function work(): Scene {
  const script = new Script(4000);
  const site = `${HOME}/site`;
  const atlas = `${HOME}/atlas`;
  script.session('s-deploy', site);
  script.error(script.prompt('s-deploy', 'Deploy preview'), 'no route to the preview host');
  script.session('s-start', atlas);
  script.result(script.prompt('s-start', 'Why is startup slow?'), { stopReason: 'end_turn' }).wait(3900);
  script.session('s-sqlx', atlas, 'Upgrade sqlx to 0.9');
  script.prompt('s-sqlx', 'Upgrade sqlx');
  script.command('s-sqlx', 'u1', 'cargo update -p sqlx', atlas).permission('s-sqlx', 'u1', 'Always allow cargo update');
  script.session('s-main', atlas, 'Fix the flaky replay test');
  script.prompt('s-main', 'The replay test fails about once in ten runs. Find out why and fix it.');
  script.say('s-main', 'I will run it in a loop until it fails, ').say('s-main', 'then look at what the log holds.');
  script.command('s-main', 'c1', 'for i in $(seq 20); do cargo test -q replay || break; done', atlas);
  script
    .wait(41)
    .print('s-main', 'c1', '\x1b[90mrunning 12 tests\x1b[0m\r\n............\r\ntest replay_equals_live ... \x1b[31mFAILED\x1b[0m\r\n')
    .print('s-main', 'c1', '  left:  "caf\x1b[31m\\u{fffd}\\u{fffd}\x1b[0m"\r\n  right: "caf\x1b[32mé\x1b[0m"\r\n')
    .exit('s-main', 'c1', 101);
  script.say('s-main', 'A character is split between two reads: `decode` starts afresh on every chunk. I will keep its state.');
  script.command('s-main', 'c3', "cargo watch -x 'test replay'", atlas, 'in the background');
  script
    .print('s-main', 'c3', '   \x1b[32mCompiling\x1b[0m agent-core v0.3.0\r\n    \x1b[32mFinished\x1b[0m in 2.41s\r\n')
    .print('s-main', 'c3', 'test replay_equals_live ... \x1b[32mok\x1b[0m ');
  script.wait(12);
  script.command('s-main', 'c2', 'git stash && git switch -c fix/split-utf8', atlas, 'changes the working tree');
  script.permission('s-main', 'c2', 'Always allow git switch');
  return { cwd: atlas, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

const PROSE = `## What I found

The *decoder* was made anew for every chunk, so a character on the border was lost. Three places do it:

1. \`decode()\` in **src/stream.rs**, called by the reader
2. the test's own copy
3. the replay, see [the issue](https://example.org/issues/7) and [a script](javascript:alert(1))

| read | before | after |
|-|-|-|
| \`caf\\xe2\` | caf� | caf |
| \`\\x80\\x94\` | �� | — |

> One rule: state outlives the chunk.

\`\`\`rust
fn feed(&mut self, bytes: &[u8]) -> String {
    self.rest.extend_from_slice(bytes);
    self.take_whole_characters()
}
\`\`\`

An image from afar: ![a graph](https://example.org/graph.png) and <b onclick="x()">raw HTML</b>.`;

function long(): Scene {
  const script = new Script(400);
  const cwd = `${HOME}/atlas`;
  script.session('s', cwd);
  const id = script.prompt('s', '$ seq 1 400; git log --oneline --graph --all');
  script.command('s', 'a', 'seq 1 400', cwd);
  script.print('s', 'a', Array.from({ length: 400 }, (_, index) => `${index + 1}\r\n`).join('')).wait(0.4).exit('s', 'a', 0);
  script.command('s', 'b', 'true', cwd, 'does nothing, well').exit('s', 'b', 0);
  script.command('s', 'k', 'sleep 60', cwd).wait(3).exit('s', 'k', null, 'SIGKILL');
  script.command('s', 'm', "cat <<'END' | python3 -\nimport sys\nfor line in sys.stdin:\n    print(line.strip())\nEND", cwd, 'A small filter');
  script.print('s', 'm', '✅ done\r\n👨‍👩‍👧 family │\r\n漢字 wide   │\r\n\x1b[1;34mbold blue\x1b[0m \x1b[43;30m on yellow \x1b[0m \x1b[7mreverse\x1b[0m\r\n');
  script.exit('s', 'm', 0);
  script.update('s', {
    sessionUpdate: 'tool_call', toolCallId: 'r', title: 'Read src/stream.rs', kind: 'read', status: 'completed',
    locations: [{ path: `${cwd}/src/stream.rs`, line: 12 }],
    content: [{ type: 'content', content: { type: 'text', text: '```rust\nfn main() {}\n```' } }],
  });
  script.update('s', {
    sessionUpdate: 'tool_call', toolCallId: 'e', title: 'Edit src/stream.rs', kind: 'edit', status: 'completed',
    content: [{ type: 'diff', path: `${cwd}/src/stream.rs`, oldText: 'fn feed(bytes: &[u8]) {\n    decode(bytes)\n}\n', newText: 'fn feed(&mut self, bytes: &[u8]) {\n    self.decoder.feed(bytes)\n}\n' }],
  });
  script.update('s', { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'The reader must keep its state.' } });
  script.update('s', {
    sessionUpdate: 'plan',
    entries: [
      { content: 'Find where the decoder is made', status: 'completed', priority: 'high' },
      { content: 'Keep it between chunks', status: 'in_progress', priority: 'high' },
      { content: 'Run the replay test a hundred times', status: 'pending', priority: 'low' },
    ],
  });
  script.say('s', PROSE);
  script.result(id, { stopReason: 'max_tokens' });
  script.error(script.prompt('s', 'And now run it.'), 'The key of DeepSeek is missing: set DEEPSEEK_API_KEY and start again');
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

function live(): Scene {
  const script = new Script(2);
  const cwd = `${HOME}/atlas`;
  script.session('s', cwd);
  script.prompt('s', 'Count for me.');
  script.command('s', 'n', 'for i in $(seq 200); do echo line $i; sleep 0.1; done', cwd);
  const spool = [...script.frames];
  const frames: Scene['live'] = [];
  for (let line = 1; line <= 200; line += 1) {
    const from = script.frames.length;
    script.print('s', 'n', `line ${line}\r\n`);
    for (const frame of script.frames.slice(from)) frames.push({ after: line * 40, frame });
  }
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool, live: frames };
}

function ended(): Scene {
  const scene = work();
  return {
    ...scene,
    agent: {
      state: 'ended',
      name: 'Placard agent',
      message: 'It exited with status 1.\nthread main panicked at src/main.rs:12:5:\nno more file descriptors',
    },
  };
}

/** A question about a command of many lines. */
function ask(): Scene {
  const script = new Script(30);
  const cwd = `${HOME}/atlas`;
  script.session('s', cwd);
  script.prompt('s', 'Write the table.');
  const rows = Array.from({ length: 500 }, (_, index) => `row ${index + 1}: value`).join('\n');
  script.command('s', 'w', `cat > table.txt <<'END'\n${rows}\nEND`, cwd, 'writes a file');
  script.permission('s', 'w', 'Always allow cat');
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

export function sceneNamed(name: string): Scene {
  switch (name) {
    case 'long':
      return long();
    case 'live':
      return live();
    case 'ended':
      return ended();
    case 'ask':
      return ask();
    case 'empty':
      return { cwd: `${HOME}/atlas`, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: new Script(1).frames };
    case 'heavy':
      return heavy();
    case 'flood':
      return flood();
    case 'lost':
      return { ...work(), lost: true };
    default:
      return work();
  }
}
