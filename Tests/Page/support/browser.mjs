// A headless Chromium, driven by the DevTools protocol over a pipe.

import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, existsSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export const program = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);

export class Browser {
  static async start() {
    const browser = new Browser();
    await browser.send('Browser.getVersion');
    return browser;
  }

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'geomatch-page-'));
    this.process = spawn(program, [
      '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--no-first-run', '--disable-extensions',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--mute-audio', '--hide-scrollbars',
      '--disable-dev-shm-usage', '--enable-precise-memory-info', '--js-flags=--expose-gc', `--user-data-dir=${this.folder}`, 'about:blank',
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.serial = 0;
    this.waiting = new Map();
    this.listeners = new Set();
    let rest = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (data) => {
      const parts = (rest + data).split('\0');
      rest = parts.pop();
      for (const part of parts) this.receive(JSON.parse(part));
    });
    this.process.stdio[3].on('error', () => {});
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
  }

  receive(message) {
    if (!message.id) {
      for (const listener of this.listeners) listener(message);
      return;
    }
    const {resolve, reject} = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) reject(new Error(message.error.message));
    else resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.serial;
    this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }

  /** A tab of its own, with a storage of its own. */
  async open(url, {width = 1280, height = 800, dark = false, mobile = false, script = null, permissions = []} = {}) {
    const {browserContextId} = await this.send('Target.createBrowserContext');
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank', browserContextId});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new BrowserPage(this, sessionId, targetId, browserContextId);
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile});
    if (mobile) await page.send('Emulation.setTouchEmulationEnabled', {enabled: true});
    await page.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
    if (permissions.length) await this.send('Browser.grantPermissions', {origin: new URL(url).origin, browserContextId, permissions});
    if (script) await page.send('Page.addScriptToEvaluateOnNewDocument', {source: script});
    await page.send('Page.navigate', {url});
    return page;
  }

  /** Asked to, it ends with its children, which would go on writing what is removed here. */
  async close() {
    this.send('Browser.close').catch(() => {});
    const late = setTimeout(() => this.process.kill('SIGKILL'), 5000);
    await this.ended;
    clearTimeout(late);
    rmSync(this.folder, {recursive: true, force: true, maxRetries: 20});
  }
}

export class BrowserPage {
  constructor(browser, sessionId, targetId, contextId) {
    Object.assign(this, {browser, sessionId, targetId, contextId});
    this.requests = [];
    this.received = 0;
    this.problems = [];
    browser.listeners.add((this.listener = (message) => {
      if (message.sessionId !== sessionId) return;
      const {method, params} = message;
      if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
      if (method === 'Network.loadingFinished') this.received += params.encodedDataLength;
      if (method === 'Runtime.exceptionThrown') this.problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === 'Log.entryAdded' && params.entry.source === 'security') this.problems.push(params.entry.text);
    }));
  }

  send(method, params = {}) { return this.browser.send(method, params, this.sessionId); }

  async evaluate(expression) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true; what it is at last is in the error. */
  async until(expression, within = 8000) {
    const end = Date.now() + within;
    let last;
    while (Date.now() < end) {
      last = await this.evaluate(expression).catch((error) => error.message);
      if (last === true) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const text = await this.evaluate('document.body.innerText').catch(() => '');
    throw new Error(`not so within ${within} ms: ${expression}; it is ${JSON.stringify(last)}\n${text}`);
  }

  text(selector) { return this.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? null`); }

  /** A click as a hand does it; modifiers: 8 is Shift. */
  async click(x, y, modifiers = 0) {
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this.send('Input.dispatchMouseEvent', {type, x, y, button: 'left', clickCount: 1, modifiers});
    }
  }

  /** Where a device is drawn, from the corner of the page. */
  placeOf(id) {
    return this.evaluate(`(() => { const box = document.getElementById('map').getBoundingClientRect();
      const device = geomatch.drawing.shown?.find((d) => d.id === ${JSON.stringify(id)}); return device ? [box.left + device.px, box.top + device.py] : null; })()`);
  }

  async key(key, code = key, text = undefined) {
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', key, code, text, windowsVirtualKeyCode: {Enter: 13, Escape: 27, Tab: 9}[key]});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', key, code});
  }

  async screenshot() {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
    return Buffer.from(data, 'base64');
  }

  async close() {
    this.browser.listeners.delete(this.listener);
    await this.browser.send('Target.disposeBrowserContext', {browserContextId: this.contextId});
  }
}
