// The real `placard serve` in a home of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Home } from './home.mjs';

const program = fileURLToPath(new URL('../../target/debug/placard', import.meta.url));

export class Server {
  #process;
  #stderr = '';

  // Starts it, and gives it when it has printed its address.
  static async start() {
    if (!existsSync(program)) throw new Error(`${program} is missing: \`make build\` makes it`);
    const server = new Server();
    const lines = createInterface({ input: server.#process.stdout });
    const ended = once(server.#process, 'exit').then(([code]) => {
      throw new Error(`placard serve ended with ${code}: ${server.#stderr}`);
    });
    // Once it has started, its end is what the test asks for.
    ended.catch(() => {});
    const [line] = await Promise.race([once(lines, 'line'), ended]);
    server.address = new URL(/http:\S+/.exec(line)[0]);
    return server;
  }

  constructor() {
    this.home = new Home();
    this.#process = spawn(program, ['serve', '--port', '0'], {
      cwd: this.home.workFolder,
      env: this.home.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stderr.setEncoding('utf8').on('data', (text) => (this.#stderr += text));
  }

  // Asks it to end as Ctrl+C does, and gives its exit code.
  async stop() {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.#process.kill('SIGINT');
      await once(this.#process, 'exit');
    }
    return this.#process.exitCode;
  }

  async remove() {
    await this.stop();
    this.home.remove();
  }
}
