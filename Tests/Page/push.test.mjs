// "Tell me": a subscription's matches as notifications of the browser. The push service between the two is ours, as a browser's own needs
// the internet: it takes what the daemon posts, decrypts it as a browser would, and hands it to the page's worker.

import test from 'node:test';
import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {createDecipheriv, createECDH, hkdfSync, randomBytes} from 'node:crypto';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Browser} from './support/browser.mjs';
import {Daemon} from './support/daemon.mjs';
import {build, at} from './support/house.mjs';

/** A push service for one browser. */
class PushService {
  async start() {
    this.ecdh = createECDH('prime256v1');
    this.publicKey = this.ecdh.generateKeys();
    this.secret = randomBytes(16);
    this.posts = [];
    this.arrived = () => {};
    this.server = createServer((request, response) => {
      const parts = [];
      request.on('data', (part) => parts.push(part)).on('end', () => {
        response.writeHead(201).end();
        this.posts.push({headers: request.headers, message: JSON.parse(this.decrypt(Buffer.concat(parts)))});
        this.arrived();
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => this.server.on('listening', resolve));
    return this;
  }

  get endpoint() { return `http://127.0.0.1:${this.server.address().port}/push/1`; }

  /** RFC 8291 and RFC 8188, one record. */
  decrypt(body) {
    const salt = body.subarray(0, 16);
    const sender = body.subarray(21, 21 + body[20]);
    const key = (secret, salt, info, length) => Buffer.from(hkdfSync('sha256', secret, salt, info, length));
    const input = key(this.ecdh.computeSecret(sender), this.secret, Buffer.concat([Buffer.from('WebPush: info\0'), this.publicKey, sender]), 32);
    const record = body.subarray(21 + body[20]);
    const decipher = createDecipheriv('aes-128-gcm', key(input, salt, 'Content-Encoding: aes128gcm\0', 16), key(input, salt, 'Content-Encoding: nonce\0', 12));
    decipher.setAuthTag(record.subarray(-16));
    const text = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
    return text.subarray(0, text.lastIndexOf(2)).toString();
  }

  async next() {
    while (!this.posts.length) await new Promise((resolve) => { this.arrived = resolve; });
    return this.posts.shift();
  }

  /** What `PushManager` gives in a browser whose push service this is. */
  get script() {
    const keys = {p256dh: this.publicKey.toString('base64url'), auth: this.secret.toString('base64url')};
    return `{
      let subscription = null;
      PushManager.prototype.getSubscription = async () => subscription;
      PushManager.prototype.subscribe = async function ({applicationServerKey}) {
        const bytes = Uint8Array.from(atob(applicationServerKey.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
        if (bytes.length !== 65 || bytes[0] !== 4) throw new Error('no key');
        return subscription = {
          endpoint: ${JSON.stringify(this.endpoint)}, options: {applicationServerKey: bytes.buffer},
          toJSON() { return {endpoint: this.endpoint, expirationTime: null, keys: ${JSON.stringify(keys)}}; },
          async unsubscribe() { subscription = null; return true; },
        };
      };
    }`;
  }

  close() { this.server.close(); }
}

test('the page notifies the browser of matches, also by a notification, until it is turned off', {timeout: 60000}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'geomatch-push-'));
  const file = join(folder, 'geomatchd.yaml');
  writeFileSync(file, 'push:\n  web:\n    subject: mailto:test@example.org\nwebhooks-allow-private: true\n');
  const [daemon, browser, service] = await Promise.all([
    Daemon.start(['--datasets', 'demo', '--config', file]), Browser.start(), new PushService().start()]);
  t.after(async () => {
    await browser.close();
    await daemon.end();
    service.close();
    rmSync(folder, {recursive: true, force: true});
  });
  await build(daemon);
  await daemon.publish({'-/-/-/-/phone/position': at(25, 25)});
  const page = await browser.open(`${daemon.url}?client=me#demo`, {script: service.script, permissions: ['notifications']});
  await page.until("geomatch.drawing?.shown?.some((d) => d.id === 'phone')", 15000);
  await page.click(...(await page.placeOf('phone')));
  const button = "[...document.querySelectorAll('#details button')].find((b) => /ell/.test(b.textContent))";
  await page.until(`${button}?.textContent === 'Tell me'`);
  await page.send('ServiceWorker.enable');
  const registered = new Promise((resolve) => browser.listeners.add(({method, params}) => {
    if (method === 'ServiceWorker.workerRegistrationUpdated' && params.registrations[0]) resolve(params.registrations[0]);
  }));
  await page.evaluate(`${button}.click()`);
  await page.until(`${button}.textContent === 'Stop telling me'`);
  const {pushers} = await daemon.ask('subscription/get', {id: 'thirsty'});
  assert.equal(pushers.length, 1);
  assert.equal(pushers[0].webpush.endpoint, service.endpoint);

  await daemon.publish({'-/-/-/-/phone/position': at(8, 5)});
  const {headers, message} = await service.next();
  assert.equal(headers['content-encoding'], 'aes128gcm');
  assert.match(headers.authorization, /^vapid t=.+,k=.+/);
  assert.deepEqual(Object.keys(message), ['matchId', 'deviceId', 'subscriptionId', 'topic', 'event']);
  assert.equal(message.topic, 'coffee');

  const {registrationId, scopeURL} = await registered;
  assert.equal(scopeURL, `${daemon.url}page/`);
  // Chromium drops a push now and then; one that comes twice takes the place of the first.
  const notified = `(async () => {
    const shown = await (await navigator.serviceWorker.getRegistration('/page/')).getNotifications();
    return shown.length === 1 && shown[0].title === 'coffee' && shown[0].body === 'phone matched';
  })()`;
  for (let left = 5; ; left--) {
    await page.send(
      'ServiceWorker.deliverPushMessage', {origin: daemon.url.slice(0, -1), registrationId, data: JSON.stringify(message)});
    const error = await page.until(notified, 4000).catch((error) => error);
    if (!error) break;
    if (left === 0) throw error;
  }
  await page.evaluate(`${button}.click()`);
  await page.until(`${button}.textContent === 'Tell me'`);
  assert.deepEqual((await daemon.ask('subscription/get', {id: 'thirsty'})).pushers ?? [], []);
  assert.deepEqual(page.problems, []);

  const other = await browser.open(`${daemon.url}?client=me#demo`, {script: service.script});
  await other.until("geomatch.drawing?.shown?.some((d) => d.id === 'phone')", 15000);
  await other.click(...(await other.placeOf('phone')), 8);
  await other.until(`${button}?.textContent === 'Tell me'`);
  await other.evaluate(`${button}.click()`);
  await other.until("document.getElementById('details').innerText.includes('shows no notifications')");
});

test('a daemon without push offers no notifications', {timeout: 60000}, async (t) => {
  const [daemon, browser] = await Promise.all([Daemon.start(['--datasets', 'demo']), Browser.start()]);
  t.after(async () => { await browser.close(); await daemon.end(); });
  await build(daemon);
  await daemon.publish({'-/-/-/-/phone/position': at(25, 25)});
  const page = await browser.open(`${daemon.url}?client=me#demo`);
  await page.until("geomatch.drawing?.shown?.some((d) => d.id === 'phone')", 15000);
  await page.click(...(await page.placeOf('phone')));
  await page.until("document.getElementById('details').innerText.includes('thirsty')");
  assert.ok(!(await page.text('#details')).includes('ell me'));
});
