// A home for one test: folders that nothing else uses, and the environment that leads the program there.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './patience.mjs';

export class Home {
  #folder = mkdtempSync(join(tmpdir(), 'placard-test-'));

  constructor() {
    for (const name of ['config', 'data', 'cache', 'state', 'tmp', 'work']) mkdirSync(join(this.#folder, name));
    mkdirSync(join(this.#folder, 'run'), { mode: 0o700 });
  }

  get workFolder() {
    return join(this.#folder, 'work');
  }

  // Nothing of the caller's own but PATH: no key and no setting of the person who runs the tests.
  get environment() {
    const at = (name) => join(this.#folder, name);
    return {
      PATH: process.env.PATH,
      HOME: this.#folder,
      XDG_CONFIG_HOME: at('config'),
      XDG_DATA_HOME: at('data'),
      XDG_CACHE_HOME: at('cache'),
      XDG_STATE_HOME: at('state'),
      XDG_RUNTIME_DIR: at('run'),
      TMPDIR: at('tmp'),
      LANG: 'C.UTF-8',
      PLACARD_MODEL: 'offline',
    };
  }

  // The command lines of all that was started in this home and still runs, whoever its parent is by now.
  leftRunning() {
    return this.#processes().map(({ command }) => command);
  }

  // Waits until nothing of this home runs any more.
  async quiet(milliseconds) {
    let left = [];
    const nothing = () => (left = this.leftRunning()).length === 0;
    await until(nothing, () => `nothing runs any more; still there: ${left.join(', ')}`, milliseconds);
  }

  // Ends what is left and removes the folders.
  remove() {
    for (const { id } of this.#processes()) {
      try {
        process.kill(id, 'SIGKILL');
      } catch (fault) {
        if (fault.code !== 'ESRCH') throw fault;
      }
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #processes() {
    const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return ids.flatMap((id) => {
      try {
        const environment = readFileSync(`/proc/${id}/environ`, 'utf8').split('\0');
        if (!environment.includes(`HOME=${this.#folder}`)) return [];
        const command = readFileSync(`/proc/${id}/cmdline`, 'utf8').split('\0').join(' ').trim();
        return command === '' ? [] : [{ id: Number(id), command }];
      } catch {
        // It ended meanwhile, or belongs to someone else.
        return [];
      }
    });
  }
}
