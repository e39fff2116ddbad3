import { flood, heavy } from './heavy';
import type { Scene } from './played_transport';
import { Script } from './script';

const HOME = '/home/ada/code';

/** A model that looks into a tide table: one check failed, a listener runs, a change is asked about. */
function work(): Scene {
  const script = new Script(4000);
  const letters = `${HOME}/letters`;
  const harbour = `${HOME}/harbour`;
  script.session('s-post', letters);
  script.error(script.prompt('s-post', 'Send the October issue'), 'the mail host does not answer');
  script.session('s-map', harbour);
  script.result(script.prompt('s-map', 'Draw the mooring plan anew'), { stopReason: 'end_turn' }).wait(3900);
  script.session('s-lamp', harbour, 'Lamp times for winter');
  script.prompt('s-lamp', 'Set the lamps to winter time');
  script.command('s-lamp', 'u1', './set-lamps --season winter', harbour).permission('s-lamp', 'u1', 'Always allow set-lamps');
  script.session('s-main', harbour, 'A wrong tide on Tuesday');
  script.prompt('s-main', "Tuesday's tide table looks wrong. Where does it go off?");
  script.say('s-main', 'Let me see ').say('s-main', 'which gauges the table was made from.');
  script.command('s-main', 'c1', './check-tides --day tuesday && echo all plausible', harbour);
  script
    .wait(7.2)
    .print('s-main', 'c1', '\x1b[90mreading 96 gauges\x1b[0m\r\nTue 04:10  high   3.12 m  \x1b[32mplausible\x1b[0m\r\n')
    .print('s-main', 'c1', 'Tue 10:25  low   -4.00 m  \x1b[31mbelow the sea bed\x1b[0m\r\n1 of 96 gauges cannot be right: \x1b[1mnorth pier\x1b[0m\r\n')
    .exit('s-main', 'c1', 2);
  script.say('s-main', 'The **north pier** says four metres below zero, so its file is damaged: `gauges.csv` has to be fetched anew.');
  script.command('s-main', 'c3', './listen north-pier --every 10s', harbour, 'a second opinion');
  script.permission('s-main', 'c3', 'Always allow listen').answer('c3', 'once');
  script
    .print('s-main', 'c3', '\x1b[34mnorth pier\x1b[0m  every 10 s\r\n')
    .print('s-main', 'c3', '10:31:00   0.62 m  \x1b[32msteady\x1b[0m\r\n10:31:10   0.62 m  \x1b[32msteady\x1b[0m ');
  script.wait(12);
  script.command('s-main', 'c2', 'mv gauges.csv gauges.old && ./fetch-gauges > gauges.csv', harbour, 'replaces a file');
  script.permission('s-main', 'c2', 'Always allow fetch-gauges');
  return { cwd: harbour, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

const PROSE = `## Where it goes wrong

The *reader* takes the sign of a level for a dash between two columns. Three places do it:

1. \`levels()\` in **src/gauge.rs**, which every table is made with
2. the test's own copy of it
3. the printer, see [the report][1] and [a script](javascript:alert(1))

| gauge | said | meant |
|-|-|-|
| \`north pier\` | 4.00 | −4.00 |
| \`lock 2\` | – | 0.31 |

> What cannot be read is no level.

\`\`\`rust
fn level(field: &str) -> Option<Metres> {
    field.trim().parse().ok().map(Metres)
}
\`\`\`

An image from afar: ![a chart](https://example.org/chart.png) and <b onclick="x()">raw HTML</b>.

[1]: https://example.org/reports/7`;

function long(): Scene {
  const script = new Script(400);
  const cwd = `${HOME}/harbour`;
  script.session('s', cwd);
  const id = script.prompt('s', 'Count up, then try everything that a card can show.');
  script.command('s', 'a', 'seq 1 400', cwd);
  script.print('s', 'a', Array.from({ length: 400 }, (_, index) => `${index + 1}\r\n`).join('')).wait(0.4).exit('s', 'a', 0);
  script.command('s', 'b', 'true', cwd, 'does nothing, well').exit('s', 'b', 0);
  script.command('s', 'k', 'sleep 60', cwd).wait(3).exit('s', 'k', null, 'SIGKILL');
  script.command('s', 'm', "cat <<'END' | python3 -\nimport sys\nfor line in sys.stdin:\n    print(line.strip())\nEND", cwd, 'A small filter');
  script.print('s', 'm', '✅ done\r\n👨‍👩‍👧 family │\r\n漢字 wide   │\r\n\x1b[1;34mbold blue\x1b[0m \x1b[43;30m on yellow \x1b[0m \x1b[7mreverse\x1b[0m\r\n');
  script.exit('s', 'm', 0);
  script.update('s', {
    sessionUpdate: 'tool_call', toolCallId: 'r', title: 'Read src/gauge.rs', kind: 'read', status: 'completed',
    locations: [{ path: `${cwd}/src/gauge.rs`, line: 12 }],
    content: [{ type: 'content', content: { type: 'text', text: '```rust\nfn main() {}\n```' } }],
  });
  script.update('s', {
    sessionUpdate: 'tool_call', toolCallId: 'e', title: 'Edit src/gauge.rs', kind: 'edit', status: 'completed',
    content: [{ type: 'diff', path: `${cwd}/src/gauge.rs`, oldText: 'fn level(field: &str) -> f32 {\n    field.parse().unwrap_or(0.0)\n}\n', newText: 'fn level(field: &str) -> Option<Metres> {\n    field.trim().parse().ok().map(Metres)\n}\n' }],
  });
  script.update('s', { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'A level that cannot be read is not zero.' } });
  script.update('s', {
    sessionUpdate: 'plan',
    entries: [
      { content: 'Find where levels are read', status: 'completed', priority: 'high' },
      { content: 'Let them be missing', status: 'in_progress', priority: 'high' },
      { content: 'Make the tables of the year anew', status: 'pending', priority: 'low' },
    ],
  });
  script.say('s', PROSE);
  script.result(id, { stopReason: 'max_tokens' });
  script.error(script.prompt('s', 'And now run it.'), 'The key of DeepSeek is missing: set DEEPSEEK_API_KEY and start again');
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

function live(): Scene {
  const script = new Script(2);
  const cwd = `${HOME}/harbour`;
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

const CHART = `<svg xmlns="http://www.w3.org/2000/svg" width="560" height="200" viewBox="0 0 560 200">
<rect width="560" height="200" fill="#f4f7f8"/><path d="M20 150C90 20 150 20 220 110S360 190 420 90S520 40 540 60" fill="none" stroke="#0b6e72" stroke-width="3"/>
<path d="M20 180H540M20 20V180" stroke="#8a8f92"/><text x="30" y="36" font-family="sans-serif" font-size="14" fill="#2a2925">level at the north pier, in metres</text></svg>`;

/** What only our own agent says: a label, a notice, a picture, a command in the background, and one that waits for words. */
function terminal(): Scene {
  const script = new Script(90);
  const cwd = `${HOME}/harbour`;
  script.session('s', cwd, 'A release of the tables');
  script.prompt('s', 'Make the tables of the year and hand them out.');
  script.command('s', 'l', "sed -n '1,40p' src/gauge.rs", cwd, undefined, { label: 'Read src/gauge.rs, lines 1 to 40' });
  script.print('s', 'l', 'use std::str::FromStr;\r\n').wait(0.1).exit('s', 'l', 0);
  script.command('s', 'g', 'rg -n "fn level" src', cwd, undefined, { label: 'Search for fn level in src' });
  script.wait(0.2).exit('s', 'g', 1);
  script.command('s', 'p', './draw-levels --svg north-pier', cwd, 'shows the levels of the week');
  script.print('s', 'p', CHART.replace(/\n/g, '\r\n')).wait(1.2).picture('s', 'p', 'image/svg+xml', btoa(CHART));
  script.command('s', 'b', './serve-tables --port 8080', cwd, 'keeps the tables at hand').print('s', 'b', 'listening on 127.0.0.1:8080\r\n').goesOn('s', 'b');
  script.wait(34).print('s', 'b', '\x1b[32mGET\x1b[0m /2026/october\r\n');
  script.command('s', 'n', './make-tables --year 2026', cwd, 'writes every table', {
    notice: 'runs without a sandbox: this system has none that can be used',
  });
  script.print('s', 'n', '365 tables written\r\n').wait(4).exit('s', 'n', 0);
  script.command('s', 'w', './hand-out --ask', cwd, 'sends them to the harbour masters');
  script.print('s', 'w', '12 harbours, 365 tables each\r\n\x1b[1mWhich harbour first?\x1b[0m [north] ').wait(9).state('s', 'w', 'waiting');
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

/** A command that asks for a password. */
function password(): Scene {
  const script = new Script(12);
  const cwd = `${HOME}/harbour`;
  script.session('s', cwd);
  script.prompt('s', 'Put the tables on the server.');
  script.command('s', 'w', 'scp tables/*.csv ada@lighthouse:tables/', cwd, 'copies the tables');
  script.print('s', 'w', "ada@lighthouse's password: ").state('s', 'w', 'waiting');
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

/** A command that would read as another one, and a first start without a model. */
function disguised(): Scene {
  const script = new Script(30);
  const cwd = `${HOME}/harbour`;
  script.session('s', cwd);
  script.prompt('s', 'Tidy up.');
  script.command('s', 'd', 'rm -r "\u202egpj.\u2066 plan\u2069" \u200b~/maps', cwd, 'removes\u200b old pictures');
  script.permission('s', 'd', 'Always allow\u202d rm');
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

function offline(): Scene {
  const script = new Script(30);
  const cwd = `${HOME}/harbour`;
  script.ask('session/new', { cwd, mcpServers: [] }, { sessionId: 's', _meta: { placard: { model: 'offline' } } });
  return { cwd, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: script.frames };
}

/** A question about a command of many lines. */
function ask(): Scene {
  const script = new Script(30);
  const cwd = `${HOME}/harbour`;
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
    case 'disguised':
      return disguised();
    case 'terminal':
      return terminal();
    case 'password':
      return password();
    case 'offline':
      return offline();
    case 'ask':
      return ask();
    case 'empty':
      return { cwd: `${HOME}/harbour`, agent: { state: 'running', name: 'Placard agent', message: '' }, spool: new Script(1).frames };
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
