// What the page costs: thousands of devices that move once a second. Programs of a release build: GEOMATCH_TEST_PROGRAMS.

import test from 'node:test';
import assert from 'node:assert/strict';
import {Browser} from './support/browser.mjs';
import {Daemon, sleep} from './support/daemon.mjs';

const movers = Number(process.env.GEOMATCH_TEST_MOVERS ?? 10000);
const seconds = 20;

test(`${movers} devices that move once a second are drawn at 20 frames a second and more`, {timeout: 180000, skip: !process.env.GEOMATCH_TEST_ALL}, async (t) => {
  const [daemon, browser] = [await Daemon.start(['--datasets', 'demo']), await Browser.start()];
  t.after(async () => { await browser.close(); await daemon.end(); });
  let round = 0;
  /** A second's worth of positions, in ten parts. */
  const publish = async () => {
    const start = Date.now();
    round++;
    for (let part = 0; part < 10; part++) {
      const lines = [];
      for (let n = part; n < movers; n += 10) {
        const angle = n + round / 50;
        lines.push(`{"topic":"demo/-/-/-/-/m${n}/position","payload":{"latitude":${(43.73 + 0.01 * Math.sin(angle * 7.3) * (n % 97) / 97).toFixed(6)},"longitude":${(7.42 + 0.014 * Math.cos(angle * 7.3) * (n % 89) / 89).toFixed(6)}}}`);
      }
      await fetch(`${daemon.url}api/demo/live`, {method: 'POST', body: lines.join('\n'), headers: {'content-type': 'application/x-ndjson'}}).then((r) => r.text());
      await sleep(Math.max(0, start + (part + 1) * 100 - Date.now()));
    }
  };
  let isOver = false;
  await publish();
  const page = await browser.open(`${daemon.url}#demo/14/43.73/7.42`);
  const sending = (async () => { while (!isOver) await publish(); })();
  await page.until(`geomatch.model.devices.size >= ${movers * 0.95}`, 60000);
  await page.evaluate(`(() => { window.frames = 0; window.updates = 0; const count = () => { window.frames++; requestAnimationFrame(count); }; requestAnimationFrame(count);
    const apply = geomatch.model.apply.bind(geomatch.model); geomatch.model.apply = (update) => { window.updates++; apply(update); }; })()`);
  const cpu = async () => (await import('node:fs')).readFileSync(`/proc/${daemon.process.pid}/stat`, 'utf8').split(' ').slice(13, 15).reduce((a, b) => a + Number(b), 0) / 100;
  const before = [await cpu(), Date.now()];
  await sleep(seconds * 1000);
  const [after, now] = [await cpu(), Date.now()];
  const {frames, updates, shown} = await page.evaluate('({frames: window.frames, updates: window.updates, shown: geomatch.drawing.shown.length})');
  const {usedSize} = await page.send('Runtime.getHeapUsage');
  isOver = true;
  await sending;
  const passed = (now - before[1]) / 1000;
  t.diagnostic(`${(frames / passed).toFixed(1)} frames/s, ${(updates / passed).toFixed(0)} updates/s, ${shown} shown, heap ${(usedSize / 2 ** 20).toFixed(0)} MiB, daemon ${((after - before[0]) / passed * 100).toFixed(0)} % of a core`);
  assert.ok(frames / passed >= 20, 'frames');
  assert.ok(usedSize < 200e6, 'memory');
  assert.ok(updates / passed > movers * 0.5, 'updates');
});
