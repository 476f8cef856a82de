// The page when the daemon is gone, hangs, or asks for a key.

import test from 'node:test';
import assert from 'node:assert/strict';
import {writeFileSync, mkdtempSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {tmpdir} from 'node:os';
import {Browser} from './support/browser.mjs';
import {Daemon} from './support/daemon.mjs';
import {at} from './support/house.mjs';

let browser;
const options = {timeout: 60000};

test.before(async () => { browser = await Browser.start(); }, {timeout: 30000});
test.after(async () => { await browser?.close(); }, {timeout: 20000});

async function open(t, daemon, search = '') {
  const page = await browser.open(`${daemon.url}${search}#demo`);
  t.after(() => page.close());
  return page;
}

const isOnline = "document.getElementById('status').className === 'online'";

test('a daemon that dies is said to be gone at once, is found again, and nothing old is shown as new', options, async (t) => {
  const daemon = await Daemon.start(['--datasets', 'demo']);
  t.after(() => daemon.end());
  await daemon.publish({'-/-/-/-/phone/position': at(0, 0), '-/-/-/-/gone/position': at(10, 0)});
  const page = await open(t, daemon);
  await page.until(`${isOnline} && geomatch.model.devices.size === 2`, 15000);
  const killedAt = Date.now();
  await daemon.kill();
  await page.until("document.getElementById('status').innerText.startsWith('Disconnected') && !document.getElementById('notice').hidden");
  t.diagnostic(`said after ${Date.now() - killedAt} ms`);
  assert.match(await page.text('#notice'), /from before/);
  await daemon.run();
  // Gone before the page is back.
  await fetch(`${daemon.url}api/demo/live/-/-/-/-/gone/position`, {method: 'DELETE'});
  await page.until(`${isOnline} && document.getElementById('notice').hidden`, 12000);
  await page.until("geomatch.model.devices.has('phone') && !geomatch.model.devices.has('gone')", 9000);
});

test('a key is asked for where one is needed, kept for the tab, and no other opens', options, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'geomatch-keys-'));
  t.after(() => rmSync(folder, {recursive: true}));
  const file = join(folder, 'geomatchd.yaml');
  writeFileSync(file, 'http:\n  behind-proxy: true\nkeys:\n  - {key: open-sesame, dataset: demo, client: guide}\n');
  const daemon = await Daemon.start(['--datasets', 'demo', '--config', file]);
  t.after(() => daemon.end());
  const page = await open(t, daemon);
  const enter = (key) => page.evaluate(`(() => { const field = document.querySelector('#ask input'); field.value = '${key}'; field.form.requestSubmit(); })()`);
  await page.until("document.getElementById('ask').open && !!document.querySelector('#ask input[type=password]')", 12000);
  await enter('wrong-key');
  await page.until("document.getElementById('ask').innerText.includes('not known')");
  await enter('open-sesame');
  await page.until(isOnline, 12000);
  assert.equal(await page.evaluate("localStorage.length + document.cookie.length"), 0);
  await page.send('Page.reload');
  await page.until(isOnline, 12000);
  const other = await open(t, daemon);
  await other.until("document.getElementById('ask').open", 12000);
});

test('a daemon that hangs is said to within 45 s', {...options, skip: !process.env.GEOMATCH_TEST_ALL}, async (t) => {
  const daemon = await Daemon.start(['--datasets', 'demo']);
  t.after(async () => { daemon.process.kill('SIGCONT'); await daemon.end(); });
  const page = await open(t, daemon);
  await page.until(isOnline, 15000);
  daemon.process.kill('SIGSTOP');
  const since = Date.now();
  await page.until("document.getElementById('status').innerText.startsWith('Disconnected')", 45000);
  t.diagnostic(`said after ${Date.now() - since} ms`);
  daemon.process.kill('SIGCONT');
  await page.until(isOnline, 30000);
});
