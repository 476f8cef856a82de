// A daemon of its own, on free ports, with a folder that goes when it does.

import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {createServer} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
export const programs = process.env.GEOMATCH_TEST_PROGRAMS ?? join(root, '.build/debug');

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.on('listening', resolve));
  const {port} = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export class Daemon {
  static async start(options = []) {
    const daemon = new Daemon();
    daemon.folder = mkdtempSync(join(tmpdir(), 'geomatch-daemon-'));
    [daemon.port, daemon.brokerPort] = [await freePort(), await freePort()];
    daemon.options = options;
    await daemon.run();
    return daemon;
  }

  get url() { return `http://127.0.0.1:${this.port}/`; }

  async run() {
    this.output = '';
    this.process = spawn(join(programs, 'geomatchd'), [
      '--data-dir', this.folder, '--listen', `127.0.0.1:${this.brokerPort}`, '--http', `127.0.0.1:${this.port}`, ...this.options,
    ], {stdio: ['ignore', 'pipe', 'pipe']});
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (data) => { this.output = (this.output + data).slice(-20000); });
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
    const end = Date.now() + 40000;
    while (Date.now() < end && this.process.exitCode === null) {
      const isReady = await fetch(`${this.url}readyz`).then((response) => response.ok, () => false);
      if (isReady) return;
      await sleep(50);
    }
    throw new Error(`the daemon is not online:\n${this.output}`);
  }

  /** A request of a client; its result. */
  async ask(request, parameters = {}, {dataset = 'demo', client = 'me'} = {}) {
    const response = await fetch(`${this.url}api/${dataset}/${request}?client=${client}`, {method: 'POST', body: JSON.stringify(parameters)});
    const body = await response.json();
    if (body.error) throw new Error(`${request}: ${body.error.message}`);
    return body.result;
  }

  /** Live updates: topics below the dataset with their payloads. */
  async publish(updates, dataset = 'demo') {
    const items = Object.entries(updates).map(([topic, payload]) => ({topic: `${dataset}/${topic}`, payload}));
    const response = await fetch(`${this.url}api/${dataset}/live`, {method: 'POST', body: JSON.stringify(items)});
    if (!response.ok) throw new Error(await response.text());
  }

  async kill(signal = 'SIGKILL') {
    this.process.kill(signal);
    await this.ended;
  }

  async end() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.kill('SIGTERM');
    rmSync(this.folder, {recursive: true, force: true, maxRetries: 5});
  }
}
